# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy said of a recording, tick by tick, and the spans that follow from it."""

from __future__ import annotations

import array
import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy import Inference
from thinking_policy.situation import Situation
from thinking_policy.whole_file import whole_file

NOVELTY = 'novelty'


@dataclass(frozen=True)
class Span:
    """A time in which an activity was active, or the novelty above its threshold.

    Attributes:
        start_ns: Stamp of the first tick.
        end_ns: Stamp of the last one.
        ticks: How many.
        peak: Largest probability, or novelty.
        peak_ns: Stamp of the tick that has it first.
    """

    start_ns: int
    end_ns: int
    ticks: int
    peak: float
    peak_ns: int


class Timeline:
    """Takes situations with what was said of them; some 100 bytes for one.

    Attributes:
        ids: G activities in the policy's order.
        signals: F names.
    """

    def __init__(self, ids: Sequence[str], signals: Sequence[str]) -> None:
        """Start empty."""
        self.ids, self.signals = tuple(ids), tuple(signals)
        self._stamps = array.array('q')
        self._episodes: dict[str, int] = {}
        self._episode = array.array('l')
        self._probability = array.array('f')
        self._active = bytearray()
        self._novelty = array.array('d')
        self._valid = array.array('f')
        self._values = array.array('d')

    def __len__(self) -> int:
        """Return N, the number of ticks."""
        return len(self._stamps)

    def add(self, situation: Situation, inference: Inference, active: NDArray[np.bool_]) -> None:
        """Take the next tick."""
        self._stamps.append(situation.stamp_ns)
        self._episode.append(self._episodes.setdefault(situation.episode, len(self._episodes)))
        self._probability.frombytes(inference.probability.tobytes())
        self._active += active.tobytes()
        self._novelty.append(inference.novelty)
        self._valid.append(float(situation.valid.mean()))
        self._values.extend([reading.value for reading in situation.readings])

    @property
    def stamp_ns(self) -> NDArray[np.int64]:
        """Ends of the ticks [N]."""
        return np.array(self._stamps, np.int64)

    @property
    def episode(self) -> NDArray[np.int64]:
        """Index into `episodes` [N]."""
        return np.array(self._episode, np.int64)

    @property
    def episodes(self) -> tuple[str, ...]:
        """Names of the episodes."""
        return tuple(self._episodes)

    @property
    def probability(self) -> NDArray[np.float32]:
        """Probabilities [N, G]."""
        return np.array(self._probability, np.float32).reshape(len(self), len(self.ids))

    @property
    def active(self) -> NDArray[np.bool_]:
        """Whether an activity was active after the tick [N, G]."""
        flags = np.frombuffer(bytes(self._active), np.bool_)
        return flags.reshape(len(self), len(self.ids))

    @property
    def novelty(self) -> NDArray[np.float64]:
        """Novelty, held as a node holds it [N]."""
        return np.array(self._novelty, np.float64)

    @property
    def valid(self) -> NDArray[np.float32]:
        """Share of the window's samples that are valid [N]."""
        return np.array(self._valid, np.float32)

    @property
    def values(self) -> NDArray[np.float64]:
        """Newest values of the signals in their units [N, F]; NaN where not OK."""
        return np.array(self._values, np.float64).reshape(len(self), len(self.signals))

    @property
    def never_seen(self) -> tuple[str, ...]:
        """Signals without a usable value at any tick."""
        values = self.values
        return tuple(
            name for i, name in enumerate(self.signals) if not np.isfinite(values[:, i]).any()
        )

    def spans(self, flags: NDArray[np.bool_], values: NDArray[Any]) -> list[Span]:
        """Return the stretches of ticks with a flag [N]; none reaches over two episodes."""
        stamps, episode = self.stamp_ns, self.episode
        on = np.concatenate([[False], flags, [False]])
        borders = set(np.flatnonzero(on[1:] != on[:-1]).tolist())
        borders |= set((np.flatnonzero(np.diff(episode) != 0) + 1).tolist())
        found = []
        for start, end in itertools.pairwise(sorted(borders)):
            if flags[start]:
                peak = start + int(np.argmax(values[start:end]))
                found.append(
                    Span(
                        int(stamps[start]),
                        int(stamps[end - 1]),
                        end - start,
                        float(values[peak]),
                        int(stamps[peak]),
                    )
                )
        return found

    def rows(self, start_ns: int) -> Iterator[list[str]]:
        """Yield a heading and one row for each tick, for a table.

        Args:
            start_ns: Where seconds count from.
        """
        yield [
            *('time', 'seconds', 'episode', 'novelty', 'valid_fraction'),
            *(f'probability.{name}' for name in self.ids),
            *(f'active.{name}' for name in self.ids),
            *(f'signal.{name}' for name in self.signals),
        ]
        columns = self.probability, self.active, self.values
        ticks = zip(self._stamps, self._episode, self._novelty, self.valid, *columns, strict=True)
        for stamp, episode, novelty, valid, probability, active, values in ticks:
            yield [
                seconds_text(stamp),
                f'{(stamp - start_ns) / 1e9:.3f}',
                self.episodes[episode],
                repr(novelty),
                str(valid),
                *map(str, probability),
                *('1' if flag else '0' for flag in active),
                *('' if np.isnan(value) else repr(float(value)) for value in values),
            ]


def seconds_text(stamp_ns: int) -> str:
    """Return a stamp in seconds, exact to the nanosecond, as tables of labels have it."""
    sign, stamp_ns = ('-' if stamp_ns < 0 else ''), abs(stamp_ns)
    return f'{sign}{stamp_ns // 10**9}.{stamp_ns % 10**9:09d}'


def write_table(path: Path, timeline: Timeline, start_ns: int) -> None:
    """Write one row for each tick; the file appears whole or not at all.

    Raises:
        ThinkingPolicyError: It cannot be written.
    """
    with whole_file(path) as draft, draft.open('w', newline='', encoding='utf-8') as file:
        csv.writer(file, lineterminator='\n').writerows(timeline.rows(start_ns))
