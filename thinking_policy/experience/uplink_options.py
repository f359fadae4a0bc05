# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How experiences are sent, and how that stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.pauses import Pauses

MOST_RECORDS = 5000  # the server takes 10,000 lines at once

UplinkState = Literal['off', 'waiting', 'sending', 'backing_off', 'refused']


@dataclass(frozen=True)
class UplinkOptions:
    """How experiences are sent.

    Attributes:
        most_records: In one request.
        most_bytes: Of a request, before it is packed; a larger record goes alone.
        period_s: How often to look for new experiences when all are sent; seconds.
        first_pause_s: At most so long after the first failure; doubled with each one. Seconds.
        longest_pause_s: Never longer, unless the server asks for it; seconds.
    """

    most_records: int = 500
    most_bytes: int = 1 << 20
    period_s: float = 10.0
    first_pause_s: float = 1.0
    longest_pause_s: float = 300.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ExperienceError: One is out of range.
        """
        for name, low, high in (
            ('most_records', 1, MOST_RECORDS),
            ('most_bytes', 1 << 14, 16 << 20),
            ('period_s', 0.1, 86_400.0),
        ):
            found = getattr(self, name)
            if not low <= found <= high:
                raise ExperienceError(f'{name}: expected {low:g} to {high:g}, found {found!r}')
        _ = self.pauses

    @property
    def pauses(self) -> Pauses:
        """Return the pauses; raises an ExperienceError where they make no sense."""
        return Pauses(self.first_pause_s, self.longest_pause_s)


@dataclass(frozen=True)
class UplinkStatus:
    """How the uplink stands.

    Attributes:
        state: `off`: no server is named. `waiting`: all is sent. `sending`. `backing_off`: it
            failed and is tried again. `refused`: somebody has to change something; tried again
            all the same.
        reason: Why, for the last two and `off`.
        last_success_ns: When the server last committed something, nanoseconds since 1970; 0: not
            since the start.
        batches: Requests since the start that the server committed.
        sent: Records since the start that it has committed.
        known: Of these, records that it had already: an answer had been lost.
        quarantined: Records since the start that it will never take.
        pending: About how many records wait; -1: not known yet.
        attempts: Failed in a row, over restarts.
        next_attempt_ns: When it is tried again, nanoseconds since 1970; 0: nothing failed.
    """

    state: UplinkState = 'waiting'
    reason: str = ''
    last_success_ns: int = 0
    batches: int = 0
    sent: int = 0
    known: int = 0
    quarantined: int = 0
    pending: int = -1
    attempts: int = 0
    next_attempt_ns: int = 0
