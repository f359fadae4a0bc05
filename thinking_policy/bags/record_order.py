# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the clock of the recording machine was set back while a bag was recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thinking_policy.bags.reader import Bag

STEP_BACK_S = 0.1
"""Shorter steps back are how the threads of a recorder take turns."""

_TELL_EVERY = 500  # messages between two calls of `progress`


@dataclass(frozen=True)
class StepsBack:
    """Where the clock of the recording machine was set back.

    Attributes:
        count: How often a message has a record time earlier than the one written before it, by
            more than `STEP_BACK_S`.
        furthest_s: The largest such step.
        at_ns: Record time before it.
    """

    count: int = 0
    furthest_s: float = 0.0
    at_ns: int = 0


def steps_back(bag: Bag, progress: Callable[[int], None] | None = None) -> StepsBack:
    """Go through the record times in the order in which they were written.

    Messages are read in order of record time elsewhere, where such a step is not to be seen.
    """
    count = furthest = at = 0
    before = -(2**63)
    least = round(STEP_BACK_S * 1e9)
    for number, stamp in enumerate(bag.record_times()):
        if before - stamp > least:
            count += 1
            if before - stamp > furthest:
                furthest, at = before - stamp, before
        before = stamp
        if progress is not None and number % _TELL_EVERY == 0:
            progress(number)
    return StepsBack(count, furthest / 1e9, at)
