# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How long to wait between attempts, as it is configured."""

from __future__ import annotations

from dataclasses import dataclass

from thinking_policy.experience.errors import ExperienceError

LONGEST_RETRY_AFTER_S = 3600.0  # a server that asks for more is not believed


@dataclass(frozen=True)
class Pauses:
    """How long to wait between attempts.

    Attributes:
        first_s: At most, after the first failure; doubled with each further one. Seconds.
        longest_s: The cap; also the pause after a refusal that only a person can end. Seconds.
    """

    first_s: float = 1.0
    longest_s: float = 300.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ExperienceError: One is out of range.
        """
        if not 0.0 < self.first_s <= self.longest_s <= LONGEST_RETRY_AFTER_S:
            raise ExperienceError(
                f'pauses: expected 0 < first_s <= longest_s <= {LONGEST_RETRY_AFTER_S:g}, found '
                f'first_s {self.first_s:g} and longest_s {self.longest_s:g}'
            )
