# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions on how a signal ran over the last seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling import rule_file as rf
from thinking_policy.bags.labelling.recording import Recording
from thinking_policy.bags.labelling.truth import Flags, Truth
from thinking_policy.bags.labelling.windows import Floats, Moments, last, moments, reaches_back

# Of the ticks of a span, so many must have a reading; fewer say too little about it.
LEAST_VALID = 0.5
_LEAST_SAMPLES = 2


def over_span(part: Any, values: Floats, recording: Recording) -> Truth:
    """Return whether a trend, change, change of spread or late acceleration is there.

    Args:
        part: The condition.
        values: [N], in its scale.
        recording: Where the values are from.
    """
    of = _ASK[type(part)]
    yes, known = np.zeros(len(recording), np.bool_), np.zeros(len(recording), np.bool_)
    for stretch in recording.stretches:
        with np.errstate(invalid='ignore', divide='ignore'):
            truth = of(
                part,
                recording.stamp_ns[stretch],
                recording.seconds(stretch),
                values[stretch],
                recording.tick_s,
            )
        yes[stretch], known[stretch] = truth.yes & truth.known, truth.known
    return Truth(yes, known)


def mean_over(over: float, values: Floats, recording: Recording) -> Floats:
    """Return the mean of the last seconds; NaN where too little is known."""
    mean = np.full_like(values, np.nan)
    for stretch in recording.stretches:
        stamps = recording.stamp_ns[stretch]
        start, stop = last(stamps, over)
        found = moments(recording.seconds(stretch), values[stretch], start, stop)
        known = _enough(found, stop - start, 1) & reaches_back(stamps, over, recording.tick_s)
        mean[stretch] = np.where(known, found.mean_v, np.nan)
    return mean


def _trend(
    part: rf.Trend, stamps: NDArray[np.int64], seconds: Floats, values: Floats, tick_s: float
) -> Truth:
    start, stop = last(stamps, part.over)
    found = moments(seconds, values, start, stop)
    change = found.slope * part.over
    explained = np.where(found.vv > 0, found.uv**2 / (found.uu * found.vv), 0.0)
    yes = _moved(change, part.direction, part.by) & (explained >= part.steady)
    known = _enough(found, stop - start) & reaches_back(stamps, part.over, tick_s)
    return Truth(yes, known & np.isfinite(change))


def _change(
    part: rf.Change, stamps: NDArray[np.int64], seconds: Floats, values: Floats, tick_s: float
) -> Truth:
    now, before, known = _two_spans(
        stamps, seconds, values, tick_s, part.over, part.before, part.between
    )
    return Truth(_moved(now.mean_v - before.mean_v, part.direction, part.by), known)


def _variability(
    part: rf.Variability, stamps: NDArray[np.int64], seconds: Floats, values: Floats, tick_s: float
) -> Truth:
    now, before, known = _two_spans(stamps, seconds, values, tick_s, part.over, part.before, 0.0)
    wide, narrow = now.spread_v, before.spread_v
    if part.direction == 'down':
        wide, narrow = narrow, wide
    # Strictly more: between two still spans nothing has changed.
    yes = (wide >= part.factor * narrow) & (wide > narrow) & (wide - narrow >= part.by)
    return Truth(yes, known)


def _late_acceleration(
    part: rf.LateAcceleration,
    stamps: NDArray[np.int64],
    seconds: Floats,
    values: Floats,
    tick_s: float,
) -> Truth:
    late_s = part.over * part.late
    start, stop = last(stamps, late_s)
    late = moments(seconds, values, start, stop)
    first, end = last(stamps, part.over, late_s)
    early = moments(seconds, values, first, end)
    # How steep it was in the late direction before; flat where it went the other way.
    before = np.maximum(early.slope * np.sign(late.slope), 0.0)
    yes = _moved(late.slope * late_s, part.direction, part.by) & (
        np.abs(late.slope) >= part.factor * before
    )
    known = _enough(late, stop - start) & _enough(early, end - first)
    known &= reaches_back(stamps, part.over, tick_s)
    return Truth(yes, known & np.isfinite(late.slope) & np.isfinite(early.slope))


def _two_spans(
    stamps: NDArray[np.int64],
    seconds: Floats,
    values: Floats,
    tick_s: float,
    over: float,
    before: float,
    between: float,
) -> tuple[Moments, Moments, Flags]:
    """Return the moments of the last seconds and of a span before, and where both are known."""
    start, stop = last(stamps, over)
    first, end = last(stamps, over + between + before, over + between)
    now, then = moments(seconds, values, start, stop), moments(seconds, values, first, end)
    known = _enough(now, stop - start, 1) & _enough(then, end - first, 1)
    return now, then, known & reaches_back(stamps, over + between + before, tick_s)


def _enough(found: Moments, size: NDArray[np.int64], least: int = _LEAST_SAMPLES) -> Flags:
    return np.asarray((found.count >= least) & (found.count >= LEAST_VALID * size), np.bool_)


def _moved(change: Floats, direction: str, by: float) -> Flags:
    if direction == 'either':
        change = np.abs(change)
    elif direction == 'falling':
        change = -change
    # Strictly: with `by: 0` a still signal has not moved.
    return np.asarray((change >= by) & (change > 0), np.bool_)


_ASK: dict[type, Callable[[Any, NDArray[np.int64], Floats, Floats, float], Truth]] = {
    rf.Trend: _trend,
    rf.Change: _change,
    rf.Variability: _variability,
    rf.LateAcceleration: _late_acceleration,
}
