# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Arranges signals that could be fed into a configuration that the bundled policy takes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.reader import BagTopic
from thinking_policy.bags.signal_rules import SEVEN, UNITS, Candidate
from thinking_policy.situation import EpisodeConfig, EventConfig, SignalConfig, SituationConfig
from thinking_policy.situation.requests import DIAGNOSTICS_TYPE

TICK_S = 0.5
"""Tick period that the bundled policy was trained with."""

_OUT_OF_PLACE = (
    'It stands here because nothing in the recordings is one of the seven by its meaning: the '
    'bundled policy takes it for load.'
)


@dataclass(frozen=True)
class Proposed:
    """One signal of a proposal.

    Attributes:
        signal: Its settings, with a nominal range.
        messages: Messages of its topic.
        rate_hz: Of its topic.
        values: How many samples the range was taken from.
        seen: Least and greatest sample; None without any.
        notes: What to know about it.
        usable: Whether it can be fed.
    """

    signal: SignalConfig
    messages: int
    rate_hz: float
    values: int
    seen: tuple[float, float] | None
    notes: tuple[str, ...]
    usable: bool


@dataclass(frozen=True)
class Proposal:
    """A configuration made from bags.

    Attributes:
        config: With the signals that it begins with.
        chosen: Those that are fed, by name.
        others: What else the bags could feed, or could not and why.
    """

    config: SituationConfig
    chosen: Mapping[str, Proposed]
    others: tuple[Proposed, ...]


def arranged(
    tried: Sequence[Candidate],
    judged: Sequence[Proposed],
    topics: Mapping[str, BagTopic],
    every_signal: bool,
) -> Proposal:
    """Give the seven signals their best source; the rest stands by, or follows if wanted.

    Args:
        tried: What topics could feed.
        judged: What came of each of them.
        topics: All topics, by name.
        every_signal: Whether the rest follows.

    Raises:
        BagError: Nothing can be fed.
    """
    order = sorted(range(len(tried)), key=lambda i: _preference(tried[i], judged[i]))
    slots: dict[str, int] = {}
    for index in order:
        slot = tried[index].slot
        if slot and judged[index].usable:
            slots.setdefault(slot, index)
    rest = [i for i in order if i not in slots.values()]
    spare = [i for i in rest if judged[i].usable]
    if not slots and not every_signal:
        judged = list(judged)
        for index in spare[:1]:  # the bundled policy has to run with something
            notes = (*judged[index].notes, _OUT_OF_PLACE)
            judged[index] = dataclasses.replace(judged[index], notes=notes)
            slots[SEVEN[-1]] = index
            rest.remove(index)
    if not slots and not spare:
        reasons = '; '.join(
            f'{p.signal.topic} {p.signal.field}: {p.notes[-1]}' for p in judged[:6]
        )
        raise BagError(f'no topic yields values: {reasons}')
    chosen = {name: _renamed(judged[slots[name]], name) for name in SEVEN if name in slots}
    if every_signal:
        for index in spare:
            chosen[_free_name(judged[index].signal.name, chosen)] = judged[index]
            rest.remove(index)
        chosen = {name: _renamed(proposed, name) for name, proposed in chosen.items()}
    config = _configured(chosen, topics, every_signal)
    return Proposal(
        config,
        {s.name: dataclasses.replace(chosen[s.name], signal=s) for s in config.signals if s.topic},
        tuple(judged[index] for index in rest),
    )


def _preference(candidate: Candidate, judged: Proposed) -> tuple[object, ...]:
    varies = judged.seen is not None and judged.seen[0] < judged.seen[1]
    topic = candidate.signal.topic
    named = bool(candidate.slot) and candidate.slot in topic
    return (not varies, candidate.rank, not named, -judged.messages, len(topic), topic)


def _renamed(proposed: Proposed, name: str) -> Proposed:
    return dataclasses.replace(proposed, signal=dataclasses.replace(proposed.signal, name=name))


def _free_name(name: str, taken: Mapping[str, Proposed]) -> str:
    if name not in taken:
        return name
    return next(f'{name}_{i}' for i in range(2, len(taken) + 3) if f'{name}_{i}' not in taken)


def _configured(
    chosen: Mapping[str, Proposed], topics: Mapping[str, BagTopic], every_signal: bool
) -> SituationConfig:
    """Put the signals on a grid that fits their rates."""
    periods = {name: 1.0 / p.rate_hz if p.rate_hz > 0 else 0.0 for name, p in chosen.items()}
    shortest = min((period for period in periods.values() if period), default=TICK_S)
    tick_s = TICK_S if shortest <= 1.5 * TICK_S else _round(shortest)
    names = tuple(chosen) if every_signal else SEVEN
    signals = tuple(
        _on_grid(chosen[name].signal, periods[name], tick_s)
        if name in chosen
        else SignalConfig(name=name, unit=UNITS[name])
        for name in names
    )
    diagnostics = [t.name for t in topics.values() if t.type == DIAGNOSTICS_TYPE and t.count]
    idle_s = max(60.0, 10.0 * _round(max(periods.values())))
    return SituationConfig(
        tick_period_s=tick_s,
        signals=signals,
        events=EventConfig(diagnostics_topic=min(diagnostics, key=len, default='')),
        episode=EpisodeConfig(idle_gap_s=idle_s, max_length_s=max(3600.0, 10.0 * idle_s)),
    )


def _on_grid(signal: SignalConfig, period_s: float, tick_s: float) -> SignalConfig:
    ticks = min(100_000, max(1, round(period_s / tick_s)))
    stale_s = max(2.0, 2.0 * tick_s, float(math.ceil(5.0 * period_s)))
    return dataclasses.replace(signal, period_ticks=ticks, stale_s=stale_s)


def _round(seconds: float) -> float:
    """Return a period that people write: to a tenth below ten seconds, else whole."""
    return min(3600.0, round(seconds, 1) if seconds < 10.0 else float(round(seconds)))
