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

import numpy as np

from thinking_policy.bags.labelling import rule_file as rf
from thinking_policy.bags.labelling.recording import Recording
from thinking_policy.bags.labelling.rule_names import matching
from thinking_policy.bags.labelling.span_conditions import LEAST_VALID, mean_over, over_span
from thinking_policy.bags.labelling.truth import Truth, held, newest
from thinking_policy.bags.labelling.windows import (
    Floats,
    history,
    last,
    moments,
    reaches_back,
    share_of,
)


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
                values = mean_over(part.over, values, recording)
            return held(_level(part, values, low, high), recording, part.lasting)
        return _recovery(part, values, low, high, recording)
    return over_span(part, values, recording)


def nominal_range(recording: Recording, signal: str, nominal: bool) -> tuple[float, float]:
    """Return the nominal range of a signal on the axis that a condition uses."""
    if nominal:
        return 0.0, 1.0
    scale = recording.signals[recording.names.index(signal)]
    return scale.nominal_low, scale.nominal_high


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
        recent = stamps - newest(stamps, left.yes[stretch]) < round(part.over * 1e9)
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
