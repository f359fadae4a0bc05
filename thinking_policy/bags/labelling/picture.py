# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a picture of a labelled recording shows, before anybody draws it.

Time runs along the recording as it was lived: a clock that jumps back or far ahead between two
episodes leaves a small gap, not an overlap or a desert.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling.merging import Conflict, Merged, spans_of
from thinking_policy.bags.labelling.recording import Recording, Scale

COLUMNS = 760
"""Points along a line at most; each stands for the smallest and largest value there."""

YES, NO, UNSURE, CLASH = 'yes', 'no', 'unsure', 'clash'
_WIDEST_GAP = 0.03  # of what was recorded
_MOST_EVENTS = 400  # marks that a picture can hold


@dataclass(frozen=True)
class Line:
    """One signal: runs of points without a break.

    Attributes:
        scale: Name, unit and nominal range.
        runs: For each run: seconds along the picture, smallest and largest values there.
        low: Smallest value of all.
        high: Largest value of all.
    """

    scale: Scale
    runs: tuple[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], ...]
    low: float
    high: float


@dataclass(frozen=True)
class Bar:
    """A stretch in the lane of an activity: what is said, by whom, how surely."""

    begin_s: float
    end_s: float
    said: str
    origin: str
    confidence: float


@dataclass(frozen=True)
class Piece:
    """A stretch of time without a jump: where it lies in the picture and when it was."""

    begin_s: float
    end_s: float
    stamp_ns: int


@dataclass(frozen=True)
class Picture:
    """One recording.

    Attributes:
        name: Recording.
        start_ns: Where seconds since the start count from.
        length_s: Of the picture.
        pieces: One for each episode.
        lines: Signals with readings.
        silent: Names of those without.
        lanes: Bars by activity; `unlabelled` stretches have none.
        unlabelled: From and to of stretches without rows in the table.
        events: Time and code; the first few hundred.
        more_events: How many were left out.
        conflicts: Of this recording.
        rows: Situations.
        labelled: Rows in the table.
    """

    name: str
    start_ns: int
    length_s: float
    pieces: tuple[Piece, ...]
    lines: tuple[Line, ...]
    silent: tuple[str, ...]
    lanes: dict[str, tuple[Bar, ...]]
    unlabelled: tuple[tuple[float, float], ...]
    events: tuple[tuple[float, str], ...]
    more_events: int
    conflicts: tuple[Conflict, ...]
    rows: int
    labelled: int


def picture_of(recording: Recording, merged: Merged) -> Picture:
    """Return what is to be drawn of a recording and its labels."""
    seconds, pieces = _along(recording)
    lines = [_line(recording, column, seconds) for column in range(len(recording.signals))]
    events = [
        (_place(int(stamp), int(episode), recording, seconds), code)
        for stamp, episode, code in zip(
            recording.event_ns[:_MOST_EVENTS],
            recording.event_episode[:_MOST_EVENTS],
            recording.event_code[:_MOST_EVENTS],
            strict=True,
        )
    ]
    tick = recording.tick_s
    return Picture(
        recording.name,
        recording.start_ns,
        pieces[-1].end_s if pieces else 0.0,
        pieces,
        tuple(line for line in lines if line.runs),
        tuple(line.scale.name for line in lines if not line.runs),
        _lanes(recording, merged, seconds),
        tuple(
            (float(seconds[first]) - tick, float(seconds[final]))
            for first, final in spans_of(~merged.labelled, recording.stretches)
        ),
        tuple(event for event in events if event[0] >= 0),
        max(0, len(recording.event_code) - _MOST_EVENTS),
        merged.conflicts,
        len(recording),
        int(merged.labelled.sum()),
    )


