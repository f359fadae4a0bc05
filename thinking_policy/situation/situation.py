# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is perceived at one tick: the frozen result that every other room reads."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class SignalState(enum.IntEnum):
    """How a signal stands; the numbers are those of `SignalStatus.msg`."""

    OK = 0
    STALE = 1
    INVALID = 2
    NEVER = 3


class EventKind(enum.IntEnum):
    """Where an event came from; the numbers are those of `SituationEvent.msg`."""

    LIMIT = 0
    DIAGNOSTIC = 1
    TOPIC = 2


@dataclass(frozen=True)
class Reading:
    """One signal at the end of a tick.

    `value` is the newest sample, in the signal's own unit, and NaN unless `state` is OK. `age_s`
    is that of the newest message, -1 where none came since the clock began or jumped. A signal
    whose first sampling period is under way is still NEVER, with an age.
    """

    name: str
    state: SignalState
    value: float
    age_s: float


@dataclass(frozen=True)
class Event:
    """Something that happened at one time; `value` as `SituationEvent.msg` says."""

    stamp_ns: int
    kind: EventKind
    code: str
    source: str
    value: float


@dataclass(frozen=True)
class Recalled:
    """The last occurrence of a code that has left the recent events, and how many there were."""

    event: Event
    count: int


@dataclass(frozen=True)
class Situation:
    """s_t of the paper (Eq. 2) at the end of one tick.

    Attributes:
        stamp_ns: End of the tick, nanoseconds on the clock in use.
        tick: Index on the tick grid, `stamp_ns / tick period`.
        episode: The stretch of experience this tick belongs to.
        period_s: Tick period in seconds.
        signals: F names in window order.
        window: float32 [T, F], oldest first, scaled so that the nominal range is 0…1, clipped
            to ±10, 0 where invalid. Never NaN.
        valid: bool [T, F].
        readings: F readings in window order.
        new_events: Events that this tick brought, oldest first.
        events: The last E events of the episode, newest last, `new_events` included.
        recalled: Last occurrence of known codes that are not in `events`, oldest first; none is
            later than `stamp_ns`.
    """

    stamp_ns: int
    tick: int
    episode: str
    period_s: float
    signals: tuple[str, ...]
    window: NDArray[np.float32]
    valid: NDArray[np.bool_]
    readings: tuple[Reading, ...]
    new_events: tuple[Event, ...]
    events: tuple[Event, ...]
    recalled: tuple[Recalled, ...]
