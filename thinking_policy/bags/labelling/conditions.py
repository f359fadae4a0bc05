# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Whether conditions hold, at every tick of a recording.

Causal: what is said of time t rests on readings and events up to t, of the same episode; only
what is usual for two signals together comes from the whole recording before the window. Where
too little is known (an episode that has just begun, a signal that is mostly not OK) the answer
is neither yes nor no. Combinations follow Kleene's logic: `any` of yes and unknown is yes, `all`
of no and unknown is no.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling import rule_file as rf
from thinking_policy.bags.labelling.recording import Recording
from thinking_policy.bags.labelling.rule_names import matching
from thinking_policy.bags.labelling.windows import (
    Floats,
    Moments,
    history,
    last,
    moments,
    reaches_back,
    share_of,
)

Flags = NDArray[np.bool_]

# Of the ticks of a span, so many must have a reading; fewer say too little about it.
LEAST_VALID = 0.5
_LEAST_SAMPLES = 2


@dataclass(frozen=True)
class Truth:
    """Whether something holds: `yes` and `known` [N]; yes only where known."""

    yes: Flags
    known: Flags

    @property
    def no(self) -> Flags:
        """Where it surely doesn't hold."""
        return self.known & ~self.yes


def truth_of(condition: rf.Condition, recording: Recording, scale: str) -> Truth:
    """Return whether a condition holds at each tick.

    Args:
        condition: From a file of rules that was checked against the recording's signals.
        recording: N situations.
        scale: own or nominal, for conditions that don't say.
    """
    part = condition.part
    if condition.none_of is not None:
        inner = truth_of(part, recording, scale)
        return Truth(inner.no, inner.known)
    if isinstance(part, tuple):
        parts = [truth_of(inner, recording, scale) for inner in part]
        yes, no = ([getattr(truth, side) for truth in parts] for side in ('yes', 'no'))
        if condition.all_of is not None:
            every = np.logical_and.reduce(yes)
            return Truth(every, every | np.logical_or.reduce(no))
        some = np.logical_or.reduce(yes)
        return Truth(some, some | np.logical_and.reduce(no))
    if isinstance(part, rf.CorrelationBroken):
        return _correlation_broken(part, recording)
    if isinstance(part, rf.EventSeen):
        return _event_seen(part, recording)
    if isinstance(part, rf.Missing):
        return _missing(part, recording)
    nominal = (part.scale or scale) == 'nominal'
    values = recording.of(part.signal, nominal)
    if isinstance(part, rf.Level | rf.Recovery):
        low, high = nominal_range(recording, part.signal, nominal)
        if isinstance(part, rf.Level):
            if part.over is not None:
                values = _mean(part.over, values, recording)
            return held(_level(part, values, low, high), recording, part.lasting)
        return _recovery(part, values, low, high, recording)
    return _by_stretch(_OVER_SPANS[type(part)], part, values, recording)


def held(truth: Truth, recording: Recording, seconds: float) -> Truth:
    """Return where something has been so for some seconds, up to each tick."""
    if seconds <= 0:
        return truth
    yes, known = np.zeros_like(truth.yes), np.zeros_like(truth.yes)
    span = round(seconds * 1e9)
    for stretch in recording.stretches:
        stamps = recording.stamp_ns[stretch]
        otherwise = _newest(stamps, ~truth.yes[stretch])
        denied = _newest(stamps, truth.no[stretch])
        first = np.searchsorted(stamps, otherwise, side='right')  # of the run of yes
        run = truth.yes[stretch] & (stamps - stamps[np.minimum(first, len(stamps) - 1)] >= span)
        yes[stretch] = run
        known[stretch] = run | (stamps - denied <= span)
    return Truth(yes, known | truth.no)


def nominal_range(recording: Recording, signal: str, nominal: bool) -> tuple[float, float]:
    """Return the nominal range of a signal on the axis that a condition uses."""
    if nominal:
        return 0.0, 1.0
    scale = recording.signals[recording.names.index(signal)]
    return scale.nominal_low, scale.nominal_high


def _newest(stamps: NDArray[np.int64], flags: Flags) -> NDArray[np.int64]:
    """Return for each row the stamp of the newest flag up to it; long ago for none."""
    never = np.int64(stamps[0] - 2**61)
    return np.asarray(np.maximum.accumulate(np.where(flags, stamps, never)), np.int64)


def _mean(over: float, values: Floats, recording: Recording) -> Floats:
    """Return the mean of the last seconds; NaN where too little is known."""
    mean = np.full_like(values, np.nan)
    for stretch in recording.stretches:
        stamps = recording.stamp_ns[stretch]
        start, stop = last(stamps, over)
        found = moments(recording.seconds(stretch), values[stretch], start, stop)
        known = _enough(found, stop - start, 1) & reaches_back(stamps, over, recording.tick_s)
        mean[stretch] = np.where(known, found.mean_v, np.nan)
    return mean


