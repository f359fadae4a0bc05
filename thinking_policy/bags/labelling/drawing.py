# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How pictures of labels look, on a page and as PNG: colours, sizes, ticks, times."""

from __future__ import annotations

import math
from datetime import datetime, timezone

from thinking_policy.bags.labelling.picture import Line

# Of Okabe and Ito: told apart by people who see colours differently, and in print.
COLOURS = {'rule': '#0072B2', 'outcome': '#D55E00', 'person': '#009E73', 'llm': '#CC79A7'}
OTHER = '#8C6D1F'
SIGNAL = '#3A3F45'
NOMINAL = '#E8EEF4'
UNSURE_PAPER, UNSURE_INK = '#ECECEC', '#9A9A9A'
CLASH = '#000000'
EVENT = '#8A5A00'
KINDS = {
    'rule': 'a rule',
    'outcome': 'an outcome',
    'person': 'a person',
    'llm': 'a language model',
}

_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)


def colour_of(origin: str) -> str:
    """Return the colour of an origin such as `rule:rising`."""
    return COLOURS.get(origin.partition(':')[0], OTHER)


def ticks(length_s: float, most: int = 9) -> list[float]:
    """Return round times along a picture, at most some of them."""
    step = next((step for step in _STEPS_S if length_s / step <= most), 86_400.0)
    while length_s / step > most:
        step *= 2
    return [i * step for i in range(int(length_s / step) + 1)]


def clock(seconds: float, length_s: float) -> str:
    """Return seconds since the start as a picture has room for: 12.5 s, 3:20, 1:03:20."""
    if length_s < 120:
        return f'{seconds:g} s'
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f'{hours}:{minutes:02d}:{rest:02d}' if length_s >= 3600 else f'{minutes}:{rest:02d}'


def moment(stamp_ns: int) -> str:
    """Return a time as text, in UTC; seconds where it is before 1971 (a simulation's time)."""
    seconds = stamp_ns / 1e9
    if not 31_536_000 <= seconds < 253_402_300_800:
        return f'{seconds:,.1f} s'
    at = datetime.fromtimestamp(stamp_ns // 10**9, timezone.utc)
    return f'{at:%Y-%m-%d %H:%M:%S} UTC'


def number(value: float) -> str:
    """Return a number with four digits."""
    return f'{value:.4g}'


def bounds(line: Line) -> tuple[float, float]:
    """Return what the axis of a signal spans: its values and its nominal range, if that is near.

    A nominal range far wider than the values would press them into a flat line.
    """
    low, high = line.low, line.high
    nominal = line.scale.nominal_low, line.scale.nominal_high
    spread = max(high - low, 1e-9 * max(abs(low), abs(high), 1.0))
    for bound in nominal:
        if low - 1.5 * spread <= bound <= high + 1.5 * spread:
            low, high = min(low, bound), max(high, bound)
    room = 0.06 * max(high - low, spread)
    if not math.isfinite(room):
        room = 0.0
    return low - room, high + room
