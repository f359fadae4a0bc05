# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""One signal: raw numbers in, one sample per sampling period out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation.configuration import SignalConfig, nanoseconds
from thinking_policy.situation.reductions import over_time
from thinking_policy.situation.situation import Reading, SignalState

Float64s = NDArray[np.float64]
Int64s = NDArray[np.int64]

LARGEST = 3.4e38  # messages carry float32


def to_unit(config: SignalConfig, numbers: Float64s) -> Float64s:
    """Turn raw numbers into values of the signal's unit.

    Args:
        config: Gives scale, offset, absolute and the valid range.
        numbers: float64 [n], NaN where unusable.

    Returns:
        float64 [n], NaN where unusable, beyond float32 or outside of the valid range.
    """
    with np.errstate(all='ignore'):
        values = numbers * config.scale + config.offset  # + makes -0.0 the same bits as 0.0
        if config.absolute:
            values = np.abs(values)
        low, high = _bounds(config)
        accepted = (values >= low) & (values <= high)  # NaN is not
    values[~accepted] = math.nan
    return values


def _bounds(config: SignalConfig) -> tuple[float, float]:
    """Return the valid range within what messages can carry."""
    low = -LARGEST if math.isnan(config.valid_low) else max(-LARGEST, config.valid_low)
    high = LARGEST if math.isnan(config.valid_high) else min(LARGEST, config.valid_high)
    return low, high


class SignalTrack:
    """What is known of one signal at the end of a tick.

    A sampling period is `period_ticks` ticks, aligned on the tick grid. Its messages become a
    sample at its end. A period without messages holds the last sample while the newest message
    is not older than the stale time.
    """

    def __init__(self, config: SignalConfig) -> None:
        self.config = config
        self._stale_ns = nanoseconds(config.stale_s)
        self._period: list[tuple[Int64s, Float64s, Int64s]] = []
        self._newest_ns: int | None = None
        self._state = SignalState.NEVER
        self._value = math.nan

    def add(self, stamps_ns: Int64s, values: Float64s, arrivals: Int64s, newest_ns: int) -> None:
        """Take the messages of one tick.

        Args:
            stamps_ns: int64 [n], n ≥ 1.
            values: float64 [n], NaN where unusable.
            arrivals: int64 [n], decide between equal stamps.
            newest_ns: The largest of `stamps_ns`.
        """
        self._period.append((stamps_ns, values, arrivals))
        if self._newest_ns is None or newest_ns > self._newest_ns:
            self._newest_ns = newest_ns

    def completes(self, tick: int) -> bool:
        """Whether a sampling period ends with this tick."""
        return tick % self.config.period_ticks == 0

    def complete(self, end_ns: int) -> float | None:
        """End a sampling period; return its sample in the signal's unit, None if not valid."""
        if self._period:
            messages = self._period[0] if len(self._period) == 1 else _joined(self._period)
            self._value = over_time(self.config.over_time, *messages)
            self._state = SignalState.OK if math.isfinite(self._value) else SignalState.INVALID
            self.forget_period()
        elif self._newest_ns is None:
            self._state = SignalState.NEVER
        elif end_ns - self._newest_ns > self._stale_ns:
            self._state = SignalState.STALE
        elif self.config.over_time == 'count':
            self._state, self._value = SignalState.OK, 0.0
        return self._value if self._state == SignalState.OK else None

    def reading(self, end_ns: int) -> Reading:
        """Return how the signal stands: its newest sample, and the age of its newest message."""
        ok = self._state == SignalState.OK
        age_s = -1.0 if self._newest_ns is None else (end_ns - self._newest_ns) / 1e9
        return Reading(self.config.name, self._state, self._value if ok else math.nan, age_s)

    def forget_period(self) -> None:
        """Drop the messages of the sampling period that is under way."""
        self._period.clear()

    def forget(self) -> None:
        """Begin as if no message had ever come: the clock is another one now."""
        self.forget_period()
        self._newest_ns = None
        self._state = SignalState.NEVER
        self._value = math.nan


def _joined(
    parts: list[tuple[Int64s, Float64s, Int64s]],
) -> tuple[Int64s, Float64s, Int64s]:
    stamps, values, arrivals = zip(*parts, strict=True)
    return np.concatenate(stamps), np.concatenate(values), np.concatenate(arrivals)
