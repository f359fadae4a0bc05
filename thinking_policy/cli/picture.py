# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is known about a running policy at one moment: all that the live view shows."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass

OK, STALE, INVALID, NEVER = range(4)
STATE_NAMES = ('ok', 'stale', 'invalid', 'never')


@dataclass(frozen=True)
class SignalPicture:
    """One signal; `history` is its column of the window, 0…1 over the nominal range.

    `state` is one of SignalStatus.msg, `value` is NaN unless OK, `age_s` is -1 where nothing
    ever came, and invalid samples of the history are NaN.
    """

    name: str
    state: int
    value: float
    age_s: float
    unit: str = ''
    history: tuple[float, ...] = ()


@dataclass(frozen=True)
class ActivityPicture:
    """One thinking activity; title and directive come from the taxonomy, when it was heard."""

    id: str
    probability: float
    threshold: float
    active: bool
    title: str = ''
    directive: str = ''

    @property
    def name(self) -> str:
        """The title, or the id in words."""
        return self.title or self.id.replace('_', ' ')


@dataclass(frozen=True)
class EventPicture:
    """One recent event; `value` is NaN where the event has none."""

    code: str
    value: float
    age_s: float


@dataclass(frozen=True)
class Picture:
    """One moment of one policy node; times in seconds, `stamp_s` since 1970."""

    topic: str
    stamp_s: float
    tick: int
    episode: str
    policy_version: str
    inference_time_s: float
    novelty: float
    novelty_threshold: float
    valid_fraction: float
    silent_s: float
    signals: tuple[SignalPicture, ...]
    activities: tuple[ActivityPicture, ...]
    events: tuple[EventPicture, ...] = ()
    phase: str = ''

    @property
    def active(self) -> tuple[ActivityPicture, ...]:
        """The activities that are active, in the policy's order."""
        return tuple(activity for activity in self.activities if activity.active)


@dataclass(frozen=True)
class Silence:
    """Nothing was heard yet: where was listened, for how long, and what is there instead."""

    topic: str
    waited_s: float
    domain: str
    publishers: int
    elsewhere: tuple[str, ...] = ()
    started_here: bool = False


def number(value: float) -> str:
    """Return a measured value in at most seven characters; `–` for NaN."""
    if not math.isfinite(value):
        return '–'
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        digits = 3 if 0 < abs(value) < 1 else max(0, 3 - len(str(int(abs(value)))))
        return f'{value:.{digits}f}'
    return f'{value:.1e}'


def duration(seconds: float) -> str:
    """Return a time span in at most four characters; `–` for a negative one (never)."""
    if seconds < 0 or not math.isfinite(seconds):
        return '–'
    for limit, divisor, unit, digits in (
        (9.95, 1, 's', 1),
        (99.5, 1, 's', 0),
        (5970, 60, 'm', 0),
        (356400, 3600, 'h', 0),
    ):
        if seconds < limit:
            return f'{seconds / divisor:.{digits}f}{unit}'
    return f'{seconds / 86400:.0f}d'


def moment(stamp_s: float) -> str:
    """Return date and time in UTC, to the second."""
    if not math.isfinite(stamp_s):
        return '–'
    when = datetime.datetime.fromtimestamp(stamp_s, datetime.timezone.utc)
    return when.strftime('%Y-%m-%d %H:%M:%S')
