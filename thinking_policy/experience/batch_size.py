# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How much goes in one request, by how the last ones went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class BatchSize:
    """Halved where it fails, doubled where it goes well twice in a row.

    So one bad record among many is found in steps that each get through, even where the server
    allows few requests at a time.

    Attributes:
        most_lines: Never more.
        bytes: Of a body; what the server has said, if that is less than what was configured.
        lines: As it stands.
        went_well_before: Whether the last one did, at this size.
    """

    most_lines: int
    bytes: int
    lines: int = 0
    went_well_before: bool = False

    def __post_init__(self) -> None:
        """Begin with as much as is allowed."""
        self.lines = self.most_lines

    def smaller(self, sent: int) -> None:
        """Send half of what was sent."""
        self.lines, self.went_well_before = max(1, sent // 2), False

    def went_well(self) -> None:
        """Note that a request got through."""
        if self.went_well_before:
            self.lines = min(2 * self.lines, self.most_lines)
        self.went_well_before = not self.went_well_before
