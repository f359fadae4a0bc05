# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Proposes what a robot perceives from what it recorded.

Every signal that a topic could feed (`signal_rules`) is tried on the bags: what yields values
takes its place among the seven signals, or stands by; its range comes from the values.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.proposal import TICK_S, Proposal, Proposed, arranged
from thinking_policy.bags.reader import Bag, BagTopic, open_bag
from thinking_policy.bags.replay import situations_of
from thinking_policy.bags.signal_rules import Candidate, candidates
from thinking_policy.bags.times import TopicTimes, topic_times
from thinking_policy.situation import (
    EventConfig,
    SignalConfig,
    SituationConfig,
)

_MOST_VALUES = 20_000  # kept of each bag; of more, every second one is
_FEW_VALUES = 40


def propose(
    bags: Sequence[Path],
    known: Sequence[SituationConfig] = (),
    namespace: str = '',
    *,
    every_signal: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Proposal:
    """Propose a configuration for the robot that recorded some bags.

    Args:
        bags: All of the same robot.
        known: Configurations of known robots, for types of their makers.
        namespace: The robot's namespace in the bags.
        every_signal: All signals that can be fed, not only the seven of the bundled policy.
        progress: Called with the number of messages read, and how many there are.

    Raises:
        BagError: A bag cannot be read, or no topic can feed a signal.
    """
    topics, total, odd = _topics_of(bags)
    tried = _with_own_names(candidates(topics.values(), known, namespace))
    if not tried:
        tried = _with_own_names(candidates(topics.values(), known, namespace, any_number=True))
    if not tried:
        raise BagError(f'{bags[0]}: no topic can feed a signal: {_kinds(topics.values(), odd)}')
    collected, times = _try(bags, tried, namespace, total, progress)
    better = [
        _better(candidate, values, times.get(_in_bag(candidate.signal.topic, namespace)))
        for candidate, values in zip(tried, collected, strict=True)
    ]
    if better != tried:
        tried = better
        collected, times = _try(bags, tried, namespace, total, progress)
    judged = [
        _judged(candidate, values, times.get(_in_bag(candidate.signal.topic, namespace)))
        for candidate, values in zip(tried, collected, strict=True)
    ]
    return arranged(tried, judged, topics, every_signal)


def _try(
    bags: Iterable[Path],
    tried: Sequence[Candidate],
    namespace: str,
    total: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[_Values], dict[str, TopicTimes]]:
    """Read all bags; return samples of each candidate, and times by topic."""
    names = {_in_bag(candidate.signal.topic, namespace) for candidate in tried}
    collected = [_Values() for _ in tried]
    times: dict[str, TopicTimes] = {}
    done = 0

    def tell(count: int, before: int) -> None:
        if progress is not None:
            progress(before + count, 2 * total)

    for path in bags:
        with open_bag(path) as bag:
            present = [name for name in names if (t := bag.topic(name)) is not None and t.count]
            measured = topic_times(bag, present, functools.partial(tell, before=done))
            for name, found in measured.items():
                if found.messages > times.get(name, TopicTimes()).messages:
                    times[name] = found
            done += bag.message_count
            _collect(bag, tried, collected, namespace, functools.partial(tell, before=done))
            done += bag.message_count
    return collected, times


def _topics_of(bags: Iterable[Path]) -> tuple[dict[str, BagTopic], int, list[str]]:
    """Return the topics of all bags, their messages added up, and what was odd."""
    topics: dict[str, BagTopic] = {}
    odd: dict[str, None] = {}
    total = 0
    for path in bags:
        with open_bag(path) as bag:
            total += bag.message_count
            odd.update(dict.fromkeys(bag.problems))
            for topic in bag.topics:
                before = topics.get(topic.name, dataclasses.replace(topic, count=0))
                if before.type == topic.type:
                    kind = before.message_type or topic.message_type
                    count = before.count + topic.count
                    topics[topic.name] = BagTopic(topic.name, topic.type, count, kind)
    return topics, total, list(odd)


def _with_own_names(found: Iterable[Candidate]) -> list[Candidate]:
    """Give every candidate a name of its own: that of its slot, and of its topic where taken."""
    taken: Counter[str] = Counter()
    named = []
    for candidate in found:
        base = candidate.signal.name
        taken[base] += 1
        number = taken[base]
        name = base if number == 1 and not candidate.slot else f'{base}_{number}'
        named.append(
            dataclasses.replace(candidate, signal=dataclasses.replace(candidate.signal, name=name))
        )
    return named


class _Values:
    """Samples of one signal, in flat memory."""

    def __init__(self) -> None:
        self.samples: list[float] = []
        self.usable = self.invalid = 0
        self._stride = 1
        self._seen = 0

    def add(self, value: float) -> None:
        if self._seen % self._stride == 0:
            self.samples.append(value)
            if len(self.samples) > _MOST_VALUES:
                self.samples = self.samples[::2]
                self._stride *= 2
        self._seen += 1


def _collect(
    bag: Bag,
    tried: Sequence[Candidate],
    collected: Sequence[_Values],
    namespace: str,
    tell: Callable[[int], None],
) -> None:
    """Replay a bag with all candidates as signals."""
    config = SituationConfig(
        tick_period_s=TICK_S,
        window_length=1,
        signals=tuple(candidate.signal for candidate in tried),
        events=EventConfig(diagnostics_topic=''),
    )
    try:
        replay = situations_of(bag, config, namespace=namespace)
    except BagError:  # of several bags this one has none of the topics
        return
    for situation in replay:
        for reading, values in zip(situation.readings, collected, strict=True):
            # A sample that is held for lack of messages is not another one.
            if math.isfinite(reading.value) and reading.age_s < TICK_S:
                values.add(reading.value)
        tell(replay.played)
    for candidate, values in zip(tried, collected, strict=True):
        counts = replay.counters.signals[candidate.signal.name]
        values.usable += counts.usable
        values.invalid += counts.invalid


def _better(candidate: Candidate, values: _Values, measured: TopicTimes | None) -> Candidate:
    """Correct what the values themselves show to be wrong."""
    signal, note = candidate.signal, candidate.note
    if signal.over_time == 'std' and measured is not None and measured.rate_hz * TICK_S < 2.0:
        signal = dataclasses.replace(signal, over_time='mean')
        note = 'Too few messages for how much it varies in a tick: its level counts.'
    samples = np.array(values.samples, np.float64)
    if set(samples[samples < 0.0].tolist()) == {-1.0} and (samples > 0.0).any():
        signal = dataclasses.replace(signal, sentinels=(*signal.sentinels, -1.0))
        note = f'{note} -1 seems to mean that there is no value.'.strip()
    return dataclasses.replace(candidate, signal=signal, note=note)


def _judged(candidate: Candidate, values: _Values, measured: TopicTimes | None) -> Proposed:
    """Find a range, and say what is odd about the values."""
    measured = measured or TopicTimes()
    samples = np.array(values.samples, np.float64)
    signal = candidate.signal
    notes = [candidate.note] if candidate.note else []
    usable = bool(len(samples))
    if not usable:
        notes.append('Always NaN, empty or invalid in this bag.')
    elif values.invalid:
        share = values.invalid / (values.invalid + values.usable)
        notes.append(f'{share:.1%} of its messages hold no usable value.')
    if usable and candidate.zero_is_unset and not samples.any():
        usable = False
        notes.append('Always 0.0 in this bag: the driver does not set it.')
    seen = (float(samples.min()), float(samples.max())) if len(samples) else None
    if seen is not None and usable:
        signal, note = _with_range(signal, samples)
        notes += [note] if note else []
    return Proposed(
        signal, measured.messages, measured.rate_hz, len(samples), seen, tuple(notes), usable
    )


def _with_range(signal: SignalConfig, samples: NDArray[np.float64]) -> tuple[SignalConfig, str]:
    # Late: the policy's room loads a library that reading bags does not need.
    from thinking_policy.policy.nominal import HIGH_QUANTILE, LOW_QUANTILE, MARGIN, rounded

    low, high = (float(q) for q in np.quantile(samples, (LOW_QUANTILE, HIGH_QUANTILE)))
    width = high - low
    scale = max(abs(low), abs(high))
    if width <= 1e-6 * scale or width == 0.0:
        half = max(0.1 * scale, 0.5)
        at = rounded(low, half)
        note = f'It does not vary from {low:.6g} in this bag: the range is a guess.'
        low, high = rounded(at - half, half), rounded(at + half, half)
    else:
        few = len(samples) < _FEW_VALUES
        note = f'{len(samples)} values say little about a range.' if few else ''
        low, high = rounded(low - MARGIN * width, width), rounded(high + MARGIN * width, width)
        if samples.min() >= 0.0 > low:  # a quantity that is never negative
            low = 0.0
        if signal.unit == 'share' and samples.max() <= 1.0:
            high = min(high, 1.0)
    return dataclasses.replace(signal, nominal_low=low, nominal_high=high), note


def _in_bag(topic: str, namespace: str) -> str:
    return f'/{namespace.strip("/")}/{topic}' if namespace.strip('/') else topic


def _kinds(topics: Iterable[BagTopic], odd: Sequence[str]) -> str:
    counts: Counter[str] = Counter()
    for topic in topics:
        unknown = '' if topic.message_type else ', a type that is not known here'
        counts[f'{topic.type or "no type"}{unknown}'] += topic.count
    kinds = [f'{kind} ({count:,})' for kind, count in counts.most_common(6) if count]
    if kinds:
        return ', '.join(kinds)
    why = '; '.join(odd[:3])
    return f'no messages that can be read{f": {why}" if why else ""}'
