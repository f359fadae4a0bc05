# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Situations of a bag as one .npz file, for training and for looking at."""

from __future__ import annotations

import dataclasses
import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy import __version__
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.locating import is_part
from thinking_policy.bags.reader import Bag
from thinking_policy.bags.replay import Replay
from thinking_policy.situation import Event, Situation, SituationConfig
from thinking_policy.whole_file import check_writable, whole_file

EXPORT_VERSION = 1
"""Changes when the meaning of an array in the file changes."""

Arrays = dict[str, NDArray[Any]]

_BLOCK = 1024  # situations that are stored together


class OutputError(BagError):
    """A file that cannot be written; the bag is not to blame."""


class SituationArrays:
    """Collects situations as arrays, some 450 bytes for one of 10 x 7.

    For N situations of T samples and F signals:
        window float32 [N,T,F], valid bool [N,T,F]: what the policy sees;
        stamp_ns int64 [N], tick int64 [N], episode text [N];
        values float64 [N,F] in each signal's unit (NaN unless OK), states uint8 [N,F] as
        `SignalStatus.msg` numbers them;
        signals text [F].
    For M events: event_row int64 [M] (the situation that first knew it; N where a stride left
    out all that did), event_tick int64 and event_episode text (of the tick that brought it, which
    a stride may have left out), event_stamp_ns int64, event_kind uint8, event_code text,
    event_source text, event_value float64.
    """

    def __init__(self, config: SituationConfig, stride: int = 1) -> None:
        """Prepare for situations.

        Args:
            config: What they were made with.
            stride: Keep the ticks that are multiples of it; events of all ticks are kept.
        """
        shape = config.window_length, len(config.signals)
        self._row = np.dtype(
            [
                ('window', np.float32, shape),
                ('valid', np.bool_, shape),
                ('stamp_ns', np.int64),
                ('tick', np.int64),
                ('episode', np.int64),
                ('values', np.float64, shape[1:]),
                ('states', np.uint8, shape[1:]),
            ]
        )
        self._names = config.names
        self._stride = stride
        self._blocks: list[NDArray[np.void]] = []
        self._count = 0
        self._episodes: dict[str, int] = {}
        self._events: list[tuple[int, int, str, Event]] = []

    def add(self, situation: Situation) -> None:
        """Take the next situation."""
        self._events += [
            (self._count, situation.tick, situation.episode, event)
            for event in situation.new_events
        ]
        if situation.tick % self._stride:
            return
        place = self._count % _BLOCK
        if place == 0:
            self._blocks.append(np.zeros(_BLOCK, self._row))
        self._blocks[-1][place] = (
            situation.window,
            situation.valid,
            situation.stamp_ns,
            situation.tick,
            self._episodes.setdefault(situation.episode, len(self._episodes)),
            [reading.value for reading in situation.readings],
            [reading.state for reading in situation.readings],
        )
        self._count += 1

    def arrays(self) -> Arrays:
        """Return the arrays that the class describes."""
        rows = np.concatenate([*self._blocks, np.zeros(0, self._row)])[: self._count]
        known_in, ticks, episodes, events = (
            zip(*self._events, strict=True) if self._events else ((),) * 4
        )
        return {
            **{name: rows[name] for name in self._row.names or () if name != 'episode'},
            'episode': np.array(list(self._episodes) or [''], np.str_)[rows['episode']],
            'signals': np.array(self._names, np.str_),
            'event_row': np.array(known_in, np.int64),
            'event_tick': np.array(ticks, np.int64),
            'event_episode': np.array(episodes, np.str_),
            'event_stamp_ns': np.array([event.stamp_ns for event in events], np.int64),
            'event_kind': np.array([event.kind for event in events], np.uint8),
            'event_code': np.array([event.code for event in events], np.str_),
            'event_source': np.array([event.source for event in events], np.str_),
            'event_value': np.array([event.value for event in events], np.float64),
        }