def _level(part: rf.Level, values: Floats, low: float, high: float) -> Truth:
    known = np.isfinite(values)
    with np.errstate(invalid='ignore'):
        if part.outside_nominal:
            yes = (values < low) | (values > high)
        else:
            yes = known.copy()
            if part.above is not None:
                yes &= values > part.above
            if part.below is not None:
                yes &= values < part.below
    return Truth(yes & known, known)


def _recovery(
    part: rf.Recovery, values: Floats, low: float, high: float, recording: Recording
) -> Truth:
    low = part.low if part.low is not None else low
    high = part.high if part.high is not None else high
    known = np.isfinite(values)
    with np.errstate(invalid='ignore'):
        outside = Truth(known & ((values < low) | (values > high)), known)
    left = held(outside, recording, part.least)
    yes, sure = np.zeros_like(known), np.zeros_like(known)
    for stretch in recording.stretches:
        stamps = recording.stamp_ns[stretch]
        recent = stamps - _newest(stamps, left.yes[stretch]) < round(part.over * 1e9)
        inside = outside.no[stretch]
        yes[stretch] = inside & recent
        enough = reaches_back(stamps, part.over, recording.tick_s)
        sure[stretch] = known[stretch] & (~inside | recent | enough)
    return Truth(yes, sure)


def _missing(part: rf.Missing, recording: Recording) -> Truth:
    absent = ~np.isfinite(recording.of(part.signal, False))
    yes, known = np.zeros_like(absent), np.zeros_like(absent)
    if part.signal in recording.silent:  # perhaps the robot never had it
        return Truth(yes, known)
    for stretch in recording.stretches:
        stamps = recording.stamp_ns[stretch]
        # A share that floating point puts a hair below the asked one is the asked one.
        share = share_of(absent[stretch], *last(stamps, part.over)) + 1e-12
        known[stretch] = reaches_back(stamps, part.over, recording.tick_s)
        yes[stretch] = (share >= part.share) & known[stretch]
    return Truth(yes, known)


def _event_seen(part: rf.EventSeen, recording: Recording) -> Truth:
    codes = matching(part.code, recording.event_code)
    meant = np.array([code in codes for code in recording.event_code], np.bool_)
    yes = np.zeros(len(recording), np.bool_)
    for stretch in recording.stretches:
        stamps = recording.stamp_ns[stretch]
        here = meant & (recording.event_episode == recording.episode[stretch.start])
        times = np.sort(recording.event_ns[here])
        since = stamps - round(part.within * 1e9)
        seen = np.searchsorted(times, stamps, side='right') - np.searchsorted(
            times, np.maximum(since, stamps[0] - 1), side='right'
        )
        yes[stretch] = seen >= part.times
    return Truth(yes, np.ones_like(yes))


def _correlation_broken(part: rf.CorrelationBroken, recording: Recording) -> Truth:
    one, two = (recording.of(name, nominal=True) for name in part.signals)
    yes, known = np.zeros(len(recording), np.bool_), np.zeros(len(recording), np.bool_)
    least_s = part.history if part.history is not None else 3 * part.over
    least = least_s / recording.tick_s
    start, stop = np.zeros(len(recording), np.int64), np.zeros(len(recording), np.int64)
    for stretch in recording.stretches:
        a, b = last(recording.stamp_ns[stretch], part.over)
        start[stretch], stop[stretch] = a + stretch.start, b + stretch.start
        known[stretch] = reaches_back(recording.stamp_ns[stretch], part.over, recording.tick_s)
    if not len(recording):
        return Truth(yes, known)
    now, before = moments(one, two, start, stop), history(one, two, start)
    with np.errstate(invalid='ignore'):
        usual = before.correlation
        moving = (now.spread_u >= part.moving * before.spread_u) | (
            now.spread_v >= part.moving * before.spread_v
        )
        known &= (before.count + 0.5 >= least) & np.isfinite(usual)
        known &= now.count >= LEAST_VALID * (stop - start)
        towards = now.correlation * np.sign(usual)
        yes = known & (np.abs(usual) >= part.usual) & moving & (towards <= part.broken)
    return Truth(yes, known)


def _by_stretch(
    of: Callable[[Any, NDArray[np.int64], Floats, Floats, float], Truth],
    part: Any,
    values: Floats,
    recording: Recording,
) -> Truth:
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


_OVER_SPANS: dict[type, Callable[[Any, NDArray[np.int64], Floats, Floats, float], Truth]] = {
    rf.Trend: _trend,
    rf.Change: _change,
    rf.Variability: _variability,
    rf.LateAcceleration: _late_acceleration,
}
