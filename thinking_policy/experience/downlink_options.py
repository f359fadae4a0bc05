# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How policies are fetched, and how that stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.pauses import Pauses

DownlinkState = Literal['off', 'waiting', 'fetching', 'backing_off', 'refused']


@dataclass(frozen=True)
class DownlinkOptions:
    """How policies are fetched.

    Attributes:
        period_s: The server is asked so often, a tenth more or less; seconds.
        most_bytes: Of a policy; a larger one is refused.
        first_pause_s: At most so long after the first failure; doubled with each one, up to
            `period_s`. Seconds.
    """

    period_s: float = 60.0
    most_bytes: int = 32 << 20
    first_pause_s: float = 5.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ExperienceError: One is out of range.
        """
        for name, low, high in (
            ('period_s', 0.1, 3600.0),
            ('most_bytes', 1 << 10, 1 << 30),
            ('first_pause_s', 0.1, 3600.0),
        ):
            found = getattr(self, name)
            if not low <= found <= high:
                raise ExperienceError(f'{name}: expected {low:g} to {high:g}, found {found!r}')

    @property
    def pauses(self) -> Pauses:
        """Return the pauses after failures."""
        return Pauses(min(self.first_pause_s, self.period_s), self.period_s)


@dataclass(frozen=True)
class DownlinkStatus:
    """How the downlink stands.

    Attributes:
        state: `off`: no server is named. `waiting`: asked; asks again. `fetching`. `backing_off`:
            it failed and is tried again. `refused`: somebody has to change something.
        reason: Why; also what is missing while `waiting`.
        version: Of the policy that was fetched and runs; empty: none.
        previous: Of the one before, kept on the disk.
        refused_version: Of a policy that the robot refused; empty: none.
        refused_reason: Why it did.
        fetched: Policies since the start.
        last_success_ns: When the server last answered, nanoseconds since 1970; 0: not since the
            start.
        attempts: Failed in a row.
    """

    state: DownlinkState = 'waiting'
    reason: str = ''
    version: str = ''
    previous: str = ''
    refused_version: str = ''
    refused_reason: str = ''
    fetched: int = 0
    last_success_ns: int = 0
    attempts: int = 0
