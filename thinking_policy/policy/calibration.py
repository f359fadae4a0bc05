# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Learns what is normal for one robot from a stretch of time in which it was.

Three things decide how far from its mean a signal's window mean may lie:

- its spread over the stretch, the standard deviation of window means;
- whether it wanders. A temperature hardly changes within a window but drifts from one to the
  next, and will go on to where it has not been yet. So the spread is divided by the share of the
  signal's variance that lies within windows: about 0.9 for noise, which leaves it, and next to 0
  for what wanders, which is then hardly judged by its level at all. No signal is named for that;
- the false-alarm rate that is asked for. Each quarter of the stretch is judged by what the other
  three say is normal. The largest novelty in each of the windows that do not overlap follows a
  Gumbel distribution; the limit is its quantile. Spreads are scaled so that this limit is
  `NOVELTY_THRESHOLD`.

Windows beyond the limit, with their neighbours, are left out and the rest is learned from again,
since a stretch is seldom normal throughout.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.errors import PolicyError
from thinking_policy.policy.nominal import rounded
from thinking_policy.policy.novelty import NOVELTY_THRESHOLD, SMALLEST_SPREAD
from thinking_policy.situation import SituationConfig
from thinking_policy.situation.window import CLIP

Float64s = NDArray[np.float64]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Of the windows that do not overlap.
FALSE_ALARMS = 0.005
# Fewer windows that do not overlap say too little of how far the largest of them goes.
FEWEST_WINDOWS = 20

# So that a signal that only ever steps between windows has a spread that can be written down.
_SMALLEST_SHARE = 1e-3
_FOLDS = 4
_PASSES = 3
# Times the limit: what lies just beyond it is more likely drift, which belongs to what is normal.
_CLEARLY = 1.25
_NORMAL_QUARTILE = 0.6744897502  # in standard deviations
_EULER = 0.5772156649  # mean of the standard Gumbel distribution
_GUMBEL_SD = math.pi / math.sqrt(6.0)
_GUMBEL_MEDIAN = -math.log(math.log(2.0))
_GUMBEL_QUARTILES = math.log(math.log(4.0)) - math.log(math.log(4.0 / 3.0))  # between the two


