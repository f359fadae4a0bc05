# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Situations of a bag as one .npz file, for training and for looking at."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from thinking_policy import __version__
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.reader import Bag
from thinking_policy.bags.replay import Replay
from thinking_policy.situation import Event, Situation, SituationConfig

EXPORT_VERSION = 1
"""Changes when the meaning of an array in the file changes."""


class SituationArrays:
    """Collects situations and writes them.

    Arrays, for N situations of T samples and F signals:
        window float32 [N,T,F], valid bool [N,T,F]: what the policy sees;
        stamp_ns int64 [N], tick int64 [N], episode text [N];
        values float64 [N,F] in each signal's unit (NaN unless OK), states uint8 [N,F] as
        `SignalStatus.msg` numbers them;
        signals text [F];
        for M events: event_row int64 [M] (situation that first knew it), event_stamp_ns int64,
        event_kind uint8, event_code text, event_source text, event_value float64;
        meta: JSON with configuration, bag, clock and counters.
    """

    def __init__(self, config: SituationConfig, stride: int = 1) -> None:
        """Prepare for situations.

        Args:
            config: What they were made with.
            stride: Keep the ticks that are multiples of it; events of all ticks are kept.
        """
        self._config = config
        self._stride = stride
        self._kept: list[Situation] = []
        self._events: list[tuple[int, Event]] = []

    def add(self, situation: Situation) -> None:
        """Take the next situation."""
        self._events += [(len(self._kept), event) for event in situation.new_events]
        if situation.tick % self._stride == 0:
            self._kept.append(situation)

    def __len__(self) -> int:
        """Return how many situations are kept."""
        return len(self._kept)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays that the class describes, without `meta`."""
        kept, signals = self._kept, self._config.names
        length, width = self._config.window_length, len(signals)
        # Events behind the last kept situation belong to none that is in the file.
        events = [(row, event) for row, event in self._events if row < len(kept)]
        return {
            'window': np.array([s.window for s in kept], np.float32).reshape(-1, length, width),
            'valid': np.array([s.valid for s in kept], np.bool_).reshape(-1, length, width),
            'stamp_ns': np.array([s.stamp_ns for s in kept], np.int64),
            'tick': np.array([s.tick for s in kept], np.int64),
            'episode': np.array([s.episode for s in kept], np.str_),
            'values': np.array([[r.value for r in s.readings] for s in kept], np.float64).reshape(
                -1, width
            ),
            'states': np.array([[r.state for r in s.readings] for s in kept], np.uint8).reshape(
                -1, width
            ),
            'signals': np.array(signals, np.str_),
            'event_row': np.array([row for row, _ in events], np.int64),
            'event_stamp_ns': np.array([e.stamp_ns for _, e in events], np.int64),
            'event_kind': np.array([e.kind for _, e in events], np.uint8),
            'event_code': np.array([e.code for _, e in events], np.str_),
            'event_source': np.array([e.source for _, e in events], np.str_),
            'event_value': np.array([e.value for _, e in events], np.float64),
        }

    def write(self, path: Path, meta: dict[str, Any]) -> None:
        """Write the file; it appears whole or not at all.

        Raises:
            BagError: The file cannot be written.
        """
        arrays = {**self.arrays(), 'meta': np.array(json.dumps(meta, allow_nan=False))}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f'.{path.name}.partial')
            try:
                with partial.open('wb') as file:
                    np.savez_compressed(file, allow_pickle=False, **arrays)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            raise BagError(f'{path}: cannot be written: {error.strerror or error}') from error


def export_situations(
    bag: Bag,
    config: SituationConfig,
    replay: Replay,
    path: Path,
    *,
    stride: int = 1,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> SituationArrays:
    """Replay a bag to its end and write its situations.

    Args:
        bag: The bag of the replay.
        config: What the replay was made with.
        replay: Not begun yet.
        path: The .npz file.
        stride: Keep every n-th tick of the grid.
        overwrite: Whether a file that is there may be replaced.
        progress: Called with the number of messages played, after each tick.

    Raises:
        BagError: The file exists and may not be replaced, or cannot be written.
    """
    if path.exists() and not overwrite:
        raise BagError(f'{path}: exists already; choose another name or replace it with --force')
    collected = SituationArrays(config, stride)
    for situation in replay:
        collected.add(situation)
        if progress is not None:
            progress(replay.played)
    collected.write(path, _meta(bag, config, replay, stride))
    return collected


def _meta(bag: Bag, config: SituationConfig, replay: Replay, stride: int) -> dict[str, Any]:
    return {
        'version': EXPORT_VERSION,
        'made_by': f'thinking_policy {__version__}',
        'bag': bag.path.resolve().name,
        'clock': replay.clock,
        'stride': stride,
        'configuration': _jsonable(dataclasses.asdict(config)),
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


def _jsonable(value: Any) -> Any:
    """Return a value for JSON, which has no NaN: None stands for an unset bound."""
    if isinstance(value, dict):
        return {key: _jsonable(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
