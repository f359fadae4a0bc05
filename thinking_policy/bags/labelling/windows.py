# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Sums over the last seconds, for every tick of a stretch at once.

A window is a pair of rows, first and one past the last, for each tick. Times are whole
nanoseconds, so a sample is in a window or not whatever the rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

# Rows whose sums share an origin. Sums that run over a whole day would lose the digits that a
# window of seconds needs.
_BLOCK = 1024


@dataclass(frozen=True)
class Moments:
    """Of the pairs (u, v) in each window, where both are numbers.

    Attributes:
        count: Pairs.
        mean_u: Mean of u; NaN without pairs, as are the others.
        mean_v: Mean of v.
        uu: Sum of (u - mean)².
        uv: Sum of (u - mean)(v - mean).
        vv: Sum of (v - mean)².
    """

    count: Floats
    mean_u: Floats
    mean_v: Floats
    uu: Floats
    uv: Floats
    vv: Floats

    @property
    def slope(self) -> Floats:
        """Of the line through v over u; NaN where u does not vary."""
        return np.divide(self.uv, self.uu, out=np.full_like(self.uv, np.nan), where=self.uu > 0)

    @property
    def correlation(self) -> Floats:
        """Pearson's, 0 where one varies and the other does not, NaN where none does."""
        both = np.sqrt(self.uu * self.vv)
        idle = (self.uu <= 0) & (self.vv <= 0)
        found = np.divide(self.uv, both, out=np.zeros_like(self.uv), where=both > 0)
        return np.where(idle | ~(self.count > 1), np.nan, np.clip(found, -1.0, 1.0))

    @property
    def spread_u(self) -> Floats:
        """Standard deviation of u."""
        return _spread(self.uu, self.count)

    @property
    def spread_v(self) -> Floats:
        """Standard deviation of v."""
        return _spread(self.vv, self.count)


def last(stamps: Rows, over_s: float, until_s: float = 0.0) -> tuple[Rows, Rows]:
    """Return the rows of (t - over, t - until] for each tick t of one stretch."""
    over, until = (np.int64(round(seconds * 1e9)) for seconds in (over_s, until_s))
    start = np.searchsorted(stamps, stamps - over, side='right')
    stop = np.searchsorted(stamps, stamps - until, side='right')
    return start.astype(np.int64), np.maximum(start, stop).astype(np.int64)


def reaches_back(stamps: Rows, over_s: float, tick_s: float) -> NDArray[np.bool_]:
    """Return whether a stretch holds all ticks of the last seconds, for each tick."""
    # Half a tick: periods such as 1/30 s are no whole nanoseconds.
    return np.asarray(stamps - stamps[0] >= round((over_s - 1.5 * tick_s) * 1e9), np.bool_)


def moments(u: Floats, v: Floats, start: Rows, stop: Rows) -> Moments:
    """Return sums of pairs over windows of rows.

    Args:
        u: [n], such as times.
        v: [n]; NaN: no sample.
        start: [n], first row of each window.
        stop: [n], one past its last.
    """
    sums = np.full((6, len(start)), np.nan)
    block = max(_BLOCK, 4 * int((stop - start).max(initial=0)))
    for begin in range(0, len(start), block):
        part = slice(begin, begin + block)
        low, high = int(start[part].min()), int(stop[part].max())
        if low >= high:
            sums[0, part] = 0.0
            continue
        sums[:, part] = _moments(u[low:high], v[low:high], start[part] - low, stop[part] - low)
    return Moments(*sums)


def history(u: Floats, v: Floats, stop: Rows) -> Moments:
    """Return sums of pairs from the first row to one before `stop`."""
    with np.errstate(invalid='ignore'):
        return Moments(*_moments(u, v, np.zeros_like(stop), stop))


def share_of(flags: NDArray[np.bool_], start: Rows, stop: Rows) -> Floats:
    """Return the share of rows with a flag in each window; NaN for empty windows."""
    total = np.concatenate([[0], np.cumsum(flags)])
    size = (stop - start).astype(np.float64)
    found = (total[stop] - total[start]).astype(np.float64)
    share: Floats = np.divide(found, size, out=np.full_like(size, np.nan), where=size > 0)
    return share


def _moments(u: Floats, v: Floats, start: Rows, stop: Rows) -> Floats:
    there = np.isfinite(u) & np.isfinite(v)
    if not there.any():
        return np.vstack([np.zeros(len(start)), np.full((5, len(start)), np.nan)])
    # The first pair, not the mean: not even the rounding depends on what comes later.
    origin_u, origin_v = float(u[there][0]), float(v[there][0])
    u = np.where(there, u - origin_u, 0.0)
    v = np.where(there, v - origin_v, 0.0)
    count, su, sv, uu, uv, vv = (
        _between(column, start, stop)
        for column in (there.astype(np.float64), u, v, u * u, u * v, v * v)
    )
    some = np.where(count > 0, count, np.nan)
    mean_u, mean_v = su / some, sv / some
    # Rounding can leave a little below or above zero where nothing varies.
    uu, vv = (
        np.where(centred < 1e-12 * np.maximum(raw, 1e-300), 0.0, centred)
        for raw, centred in ((uu, uu - su * mean_u), (vv, vv - sv * mean_v))
    )
    return np.vstack([count, mean_u + origin_u, mean_v + origin_v, uu, uv - su * mean_v, vv])


def _between(column: Floats, start: Rows, stop: Rows) -> Floats:
    total = np.concatenate([[0.0], np.cumsum(column)])
    return np.asarray(total[stop] - total[start])


def _spread(squares: Floats, count: Floats) -> Floats:
    return np.sqrt(np.maximum(squares, 0.0) / np.where(count > 0, count, np.nan))