@dataclass(frozen=True)
class Calibration:
    """What is normal for one robot, in each signal's own unit.

    Attributes:
        signals: F names in window order.
        mean: F means of window means, NaN where the signal could not be judged.
        spread: F spreads, scaled to the false-alarm rate; NaN as above.
        windows: F numbers of windows that each signal was judged by.
        problems: Why a signal could not be judged, by name.
        kept: Share of the windows that counted as normal, 0...1.
        false_alarms: The rate asked for, of windows that do not overlap.
    """

    signals: tuple[str, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    windows: tuple[int, ...]
    problems: Mapping[str, str]
    kept: float
    false_alarms: float


def fewest_ticks(config: SituationConfig) -> int:
    """Return how many ticks a stretch must have to learn from."""
    return FEWEST_WINDOWS * config.window_length


def with_baseline(config: SituationConfig, calibration: Calibration) -> SituationConfig:
    """Return a configuration that states the baseline.

    A signal that could not be judged goes back to its nominal range.
    """
    signals = tuple(
        dataclasses.replace(signal, baseline_mean=mean, baseline_spread=spread)
        for signal, mean, spread in zip(
            config.signals, calibration.mean, calibration.spread, strict=True
        )
    )
    return dataclasses.replace(config, signals=signals)


class HealthyStretch:
    """Collects the windows of a robot that works as it should; 16 bytes a signal and window."""

    def __init__(self, config: SituationConfig) -> None:
        """Begin with no windows; the nominal ranges of `config` say what their scale is."""
        self.config = config
        self._low = np.array([s.nominal_low for s in config.signals])
        self._width = np.array([s.nominal_high for s in config.signals]) - self._low
        self._means: list[Float64s] = []
        self._variances: list[Float64s] = []
        self._beyond = np.zeros(len(config.signals), np.int64)
        self.windows = 0

    def add(self, windows: NDArray[np.float32], valid: Bools) -> None:
        """Take the next windows.

        Args:
            windows: float32 [N, T, F] in order of time, one a tick, 0 where invalid.
            valid: bool [N, T, F].

        Raises:
            PolicyError: Another shape than the configuration has.
        """
        expected = (self.config.window_length, len(self.config.signals))
        if windows.ndim != 3 or windows.shape[1:] != expected or windows.shape != valid.shape:
            raise PolicyError(
                f'calibration: expected windows and valid [N, {expected[0]}, {expected[1]}], '
                f'found {windows.shape} and {valid.shape}'
            )
        counts = valid.sum(axis=1)
        usable = 2 * counts >= expected[0]
        # Of a window that is cut off throughout nothing is known but the side.
        beyond = usable & ~np.any(valid & (np.abs(windows) < CLIP), axis=1)
        self._beyond += beyond.sum(axis=0)
        usable &= ~beyond
        samples = np.where(valid, windows, 0.0).astype(np.float64)
        mean = samples.sum(axis=1) / np.maximum(counts, 1)
        away = np.where(valid, samples - mean[:, None, :], 0.0)
        variance = (away * away).sum(axis=1) / np.maximum(counts, 1)
        self._means.append(np.where(usable, mean * self._width + self._low, np.nan))
        self._variances.append(np.where(usable, variance * self._width**2, np.nan))
        self.windows += len(windows)

    def calibrate(
        self, config: SituationConfig | None = None, false_alarms: float = FALSE_ALARMS
    ) -> Calibration:
        """Learn the baseline.

        Args:
            config: Nominal ranges that will hold from now on, which say how small a spread may
                be; None: those of the windows.
            false_alarms: Rate of false alarms, of windows that do not overlap; 0...1.

        Raises:
            PolicyError: Too few windows, or no signal that can be judged; the message says how
                many are needed, or what is the matter with each signal.
        """
        config = config or self.config
        needed = fewest_ticks(config)
        if self.windows < needed:
            raise PolicyError(
                f'the stretch is too short: {self.windows} ticks; at least {needed} are needed '
                f'({needed * config.tick_period_s:g} s, {FEWEST_WINDOWS} windows of '
                f'{config.window_length} ticks)'
            )
        means, variances = np.concatenate(self._means), np.concatenate(self._variances)
        problems = _problems(config, means, self._beyond, needed // 2)
        judged = np.array([name not in problems for name in config.names])
        if not judged.any():
            listed = '; '.join(f'{name}: {reason}' for name, reason in problems.items())
            raise PolicyError(f'no signal can be judged: {listed}')
        smallest = SMALLEST_SPREAD * np.array(
            [s.nominal_high - s.nominal_low for s in config.signals]
        )
        looks = _Looks(
            means[:, judged], variances[:, judged], smallest[judged], config.window_length
        )
        kept = looks.normal(false_alarms)
        limit = max(looks.limit(looks.judged(kept), kept, false_alarms), NOVELTY_THRESHOLD)
        mean, spread = (np.full(len(judged), np.nan) for _ in range(2))
        mean[judged], spread[judged] = looks.baseline(kept)
        spread *= limit / NOVELTY_THRESHOLD
        for name in np.array(config.names)[judged & ~np.isfinite(mean)].tolist():
            problems[name] = 'usable only in windows that do not look like the rest'
        return Calibration(
            config.names,
            tuple(rounded(m, s) for m, s in zip(mean.tolist(), spread.tolist(), strict=True)),
            tuple(rounded(s, s) for s in spread.tolist()),
            tuple(np.sum(np.isfinite(means) & kept[:, None], axis=0).tolist()),
            problems,
            float(kept.mean()),
            false_alarms,
        )


def _problems(
    config: SituationConfig, means: Float64s, beyond: Int64s, fewest: int
) -> dict[str, str]:
    """Return why signals can't be judged, by name."""
    problems = {}
    counts = np.isfinite(means).sum(axis=0).tolist()
    for signal, count, lost in zip(config.signals, counts, beyond.tolist(), strict=True):
        needed = fewest * signal.period_ticks  # for so many ticks its windows are alike
        if not signal.topic:
            problems[signal.name] = 'this robot has no such signal'
        elif count < needed and lost:
            problems[signal.name] = (
                f'in {lost} of {len(means)} windows all is more than {CLIP:g} times the nominal '
                f'range {signal.nominal_low:g} … {signal.nominal_high:g} away; give it another'
            )
        elif count < needed:
            slow = f', with a sample every {signal.period_ticks} ticks' if needed > fewest else ''
            problems[signal.name] = (
                f'usable in {count} of {len(means)} windows, at least {needed} are needed{slow}'
            )
    return problems


@dataclass(frozen=True)
class _Looks:
    """Mean and variance [N, F] of every window's samples, NaN where there are too few."""

    mean: Float64s
    variance: Float64s
    smallest: Float64s
    length: int

    def baseline(self, use: Bools, robust: bool = False) -> tuple[Float64s, Float64s]:
        """Return mean and spread [F] of the windows in use [N]; the spread is not scaled yet."""
        moments = _robust_moments if robust else _moments
        with np.errstate(all='ignore'):
            mean, between = moments(self.mean[use])
            within = moments(self.variance[use])[0]
            share = np.ones_like(within)
            if self.length > 1:  # a single sample doesn't vary within its window
                share = np.maximum(within / (within + between), _SMALLEST_SHARE)
            # Neither moves: the smallest spread stands for it.
            spread = np.where(between > 0.0, np.sqrt(between) / share, 0.0)
        return mean, np.maximum(spread, self.smallest)

    def judged(self, use: Bools, robust: bool = False) -> Float64s:
        """Return how far each window is from what the other parts of the stretch say, [N]."""
        count = len(self.mean)
        distance = np.full(count, np.nan)
        edges = np.linspace(0, count, _FOLDS + 1).astype(int)
        for start, end in itertools.pairwise(edges):
            others = use.copy()
            others[start:end] = False
            mean, spread = self.baseline(others, robust)
            away = np.abs(self.mean[start:end] - mean) / spread
            largest = np.where(np.isnan(away), -np.inf, away).max(axis=1)
            distance[start:end] = np.where(np.isfinite(largest), largest, np.nan)
        return distance

    def limit(
        self, distance: Float64s, use: Bools, false_alarms: float, robust: bool = False
    ) -> float:
        """Return the distance [N] that a window of a healthy robot passes at the given rate."""
        distance = np.where(use & ~np.isnan(distance), distance, -np.inf)
        blocks = len(distance) // self.length
        largest = distance[len(distance) - blocks * self.length :]
        largest = largest.reshape(blocks, self.length).max(axis=1)
        largest = largest[np.isfinite(largest)]
        if len(largest) < 2:
            return 0.0
        if robust:
            low, middle, high = np.quantile(largest, (0.25, 0.5, 0.75))
            scale = (high - low) / _GUMBEL_QUARTILES
            location = middle - scale * _GUMBEL_MEDIAN
        else:
            scale = largest.std(ddof=1) / _GUMBEL_SD
            location = largest.mean() - scale * _EULER
        return float(location - scale * math.log(-math.log1p(-false_alarms)))

    def normal(self, false_alarms: float) -> Bools:
        """Return which windows count, [N]; at least half of them always do."""
        use = np.ones(len(self.mean), np.bool_)
        for number in range(_PASSES):
            # By medians at first: what doesn't belong moves means and deviations with it.
            distance = self.judged(use, robust=number == 0)
            limit = self.limit(distance, use, false_alarms, robust=True)
            beyond = distance > _CLEARLY * limit
            # A window that shares samples with one that is left out is no better.
            reach = np.ones(2 * self.length + 1)
            left = ~(np.convolve(beyond, reach, 'same') > 0.5)
            if np.array_equal(left, use) or 2 * left.sum() < len(left):
                break
            use = left
        return use


def _moments(values: Float64s) -> tuple[Float64s, Float64s]:
    """Return mean and variance over the rows, of the numbers that are there; NaN for none."""
    counts = np.isfinite(values).sum(axis=0)
    mean = np.where(np.isfinite(values), values, 0.0).sum(axis=0) / counts
    away = np.where(np.isfinite(values), values - mean, 0.0)
    return mean, (away * away).sum(axis=0) / counts


def _robust_moments(values: Float64s) -> tuple[Float64s, Float64s]:
    """Return the same of what at least half of the rows are like; NaN for none."""
    some = np.isfinite(values).any(axis=0)
    middle, deviation = (np.full(values.shape[1], np.nan) for _ in range(2))
    middle[some] = np.nanmedian(values[:, some], axis=0)
    deviation[some] = np.nanmedian(np.abs(values[:, some] - middle[some]), axis=0)
    return middle, (deviation / _NORMAL_QUARTILE) ** 2
