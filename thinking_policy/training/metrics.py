# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Figures from probabilities and labels; numpy only.

Everywhere: probability float [N, G]; labels [N, G], due from 0.5 on; weight [N, G], left out
where 0; `on` a threshold, or [G]. A bool array in place of the probability says what is active.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
BINS = 15


@dataclass(frozen=True)
class Scores:
    """Precision, recall and their harmonic mean; each 1 where there is nothing to be wrong in."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Confusion:
    """How often each activity was found, falsely named, missed and rightly left out, int64 [G]."""

    found: NDArray[np.int64]
    false: NDArray[np.int64]
    missed: NDArray[np.int64]
    left_out: NDArray[np.int64]

    def scores(self) -> tuple[Scores, ...]:
        """Return the scores of each activity."""
        columns = (self.found, self.false, self.missed)
        return tuple(_scores(*(int(n) for n in row)) for row in zip(*columns, strict=True))

    def micro(self) -> Scores:
        """Return the scores over all activities together."""
        return _scores(*(int(column.sum()) for column in (self.found, self.false, self.missed)))


def confusion(
    probability: Array, labels: Array, weight: Array | None = None, on: ArrayLike = 0.5
) -> Confusion:
    """Count what was found, falsely named, missed and rightly left out."""
    active = probability
    if probability.dtype != np.bool_:
        # As the robot compares: in the probabilities' own type, where 0.7 reaches 0.7.
        active = probability >= np.asarray(on, probability.dtype)
    due = labels >= 0.5
    sure = np.ones(due.shape, np.bool_) if weight is None else weight > 0
    columns = (active & due, active & ~due, ~active & due, ~active & ~due)
    return Confusion(*((column & sure).sum(axis=0) for column in columns))


def micro(
    probability: Array, labels: Array, weight: Array | None = None, on: ArrayLike = 0.5
) -> Scores:
    """Return micro-averaged scores: every row and activity counts alike."""
    return confusion(probability, labels, weight, on).micro()


def per_activity(
    probability: Array, labels: Array, weight: Array | None = None, on: ArrayLike = 0.5
) -> tuple[Scores, ...]:
    """Return the scores of each of the G activities."""
    return confusion(probability, labels, weight, on).scores()


def false_activation(
    probability: Array, labels: Array, weight: Array | None = None, on: ArrayLike = 0.5
) -> NDArray[np.float64]:
    """Return the share of rows without need in which each activity is active, [G]."""
    counts = confusion(probability, labels, weight, on)
    return np.asarray(counts.false / np.maximum(1, counts.false + counts.left_out))


def expected_calibration_error(
    probability: Array, labels: Array, weight: Array | None = None, bins: int = BINS
) -> float:
    """Return how far probabilities are from frequencies, on average.

    All pairs of row and activity with weight are sorted by probability and cut into `bins` parts
    of equal number; the absolute differences of mean probability and share of due ones, weighted
    by the parts' sizes, are added up. Bins of equal number rather than width: most probabilities
    lie near 0 and 1, and bins between them would hold next to nothing.

    Args:
        probability: One activity ([N]) or several ([N, G]).
        labels: Likewise.
        weight: Likewise; None: all count.
        bins: Parts.
    """
    curve = reliability(probability, labels, weight, bins)
    if not curve.size:
        return 0.0
    said, due, count = curve
    return float((np.abs(said - due) * count).sum() / count.sum())


def reliability(
    probability: Array, labels: Array, weight: Array | None = None, bins: int = BINS
) -> NDArray[np.float64]:
    """Return mean probability, share of due ones and number in each bin, [3, bins or fewer]."""
    sure = slice(None) if weight is None else weight > 0
    said, due = np.ravel(probability[sure]), np.ravel(labels[sure])
    # Pairs of one probability share what is due, or the order of rows would decide on the bins.
    _, level, count = np.unique(said, return_inverse=True, return_counts=True)
    due = (np.bincount(level, due, len(count)) / np.maximum(1, count))[level]
    order = np.argsort(said, kind='stable')
    parts = [part for part in np.array_split(order, bins) if len(part)]
    columns = [
        (said[part].mean(dtype=np.float64), due[part].mean(dtype=np.float64), len(part))
        for part in parts
    ]
    return np.array(columns, np.float64).reshape(-1, 3).T


def _scores(found: int, false: int, missed: int) -> Scores:
    return Scores(
        found / (found + false) if found + false else 1.0,
        found / (found + missed) if found + missed else 1.0,
        2 * found / (2 * found + false + missed) if found + false + missed else 1.0,
    )