def _along(recording: Recording) -> tuple[NDArray[np.float64], tuple[Piece, ...]]:
    """Return for each row its place in seconds along the picture, and the episodes' places."""
    seconds = np.zeros(len(recording))
    tick = recording.tick_s
    lived = sum(float(recording.seconds(part)[-1]) + tick for part in recording.stretches)
    pieces: list[Piece] = []
    at, newest = 0.0, 0
    for part in recording.stretches:
        stamps = recording.stamp_ns[part]
        begin_ns = int(stamps[0]) - round(tick * 1e9)
        if pieces:
            gap = (begin_ns - newest) / 1e9
            at += gap if 0 <= gap <= _WIDEST_GAP * lived else _WIDEST_GAP * lived
        seconds[part] = at + tick + recording.seconds(part)
        pieces.append(Piece(at, float(seconds[part][-1]), begin_ns))
        at, newest = float(seconds[part][-1]), int(stamps[-1])
    return seconds, tuple(pieces)


def _place(
    stamp_ns: int, episode: int, recording: Recording, seconds: NDArray[np.float64]
) -> float:
    """Return where an event lies along the picture; -1 where its tick was not kept."""
    for part in recording.stretches:
        if recording.episode[part.start] == episode:
            stamps = recording.stamp_ns[part]
            row = int(np.searchsorted(stamps, stamp_ns))
            if row < len(stamps):
                return float(seconds[part][row])
    return -1.0


def _line(recording: Recording, column: int, seconds: NDArray[np.float64]) -> Line:
    values = recording.values[:, column]
    valid = np.isfinite(values)
    runs = []
    share = max(1, -(-len(values) // COLUMNS))  # rows that one point stands for
    for first, final in spans_of(valid, recording.stretches):
        part = values[first : final + 1]
        starts = np.arange(0, len(part), share)
        runs.append(
            (
                seconds[first : final + 1][starts],
                np.minimum.reduceat(part, starts),
                np.maximum.reduceat(part, starts),
            )
        )
    low, high = (
        (float(values[valid].min()), float(values[valid].max())) if valid.any() else (0.0, 0.0)
    )
    return Line(recording.signals[column], tuple(runs), low, high)


def _lanes(
    recording: Recording, merged: Merged, seconds: NDArray[np.float64]
) -> dict[str, tuple[Bar, ...]]:
    table, rows = merged.table, np.flatnonzero(merged.labelled)
    lanes = {}
    for column, activity in enumerate(table.activities):
        origins = list(dict.fromkeys(table.origin[:, column]))
        numbers = {origin: number for number, origin in enumerate(origins)}
        sure = table.confidence[:, column]
        state = np.full(len(recording), -1, np.int64)
        state[rows] = [numbers[origin] for origin in table.origin[:, column]]
        state[rows] = state[rows] * 2 + table.label[:, column]
        shown = np.zeros(len(recording), np.bool_)
        # What nobody spoke about is the paper that the bars are drawn on.
        shown[rows] = (table.origin[:, column] != '') | (sure == 0) | table.label[:, column]
        place = np.zeros(len(recording), np.int64)
        place[rows] = np.arange(len(rows))
        bars = []
        for first, final in spans_of(shown, recording.stretches):
            # Within a run, a bar ends where another origin or answer begins.
            cuts = np.flatnonzero(
                (np.diff(state[first : final + 1]) != 0)
                | (np.diff(sure[place[first : final + 1]]) != 0)
            )
            for a, b in zip([first, *(first + cuts + 1)], [*(first + cuts), final], strict=True):
                cell = place[a], column
                unsure = table.confidence[cell] == 0
                bars.append(
                    Bar(
                        float(seconds[a]) - recording.tick_s,
                        float(seconds[b]),
                        UNSURE if unsure else YES if table.label[cell] else NO,
                        str(table.origin[cell]),
                        float(table.confidence[cell]),
                    )
                )
        lanes[activity] = tuple(bars)
    for conflict in merged.conflicts:
        lanes[conflict.activity] += (_clash(conflict, recording, seconds),)
    return lanes


def _clash(conflict: Conflict, recording: Recording, seconds: NDArray[np.float64]) -> Bar:
    first = int(np.flatnonzero(recording.stamp_ns == conflict.begin_ns)[0])
    final = min(first + conflict.rows - 1, len(seconds) - 1)
    return Bar(
        float(seconds[first]) - recording.tick_s,
        float(seconds[final]),
        CLASH,
        f'{conflict.kept} against {conflict.dropped}',
        1.0,
    )