def export_situations(
    bag: Bag,
    config: SituationConfig,
    replay: Replay,
    path: Path,
    *,
    stride: int = 1,
    name: str = '',
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Arrays:
    """Replay a bag to its end and write its situations.

    The file holds the arrays that `SituationArrays` describes, and `meta`: JSON with the
    configuration, the bag, the clock, the counters and what was odd about the bag.

    Args:
        bag: The bag of the replay.
        config: What the replay was made with.
        replay: Not begun yet.
        path: The .npz file.
        stride: Keep every n-th tick of the grid.
        name: What the bag is called, also in labels; empty: by its own name.
        overwrite: Whether a file that is there may be replaced.
        progress: Called with the number of messages played, after each tick.

    Returns:
        The arrays that were written.

    Raises:
        OutputError: The file exists and may not be replaced, is a part of the bag, or cannot be
            written.
    """
    check_free(path, bag.path, overwrite)
    collected = SituationArrays(config, stride)
    for situation in replay:
        collected.add(situation)
        if progress is not None:
            progress(replay.played)
    arrays = collected.arrays()
    _write(path, arrays, _meta(bag, config, replay, stride, name))
    return arrays


def check_free(path: Path, bag: Path, overwrite: bool) -> None:
    """Refuse a place whose content is not ours to replace."""
    try:
        if is_part(path, bag):
            raise OutputError(f'{path}: is the bag or a part of it; choose another name')
        if path.exists() and not path.is_file():
            raise OutputError(f'{path}: is there and not a file; choose another name')
        if path.exists() and not overwrite:
            raise OutputError(
                f'{path}: exists already; choose another name or replace it with --force'
            )
    except OSError:  # no access to the folder, as the next step says
        pass
    check_writable(path, OutputError)


def collect_situations(
    bag: Bag,
    config: SituationConfig,
    replay: Replay,
    *,
    name: str = '',
    progress: Callable[[int], None] | None = None,
) -> Arrays:
    """Replay a bag to its end and return what `export_situations` would write.

    Some 450 bytes for a situation of 10 x 7. Arguments as `export_situations` has them.
    """
    collected = SituationArrays(config)
    for situation in replay:
        collected.add(situation)
        if progress is not None:
            progress(replay.played)
    meta = _meta(bag, config, replay, 1, name)
    return {**collected.arrays(), 'meta': _as_array(meta)}


def _write(path: Path, arrays: Arrays, meta: dict[str, Any]) -> None:
    """Write the file; it appears whole or not at all."""
    content = {**arrays, 'meta': _as_array(meta)}
    with whole_file(path, OutputError) as draft, draft.open('wb') as file:
        np.savez_compressed(file, allow_pickle=False, **content)


def made_otherwise(path: Path, config: SituationConfig, replay: Replay, stride: int) -> str:
    """Return in what a file that is there differs from what would be written; empty: in nothing.

    The times of bag and file are not looked at here.

    Raises:
        OutputError: The file is not one that `export_situations` wrote.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            meta = json.loads(str(file['meta']))
        known = str(meta['made_by']).startswith('thinking_policy ')
        if not known:
            raise ValueError('made by another program')
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise OutputError(
            f'{path}: is there and no file of `bag situations`; choose another place or replace '
            'it with --force'
        ) from error
    expected = _made_with(config, replay, stride)
    for name, words in (
        ('version', 'an older version'),
        ('configuration', 'another configuration'),
        ('stride', 'another stride'),
        ('clock', 'another clock'),
        ('namespace', 'another namespace'),
        ('robot_id', 'another robot id'),
    ):
        if meta.get(name) != expected[name]:
            return words
    return ''


def _made_with(config: SituationConfig, replay: Replay, stride: int) -> dict[str, Any]:
    return {
        'version': EXPORT_VERSION,
        'clock': replay.clock,
        'stride': stride,
        'namespace': replay.namespace,
        'robot_id': replay.robot_id,
        'configuration': _jsonable(dataclasses.asdict(config)),
    }


def _meta(
    bag: Bag, config: SituationConfig, replay: Replay, stride: int, name: str
) -> dict[str, Any]:
    return {
        'made_by': f'thinking_policy {__version__}',
        'bag': name or bag.path.resolve().name,
        **_made_with(config, replay, stride),
        'feeds': [
            {
                'topic': feed.topic,
                'type': feed.type,
                'bag_topic': feed.source.name if feed.source else None,
                'problem': feed.problem,
            }
            for feed in replay.feeds
        ],
        'counters': _jsonable(dataclasses.asdict(replay.counters)),
        'problems': dict(bag.problems),
    }


def _as_array(meta: dict[str, Any]) -> NDArray[Any]:
    return np.array(json.dumps(meta, allow_nan=False))


def _jsonable(value: Any) -> Any:
    """Return a value for JSON, which has no NaN: None stands for an unset bound."""
    if isinstance(value, dict):
        return {key: _jsonable(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
