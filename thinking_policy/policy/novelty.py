# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How far a situation is from what is normal for this robot."""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation import SignalConfig, SituationConfig

# Novelty above this is unusual. A calibration scales its spreads so that this is where healthy
# windows pass with the false-alarm rate asked for: the number is the same on every robot.
NOVELTY_THRESHOLD = 3.0
# On the scaled axis. A signal that hardly moves while healthy would make every tick novel.
SMALLEST_SPREAD = 0.02
# The ends of the nominal range are two spreads from its middle.
DEFAULT_MEAN, DEFAULT_SPREAD = 0.5, 0.25


@dataclass(frozen=True)
class Baseline:
    """What is normal: where each signal's window mean lies, on the scaled axis.

    Attributes:
        signals: F names in window order.
        mean: F means of scaled window means.
        spread: F positive numbers: a window mean that is `NOVELTY_THRESHOLD` of them away from
            the mean is at the limit of what is normal.
    """

    signals: tuple[str, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]


def default_baseline(signals: Sequence[str]) -> Baseline:
    """Return the baseline of a robot of which only the nominal ranges are known.

    The middle of the range is normal, its ends are two spreads away.
    """
    count = len(signals)
    return Baseline(tuple(signals), (DEFAULT_MEAN,) * count, (DEFAULT_SPREAD,) * count)


def baseline_of(config: SituationConfig) -> Baseline:
    """Return the baseline that a robot's configuration states, in part by its nominal ranges.

    `baseline_mean` and `baseline_spread` of a signal are in its own unit, so that a nominal range
    may be changed without calibrating anew.
    """
    pairs = [_on_scaled_axis(signal) for signal in config.signals]
    return Baseline(config.names, tuple(mean for mean, _ in pairs), tuple(s for _, s in pairs))


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
        The largest distance in spreads, 0 or more; 0 where no signal can be judged.
    """
    needed = 0.5 * length
    largest = 0.0
    for total, count, mean, spread in zip(
        sums, counts, baseline.mean, baseline.spread, strict=True
    ):
        if count >= needed:
            distance = abs(total / count - mean) / spread
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
    # Summed as the runtime does, so that both give the same number.
    sums = np.where(valid, window, np.float32(0.0)).sum(axis=0, dtype=np.float32)
    return novelty_from_sums(sums.tolist(), valid.sum(axis=0).tolist(), baseline, window.shape[0])


class NoveltyHold:
    """Holds the largest novelty for one window's length, within an episode.

    What is unusual seldom ends with the first window that looks normal again, and a number that
    falls for a single tick would make whoever acts on it flicker.
    """

    def __init__(self, length: int) -> None:
        """Begin with nothing held.

        Args:
            length: For how many ticks a value is held; T, the samples of a window.
        """
        self._recent: collections.deque[float] = collections.deque(maxlen=length + 1)
        self._episode = ''

    def update(self, novelty: float, episode: str) -> float:
        """Take the novelty of the next tick and return the largest of the last ones.

        Args:
            novelty: Of this tick's window alone.
            episode: The tick's; another one forgets what was held.
        """
        if episode != self._episode:
            self._recent.clear()
            self._episode = episode
        self._recent.append(novelty)
        return max(self._recent)


def _on_scaled_axis(signal: SignalConfig) -> tuple[float, float]:
    if math.isnan(signal.baseline_mean):
        return DEFAULT_MEAN, DEFAULT_SPREAD
    width = signal.nominal_high - signal.nominal_low
    return (signal.baseline_mean - signal.nominal_low) / width, signal.baseline_spread / width
