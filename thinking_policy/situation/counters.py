# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that came, and everything that was left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class TopicCounts:
    """Messages of one topic.

    received = used + broken + late + future + overflow + jumped + empty + unbound + pending.

    Attributes:
        received: Handed to the tracker.
        used: Took part in a tick.
        broken: The bytes do not hold what the type promises.
        late: Header time in a tick that was closed already.
        future: Stamp further ahead of the clock than a clock jump.
        overflow: More waiting for a tick than may wait.
        jumped: Were waiting when the clock jumped.
        empty: Texts without a character on an event topic.
        unbound: Came before the type was known.
        pending: Wait for their tick.
        unstamped: Header time was asked for, but is 0 or not in the type; the receive time
            counted. No drop: these are in the counts above too.
    """

    received: int = 0
    used: int = 0
    broken: int = 0
    late: int = 0
    future: int = 0
    overflow: int = 0
    jumped: int = 0
    empty: int = 0
    unbound: int = 0
    pending: int = 0
    unstamped: int = 0


@dataclass
class SignalCounts:
    """Messages of one signal: with a usable value, and without (NaN, sentinel, out of range)."""

    usable: int = 0
    invalid: int = 0


@dataclass
class Counters:
    """All counts of a tracker, from its start on.

    Attributes:
        topics: By topic, as configured.
        signals: By signal.
        unknown_topic: Messages of topics that nobody asked for.
        ticks: Situations made.
        jumps_back: Times the clock went back.
        jumps_forward: Times the clock went too far ahead at once.
        episodes: By what began them.
        events: By kind.
        events_surplus: Events left out because one tick brought more than can be published.
        unknown_level: Diagnostic statuses with a level that does not exist.
        codes_forgotten: Dropped from the full table of last occurrences.
        names_forgotten: Diagnostic names dropped from the full table of levels.
    """

    topics: Mapping[str, TopicCounts] = field(default_factory=dict)
    signals: Mapping[str, SignalCounts] = field(default_factory=dict)
    unknown_topic: int = 0
    ticks: int = 0
    jumps_back: int = 0
    jumps_forward: int = 0
    episodes: dict[str, int] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    events_surplus: int = 0
    unknown_level: int = 0
    codes_forgotten: int = 0
    names_forgotten: int = 0
