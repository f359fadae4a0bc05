# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What labels are made from: the readings and events of one recording, tick by tick."""

from __future__ import annotations

import array
import itertools
import json
import math
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.situation import Situation, SituationConfig

# What numpy and zipfile raise on damaged files; RuntimeError: encrypted or unknown compression.
_FAULTS = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,
    ArithmeticError,
    MemoryError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Scale:
    """A signal's name and unit, and what 0 and 1 of the scaled axis stand for."""

    name: str
    unit: str
    nominal_low: float
    nominal_high: float


@dataclass(frozen=True)
class Recording:
    """N situations of one bag, as far as labels need them.

    Attributes:
        name: What the bag is called in tables.
        signals: F signals.
        tick_s: Tick period.
        start_ns: Where "seconds since the start" count from.
        stamp_ns: int64 [N], ends of the ticks; they rise within an episode.
        episode: int64 [N], index into `episodes`.
        episodes: Names of episodes.
        values: float64 [N, F], in the signals' units, NaN where a signal is not OK.
        event_ns: int64 [M], when the robot could know of an event; in order within an episode.
        event_episode: int64 [M], index into `episodes`.
        event_code: M codes.
        silent: Signals without any reading in the whole recording: whether the robot lacks them,
            or the bag, or they failed, can't be told.
        stride: Every how many ticks there is a situation.
    """

    name: str
    signals: tuple[Scale, ...]
    tick_s: float
    start_ns: int
    stamp_ns: NDArray[np.int64]
    episode: NDArray[np.int64]
    episodes: tuple[str, ...]
    values: NDArray[np.float64]
    event_ns: NDArray[np.int64]
    event_episode: NDArray[np.int64]
    event_code: tuple[str, ...]
    silent: frozenset[str] = frozenset()
    stride: int = 1

    def __len__(self) -> int:
        """Return N."""
        return len(self.stamp_ns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the signals."""
        return tuple(signal.name for signal in self.signals)

    @cached_property
    def stretches(self) -> tuple[slice, ...]:
        """Rows of each episode, in order; nothing that looks back or ahead leaves its own."""
        if not len(self):
            return ()
        change = (np.diff(self.episode) != 0) | (np.diff(self.stamp_ns) <= 0)
        borders = [0, *(np.flatnonzero(change) + 1).tolist(), len(self)]
        return tuple(slice(a, b) for a, b in itertools.pairwise(borders))

    def of(self, signal: str, nominal: bool) -> NDArray[np.float64]:
        """Return the values of a signal [N], in its unit or scaled to its nominal range."""
        column = self.names.index(signal)
        values: NDArray[np.float64] = self.values[:, column]
        if not nominal:
            return values
        scale = self.signals[column]
        return (values - scale.nominal_low) / (scale.nominal_high - scale.nominal_low)

    def seconds(self, stretch: slice) -> NDArray[np.float64]:
        """Return the times of a stretch in seconds since its first."""
        stamps = self.stamp_ns[stretch]
        since: NDArray[np.float64] = (stamps - stamps[0]) / 1e9
        return since


class Recorder:
    """Keeps of each situation what labels need: some 80 bytes, not its window."""

    def __init__(self, config: SituationConfig) -> None:
        self._signals = tuple(
            Scale(signal.name, signal.unit, signal.nominal_low, signal.nominal_high)
            for signal in config.signals
        )
        self._tick_s = config.tick_period_s
        self._stamps = array.array('q')
        self._episode = array.array('q')
        self._episodes: dict[str, int] = {}
        self._values = array.array('d')
        self._events: list[tuple[int, int, str]] = []

    def add(self, situation: Situation) -> None:
        """Take the next situation."""
        episode = self._episodes.setdefault(situation.episode, len(self._episodes))
        self._stamps.append(situation.stamp_ns)
        self._episode.append(episode)
        self._values.extend([reading.value for reading in situation.readings])
        self._events += [(situation.stamp_ns, episode, e.code) for e in situation.new_events]

    def recording(self, name: str, start_ns: int | None = None) -> Recording:
        """Return what was taken; without a start it is a tick before the first situation."""
        stamps = np.array(self._stamps, np.int64)
        values = np.array(self._values, np.float64).reshape(len(stamps), len(self._signals))
        if start_ns is None:
            start_ns = _start(stamps, self._tick_s)
        events = self._events
        return Recording(
            name,
            self._signals,
            self._tick_s,
            start_ns,
            stamps,
            np.array(self._episode, np.int64),
            tuple(self._episodes),
            values,
            np.array([event[0] for event in events], np.int64),
            np.array([event[1] for event in events], np.int64),
            tuple(event[2] for event in events),
            _silent(self._signals, values),
        )


def load_recording(path: Path, name: str = '') -> Recording:
    """Read what `bag situations` wrote.

    Args:
        path: The .npz file.
        name: What the recording is called; empty: as the file says.

    Raises:
        LabelError: Not readable, or not such a file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file['meta']))
            meta, name = about['configuration'], name or str(about.get('bag') or path.stem)
            arrays = {
                key: file[key]
                for key in ('stamp_ns', 'episode', 'values', 'event_row', 'event_code')
            }
        signals = tuple(
            Scale(
                str(entry['name']),
                str(entry['unit']),
                float(entry['nominal_low']),
                float(entry['nominal_high']),
            )
            for entry in meta['signals']
        )
        recording = recording_of(name, signals, float(meta['tick_period_s']), arrays)
        return replace(recording, stride=int(about.get('stride', 1)))
    except FileNotFoundError as error:
        raise LabelError(f'{path}: no such file') from error
    except _FAULTS as error:
        raise LabelError(
            f'{path}: not a file of situations, or damaged: {error}; `thinking-policy bag '
            'situations` writes such files'
        ) from error


def recording_of(
    name: str, signals: Sequence[Scale], tick_s: float, arrays: dict[str, NDArray[Any]]
) -> Recording:
    """Return the recording behind the arrays that `bags.export.SituationArrays` describes.

    An event counts from the first situation that could know of it.
    """
    stamps = np.asarray(arrays['stamp_ns'], np.int64)
    names, episode = np.unique(arrays['episode'], return_inverse=True)
    values = np.asarray(arrays['values'], np.float64).reshape(len(stamps), len(signals))
    if len(episode) != len(stamps):
        raise ValueError(f'{len(stamps)} stamps and {len(episode)} episodes')
    if not math.isfinite(tick_s) or tick_s <= 0:
        raise ValueError(f'tick period {tick_s}')
    rows = np.asarray(arrays['event_row'], np.int64)
    known = (rows >= 0) & (rows < len(stamps))  # the rest came after the last that was kept
    rows = rows[known]
    return Recording(
        name,
        tuple(signals),
        tick_s,
        _start(stamps, tick_s),
        stamps,
        episode.ravel().astype(np.int64),
        tuple(map(str, names)),
        values,
        stamps[rows],
        episode.ravel().astype(np.int64)[rows],
        tuple(map(str, np.asarray(arrays['event_code'])[known])),
        _silent(signals, values),
    )


def _silent(signals: Sequence[Scale], values: NDArray[np.float64]) -> frozenset[str]:
    valid = np.isfinite(values)
    return frozenset(one.name for f, one in enumerate(signals) if not valid[:, f].any())


def _start(stamps: NDArray[np.int64], tick_s: float) -> int:
    return int(stamps[0]) - round(tick_s * 1e9) if len(stamps) else 0
