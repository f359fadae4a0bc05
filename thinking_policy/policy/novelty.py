# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How far a situation is from what is normal for this robot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.errors import PolicyError

NOVELTY_THRESHOLD = 3.0
# A signal that hardly moves while healthy would make every tick novel.
SMALLEST_STD = 0.02


@dataclass(frozen=True)
class Baseline:
    """What is normal: mean and spread of each signal's window mean, on the scaled axis.

    Attributes:
        signals: F names in window order.
        mean: F means of scaled window means.
        std: F standard deviations, each at least `SMALLEST_STD`.
    """

    signals: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry."""
        return {'signals': list(self.signals), 'mean': list(self.mean), 'std': list(self.std)}


def default_baseline(signals: Sequence[str]) -> Baseline:
    """Return the baseline of a robot of which only the nominal ranges are known.

    The middle of the range is normal, its ends are two standard deviations away.
    """
    return Baseline(tuple(signals), (0.5,) * len(signals), (0.25,) * len(signals))


def fit_baseline(
    windows: NDArray[np.float32], valid: NDArray[np.bool_], signals: Sequence[str]
) -> Baseline:
    """Learn a baseline from windows of a healthy robot.

    Temperatures drift, and will go on drifting: how far a signal's mean moved between the two
    halves of the stretch is added to its spread.

    Args:
        windows: float32 [N, T, F] in order of time, 0 where invalid.
        valid: bool [N, T, F].
        signals: F names in window order.

    Returns:
        The baseline; signals with fewer than two usable windows keep the default.

    Raises:
        PolicyError: Shapes that don't fit together.
    """
    if windows.ndim != 3 or windows.shape != valid.shape or windows.shape[2] != len(signals):
        raise PolicyError(
            f'baseline: expected windows and valid [N, T, {len(signals)}], found '
            f'{windows.shape} and {valid.shape}'
        )
    counts = valid.sum(axis=1)
    sums = np.where(valid, windows, 0.0).sum(axis=1, dtype=np.float64)
    usable = counts * 2 >= windows.shape[1]
    default = default_baseline(signals)
    mean, std = list(default.mean), list(default.std)
    for index in range(len(signals)):
        rows = usable[:, index]
        if rows.sum() >= 2:
            means = sums[rows, index] / counts[rows, index]
            mean[index] = float(means.mean())
            half = len(means) // 2
            drift = abs(float(means[:half].mean() - means[half:].mean()))
            std[index] = max(float(means.std(ddof=1)) + drift, SMALLEST_STD)
    return Baseline(tuple(signals), tuple(mean), tuple(std))


def baseline_from_dict(values: Mapping[str, Any], signals: Sequence[str], source: str) -> Baseline:
    """Return a baseline that was stored with `to_dict`.

    Args:
        values: What was stored.
        signals: F names that it must be for, in window order.
        source: File named in errors.

    Raises:
        PolicyError: It is for other signals, or holds no usable numbers.
    """
    names = values.get('signals')
    if names != list(signals):
        raise PolicyError(
            f'{source}: the baseline is for signals {names}, expected {list(signals)}'
        )
    columns = []
    for key in ('mean', 'std'):
        column = values.get(key)
        if (
            not isinstance(column, list)
            or len(column) != len(signals)
            or not all(isinstance(v, (int, float)) and math.isfinite(v) for v in column)
        ):
            raise PolicyError(
                f'{source}: {key}: expected {len(signals)} finite numbers, found {column!r}'
            )
        columns.append(tuple(float(v) for v in column))
    mean, std = columns
    return Baseline(tuple(signals), mean, tuple(max(v, SMALLEST_STD) for v in std))


def novelty_from_sums(
    sums: Sequence[float], counts: Sequence[float], baseline: Baseline, length: int
) -> float:
    """Return the largest distance of a signal's window mean from its baseline.

    Plain Python: for the few signals of a robot it is faster than five array operations.

    Args:
        sums: F sums over the window's valid samples.
        counts: F numbers of valid samples.
        baseline: What is normal.
        length: T. A signal with fewer than T/2 valid samples is left out.

    Returns:
        max |z| over the signals, 0 or more; 0 where no signal can be judged.
    """
    needed = 0.5 * length
    largest = 0.0
    for total, count, mean, std in zip(sums, counts, baseline.mean, baseline.std, strict=True):
        if count >= needed:
            distance = abs(total / count - mean) / std
            if distance > largest:
                largest = distance
    return largest


def novelty(window: NDArray[np.float32], valid: NDArray[np.bool_], baseline: Baseline) -> float:
    """Return the novelty of one window.

    Args:
        window: float32 [T, F], 0 where invalid.
        valid: bool [T, F].
        baseline: What is normal.
    """
    sums = np.where(valid, window, 0.0).sum(axis=0, dtype=np.float64)
    return novelty_from_sums(sums.tolist(), valid.sum(axis=0).tolist(), baseline, window.shape[0])
