# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Takes each signal's nominal range from a stretch of time in which the robot was normal."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation import SignalConfig, SituationConfig

LOW_QUANTILE, HIGH_QUANTILE = 0.025, 0.975
# Of the width between the quantiles, on each side: for noise the range is then three standard
# deviations either way.
MARGIN = 0.25
FEWEST_VALUES = 40  # fewer say nothing about a quantile of 2.5 %


@dataclass(frozen=True)
class NominalRanges:
    """Nominal ranges that a stretch suggests.

    Attributes:
        config: The configuration with them; other settings, and signals without enough values,
            are as before.
        values: How many values each range was taken from, by name.
        problems: Why a range stays as it was, by name.
    """

    config: SituationConfig
    values: Mapping[str, int]
    problems: Mapping[str, str]


def nominal_ranges(config: SituationConfig, values: NDArray[np.float64]) -> NominalRanges:
    """Return nominal ranges: between two quantiles, and a margin beyond.

    Args:
        config: What the values were perceived with.
        values: float64 [N, F] in each signal's unit, one a tick, NaN where a signal was not
            usable. A signal that is sampled every n-th tick keeps its value till the next one.
    """
    signals, counts, problems = [], {}, {}
    for signal, column in zip(config.signals, values.T, strict=True):
        usable = column[np.isfinite(column)][:: signal.period_ticks]
        counts[signal.name] = len(usable)
        found = _range(signal, usable)
        if isinstance(found, str):
            problems[signal.name] = found
            signals.append(signal)
        else:
            low, high = found
            signals.append(dataclasses.replace(signal, nominal_low=low, nominal_high=high))
    return NominalRanges(dataclasses.replace(config, signals=tuple(signals)), counts, problems)


def _range(signal: SignalConfig, values: NDArray[np.float64]) -> tuple[float, float] | str:
    """Return the range, or why there is none."""
    if not signal.topic:
        return 'this robot has no such signal'
    if len(values) < FEWEST_VALUES:
        return f'{len(values)} usable values, at least {FEWEST_VALUES} are needed'
    low, high = np.quantile(values, (LOW_QUANTILE, HIGH_QUANTILE))
    margin = MARGIN * (high - low)
    low, high = rounded(low - margin, high - low), rounded(high + margin, high - low)
    if not low < high:
        return f'it did not move from {values[0]:.6g}'
    return low, high


def rounded(value: float, width: float) -> float:
    """Return a number with the digits that mean something: down to a thousandth of the width."""
    if not width > 0.0:
        return float(value)
    digits = 3 - int(np.floor(np.log10(width)))
    return round(float(value), digits)
