# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Whether something holds at each tick: yes, no, or not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling.recording import Recording

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """Whether something holds: `yes` and `known` [N]; yes only where known."""

    yes: Flags
    known: Flags

    @property
    def no(self) -> Flags:
        """Where it surely doesn't hold."""
        return self.known & ~self.yes


def held(truth: Truth, recording: Recording, seconds: float) -> Truth:
    """Return where something has been so for some seconds, up to each tick."""
    if seconds <= 0:
        return truth
    yes, known = np.zeros_like(truth.yes), np.zeros_like(truth.yes)
    span = round(seconds * 1e9)
    for stretch in recording.stretches:
        stamps = recording.stamp_ns[stretch]
        otherwise = newest(stamps, ~truth.yes[stretch])
        denied = newest(stamps, truth.no[stretch])
        first = np.searchsorted(stamps, otherwise, side='right')  # of the run of yes
        run = truth.yes[stretch] & (stamps - stamps[np.minimum(first, len(stamps) - 1)] >= span)
        yes[stretch] = run
        known[stretch] = run | (stamps - denied <= span)
    return Truth(yes, known | truth.no)


def newest(stamps: NDArray[np.int64], flags: Flags) -> NDArray[np.int64]:
    """Return for each row the stamp of the newest flag up to it; long ago for none."""
    never = np.int64(stamps[0] - 2**61)
    return np.asarray(np.maximum.accumulate(np.where(flags, stamps, never)), np.int64)
