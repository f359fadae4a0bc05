# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Raw CDR messages to numbers, a batch at a time, decoding only what a signal needs.

Nothing here raises for what is in a message: what cannot be read is NaN or marked as broken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation import reductions
from thinking_policy.situation.decode import compile_decoder, decode
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.field_finder import Find, compile_find
from thinking_policy.situation.field_paths import resolve_path, sibling
from thinking_policy.situation.layout import Float64s, Layout, Locator
from thinking_policy.situation.message_types import MessageType, Primitive

__all__ = [
    'FieldReader',
    'StampReader',
    'compile_decoder',
    'compile_reader',
    'decode',
    'stamp_reader',
]

# Members beside a distance that say what the sensor can measure (LaserScan, Range).
_BOUNDS = (('range_min', 'range_max'), ('min_range', 'max_range'))
_READS_BOUNDS = ('range_min', 'invalid_fraction')
_FLOAT32_MAX = 3.4e38
MAX_NUMBERS = 4_000_000  # of one field in one message; more would need too much memory
CHUNK_BYTES = 1 << 20  # read at once; the temporary arrays are some times larger


def compile_reader(
    message_type: MessageType, path: str, within_message: str = '', sentinels: Sequence[float] = ()
) -> FieldReader:
    """Return what reads one number per message.

    Args:
        message_type: Type of the raw messages.
        path: Field path, see `field_paths`.
        within_message: How several numbers become one; empty for a single number.
        sentinels: Raw numbers that mean unknown; each such number is as good as NaN.

    Raises:
        SituationError: The path does not exist, or it is an array and `within_message` is empty.
    """
    known = (*reductions.WITHIN, 'count')
    if within_message and within_message not in known:
        raise SituationError(
            f'within_message: expected one of {", ".join(known)}, found {within_message!r}'
        )
    kind = resolve_path(message_type, path)
    if not within_message and not isinstance(kind, Primitive):
        raise SituationError(
            f'{message_type.name}: field {path!r} holds several numbers: set within_message to '
            f'one of {", ".join(known)}, or add an index'
        )
    bounds = _bound_finds(message_type, path) if within_message in _READS_BOUNDS else []
    locator = Locator([compile_find(message_type, path)], bounds)
    return FieldReader(locator, within_message, sentinels)


def stamp_reader(message_type: MessageType) -> StampReader | None:
    """Return what reads `header.stamp` (or a `stamp` of its own), or None where there is none."""
    for path in ('header.stamp', 'stamp'):
        finds = _numbers(message_type, [f'{path}.sec', f'{path}.nanosec'])
        if finds:
            return StampReader(finds)
    return None


class FieldReader:
    """One number per message. Made by `compile_reader`."""

    def __init__(self, locator: Locator, within_message: str, sentinels: Sequence[float]) -> None:
        self._locator = locator
        self._within = within_message
        # Compared as float32 where the message has float32: 0.1 is another number there.
        self._sentinels = {
            'f4': [float(np.float32(s)) for s in sentinels if abs(s) <= _FLOAT32_MAX],
            'other': [float(s) for s in sentinels],
        }

    def read(self, raws: Sequence[bytes]) -> tuple[Float64s, NDArray[np.bool_]]:
        """Read a batch; the result of a message does not depend on the others.

        Args:
            raws: n messages with their encapsulation.

        Returns:
            values: float64 [n], NaN where nothing usable is there (NaN, Inf, a sentinel, a
                missing index or name, an empty array, more than `MAX_NUMBERS`, a broken message).
            broken: bool [n], where the bytes do not hold what the type promises.
        """
        values = np.empty(len(raws))
        broken = np.zeros(len(raws), np.bool_)
        with np.errstate(all='ignore'):
            for layout, indices in self._locator.groups(raws):
                if layout is None:
                    values[indices] = math.nan
                    broken[indices] = True
                elif indices is None:
                    values[:] = self._read_alike(layout, raws)
                else:
                    values[indices] = self._read_alike(layout, [raws[i] for i in indices])
            values[~np.isfinite(values)] = math.nan
        return values, broken

    def _read_alike(self, layout: Layout, raws: Sequence[bytes]) -> Float64s | float:
        """Read messages of one layout; a single number stands for all of them."""
        runs = layout.fields[0]
        count = sum(run.count for run in runs or ())
        if runs is not None and self._within == 'count':
            return float(count)
        if not count or count > MAX_NUMBERS:
            return math.nan
        at_once = max(1, CHUNK_BYTES // (layout.end - layout.start))
        if len(raws) <= at_once:
            return self._reduced(layout, raws)
        return np.concatenate(
            [
                self._reduced(layout, raws[start : start + at_once])
                for start in range(0, len(raws), at_once)
            ]
        )

    def _reduced(self, layout: Layout, raws: Sequence[bytes]) -> Float64s:
        runs = layout.columns(raws)[0]
        assert runs, 'there are numbers'
        exact = self._within in reductions.EXACT_IN_FLOAT32 and _in_float32(layout.constants)
        numbers = (
            self._usable(runs[0], exact)
            if len(runs) == 1
            else np.concatenate([self._usable(run, exact) for run in runs], axis=1)
        )
        if not self._within:
            return numbers[:, 0]
        return reductions.WITHIN[self._within](numbers, layout.constants)

    def _usable(self, run: NDArray[np.generic], exact: bool) -> Float64s:
        """Return numbers of one's own, float32 ones as they are where that is exact."""
        single = run.dtype.str[1:] == 'f4'
        numbers: Float64s = run.astype(np.float32 if single and exact else np.float64)
        for sentinel in self._sentinels['f4' if single else 'other']:
            numbers[numbers == sentinel] = math.nan
        return numbers


class StampReader:
    """The header's time of each message. Made by `stamp_reader`."""

    def __init__(self, finds: Sequence[Find]) -> None:
        self._locator = Locator(finds)

    def read(self, raws: Sequence[bytes]) -> NDArray[np.int64]:
        """Return int64 [n] nanoseconds; 0 where unset, before 1970 or broken."""
        stamps = np.zeros(len(raws), np.int64)
        for layout, indices in self._locator.groups(raws):
            if layout is None:
                continue
            chosen = raws if indices is None else [raws[index] for index in indices]
            seconds, nanoseconds = layout.columns(chosen)
            assert seconds is not None
            assert nanoseconds is not None
            whole = seconds[0][:, 0].astype(np.int64)
            total = whole * 1_000_000_000 + nanoseconds[0][:, 0].astype(np.int64)
            stamps[slice(None) if indices is None else indices] = np.where(whole < 0, 0, total)
        return stamps


def _in_float32(numbers: Sequence[float]) -> bool:
    """Whether numbers can be compared with float32 ones as they are."""
    return all(math.isnan(number) or float(np.float32(number)) == number for number in numbers)


def _bound_finds(message_type: MessageType, path: str) -> list[Find]:
    for names in _BOUNDS:
        finds = _numbers(message_type, [sibling(path, name) for name in names])
        if finds:
            return finds
    return []


def _numbers(message_type: MessageType, paths: Sequence[str]) -> list[Find]:
    """Return what finds all of these single numbers, or nothing if one is missing."""
    try:
        if all(isinstance(resolve_path(message_type, path), Primitive) for path in paths):
            return [compile_find(message_type, path) for path in paths]
    except SituationError:
        pass
    return []
