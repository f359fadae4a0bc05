# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the cells of a table mean: numbers and times, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal

from thinking_policy.bags.csv_map import TIME_UNITS, TimeColumn, zone_of

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def number_in(cell: str, decimal: str) -> float:
    """Return the number in a cell; NaN for what is not surely a finite one."""
    if decimal != '.':
        # A dot would be a thousands separator then, and the number a thousandth of what it is.
        cell = cell.replace('.', ' ').replace(decimal, '.')
    if '_' in cell or not cell.isascii():  # numbers in Python source only
        return math.nan
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def time_reader(time: TimeColumn) -> Callable[[str], int]:
    """Return what turns a cell into nanoseconds since 1970."""
    if time.format in TIME_UNITS:
        factor = Decimal(10) ** TIME_UNITS[time.format]
        return lambda cell: int(Decimal(cell) * factor)
    zone = zone_of(time.timezone)
    newest = 0

    def read(cell: str) -> int:
        moment = (
            datetime.fromisoformat(cell)
            if time.format == 'iso'
            else datetime.strptime(cell, time.format)
        )
        nonlocal newest
        if moment.tzinfo is not None:
            return _nanoseconds_of(moment)
        moment = moment.replace(tzinfo=zone)
        stamp = _nanoseconds_of(moment)
        if stamp < newest and zone is not timezone.utc:
            # Perhaps the second pass of the hour that comes twice when clocks are set back.
            second = _nanoseconds_of(moment.replace(fold=1))
            stamp = second if second >= newest else stamp
        newest = max(newest, stamp)
        return stamp

    return read


def _nanoseconds_of(moment: datetime) -> int:
    since = moment - _EPOCH
    # Whole numbers: a float would lose the last 100 ns of today's times.
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000
