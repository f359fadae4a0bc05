# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Many numbers to one: within a message, and over the messages of a sampling period.

Within a message, numbers that are not finite (or are a sentinel, which the reader made NaN) are
left out, except by `norm`, which would be wrong without one of its components. Over time the
sums are exactly rounded (`math.fsum`), so that no order of arrival changes a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Float64s = NDArray[np.float64]
Int64s = NDArray[np.int64]
Bounds = Sequence[float]

# (numbers [n, m], bounds) -> [n]; not finite: nothing usable. The bounds are (shortest, longest)
# distance that the sensor measures, where the message says so, else (); only range_min and
# invalid_fraction look at them. The numbers may be overwritten.
Within = Callable[[Float64s, Bounds], Float64s]
# These pick or count and don't compute, so float32 gives them the same numbers in half the time.
EXACT_IN_FLOAT32 = ('min', 'max', 'range_min', 'invalid_fraction')


def _norm(numbers: Float64s, bounds: Bounds) -> Float64s:
    length: Float64s = np.sqrt(np.sum(numbers * numbers, axis=1))
    return length


def _mean(numbers: Float64s, bounds: Bounds) -> Float64s:
    usable = np.isfinite(numbers)
    total: Float64s = np.sum(np.where(usable, numbers, 0.0), axis=1)
    mean: Float64s = total / np.sum(usable, axis=1)
    return mean


def _rms(numbers: Float64s, bounds: Bounds) -> Float64s:
    return np.sqrt(_mean(numbers * numbers, ()))


def _std(numbers: Float64s, bounds: Bounds) -> Float64s:
    away = numbers - _mean(numbers, ())[:, np.newaxis]
    return _rms(away, ())


def _min(numbers: Float64s, bounds: Bounds) -> Float64s:
    # inf, where nothing is usable, is refused by the reader
    least: Float64s = np.min(np.where(np.isfinite(numbers), numbers, np.inf), axis=1)
    return least


def _max(numbers: Float64s, bounds: Bounds) -> Float64s:
    return -_min(-numbers, ())


def _invalid_fraction(numbers: Float64s, bounds: Bounds) -> Float64s:
    if bounds:
        low, high = _sensor_range(bounds)
        usable = (numbers >= low) & (numbers <= high)  # NaN is not
        if high == math.inf:
            usable &= np.isfinite(numbers)
    else:
        usable = np.isfinite(numbers)
    # Bytes are summed faster than flags.
    count = np.add.reduce(usable.view(np.int8), axis=1, dtype=np.int32)
    share: Float64s = 1.0 - count / numbers.shape[1]
    return share


def _range_min(numbers: Float64s, bounds: Bounds) -> Float64s:
    """Return the shortest distance by REP-117.

    -inf is an obstacle too close to measure and counts as the shortest distance the sensor
    measures; +inf is nothing within range, so only +inf gives the longest one. NaN is an
    erroneous measurement and is ignored, as is what lies outside of the sensor's range.
    """
    low, high = _sensor_range(bounds)
    least: Float64s = np.fmin.reduce(numbers, axis=1).astype(np.float64)
    # Mostly the smallest number is a distance, and nothing else matters then.
    odd = ~((least >= low) & (least <= high))
    if odd.any():
        least[odd] = _shortest_in_range(numbers[odd], low, high)
    return least


def _shortest_in_range(numbers: Float64s, low: float, high: float) -> Float64s:
    numbers[numbers == -np.inf] = low
    nothing = np.any(numbers == np.inf, axis=1)
    np.copyto(numbers, np.inf, where=~((numbers >= low) & (numbers <= high)))
    least: Float64s = np.min(numbers, axis=1)
    least[nothing & (least == np.inf)] = high
    return least


def _sensor_range(bounds: Bounds) -> tuple[float, float]:
    """Return the bounds, or 0…inf where a driver left them out, unset or nonsensical."""
    if bounds:
        low, high = bounds
        if math.isfinite(low) and low <= high and high > 0.0:
            return low, high
    return 0.0, math.inf


WITHIN: Mapping[str, Within] = {
    'norm': _norm,
    'mean': _mean,
    'min': _min,
    'max': _max,
    'rms': _rms,
    'std': _std,
    'range_min': _range_min,
    'invalid_fraction': _invalid_fraction,
}


def over_time(name: str, stamps_ns: Int64s, values: Float64s, arrivals: Int64s) -> float:
    """Reduce the messages of one sampling period to a sample.

    Args:
        name: One of `configuration.OVER_TIME`.
        stamps_ns: int64 [n], any order.
        values: float64 [n], n ≥ 1, within float32's range (so that no sum of squares overflows),
            NaN where a message held nothing usable.
        arrivals: int64 [n], decide between equal stamps.

    Returns:
        The sample, NaN if no message was usable. `last` is the newest usable value, the largest
        of them where stamp and arrival are equal; `count` is the number of usable messages.
    """
    usable = np.isfinite(values)
    count = int(np.count_nonzero(usable))
    if name == 'invalid_fraction':
        return 1.0 - count / len(values)
    if not count:
        return math.nan
    if count < len(values):
        stamps_ns, values, arrivals = stamps_ns[usable], values[usable], arrivals[usable]
    if name == 'last':
        return float(values[np.lexsort((values, arrivals, stamps_ns))[-1]])
    return _OVER_TIME[name](values)


def _fmean(values: Float64s) -> float:
    return math.fsum(values.tolist()) / len(values)


def _frms(values: Float64s) -> float:
    return math.sqrt(_fmean(values * values))


def _fstd(values: Float64s) -> float:
    return _frms(values - _fmean(values))


_OVER_TIME: Mapping[str, Callable[[Float64s], float]] = {
    'mean': _fmean,
    'rms': _frms,
    'std': _fstd,
    'min': lambda values: float(values.min()),
    'max': lambda values: float(values.max()),
    'count': lambda values: float(len(values)),
}
