# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From which probability on an activity counts as called for, chosen on validation data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.activities import ThinkingActivity
from thinking_policy.training.metrics import confusion

# Whether an activity (its index) with an on- and an off-threshold is quiet enough.
Quiet = Callable[[int, float, float], bool]

_CANDIDATES = np.round(np.arange(0.05, 0.951, 0.01), 2)
_GAP = 0.1
_SMALLEST_OFF = 0.2
# Share of rows in which a due activity may fall below its off-threshold.
_INTERRUPTED = 0.02
# F1 that differ by less are taken for equal.
_EQUAL = 2e-3


def choose_thresholds(
    activities: Sequence[ThinkingActivity],
    probability: NDArray[np.float32],
    labels: NDArray[np.float32],
    weight: NDArray[np.float32],
    *,
    largest_false: float = 1.0,
    quiet: Quiet | None = None,
) -> tuple[ThinkingActivity, ...]:
    """Choose on- and off-thresholds.

    On: the best F1 among those that are quiet enough, and not below what the activity list asks
    for; the lowest such one where none is better. Off: so low that a due activity is seldom
    interrupted.

    Args:
        activities: G, with the least on-thresholds.
        probability: [N, G] of validation rows, never of those that figures are reported of.
        labels: [N, G], due from 0.5 on.
        weight: [N, G], left out where 0.
        largest_false: Share of the rows without need in which an activity may be active.
        quiet: A further condition, which a higher on-threshold makes easier to meet.
    """
    chosen = []
    for index, activity in enumerate(activities):
        sure = weight[:, index] > 0
        p, due = probability[sure, index], labels[sure, index] >= 0.5
        candidates = _CANDIDATES[activity.threshold < _CANDIDATES]
        candidates = np.array([activity.threshold, *candidates])
        counts = confusion(
            p[:, None] >= candidates.astype(p.dtype), due[:, None].repeat(len(candidates), 1)
        )
        share = counts.false / np.maximum(1, counts.false + counts.left_out)
        first = int(np.argmax(share <= largest_false)) if (share <= largest_false).any() else -1
        if quiet is not None and first >= 0:
            first = _first_quiet(quiet, index, candidates, p[due], first)
        f1 = np.array([score.f1 for score in counts.scores()])
        on = float(candidates[first:][_best(f1[first:])])
        chosen.append(
            dataclasses.replace(activity, threshold=on, threshold_off=off_threshold(on, p[due]))
        )
    return tuple(chosen)


def off_threshold(on: float, due: NDArray[Any]) -> float:
    """Return the off-threshold for an on-threshold and the probabilities of due rows."""
    low = float(np.quantile(due, _INTERRUPTED)) if len(due) else 0.0
    return max(0.0, round(min(max(low, _SMALLEST_OFF), on - _GAP), 2))


def _first_quiet(
    quiet: Quiet, index: int, candidates: NDArray[Any], due: NDArray[Any], first: int
) -> int:
    """Return the place of the lowest on-threshold that is quiet; the last one if none is."""
    low, high = first, len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        on = float(candidates[middle])
        if quiet(index, on, off_threshold(on, due)):
            high = middle
        else:
            low = middle + 1
    return low


def _best(f1: NDArray[Any]) -> int:
    """Return the lowest candidate if none is better, else the middle of the best ones.

    The middle of the longest stretch: its ends are where the next row may tip it.
    """
    good = np.flatnonzero(f1 >= f1.max() - _EQUAL)
    if good[0] == 0:
        return 0
    stretches = np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)
    longest = max(stretches, key=len)
    return int(longest[(len(longest) - 1) // 2])
