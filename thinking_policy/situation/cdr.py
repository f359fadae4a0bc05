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
from thinking_policy.situation.layout import Float64s, Locator
from thinking_policy.situation.message_types import MessageType, Primitive

__all__ = [
    'FieldReader', 'StampReader', 'compile_decoder', 'compile_reader', 'decode', 'stamp_reader',
]

# Members beside a distance that say what the sensor can measure (LaserScan, Range).
_BOUNDS = (('range_min', 'range_max'), ('min_range', 'max_range'))
_READS_BOUNDS = ('range_min', 'invalid_fraction')


def compile_reader(
        message_type: MessageType, path: str, within_message: str = '',
        sentinels: Sequence[float] = ()) -> FieldReader:
    """Return what reads one number per message.

    Args:
        message_type: Type of the raw messages.
        path: Field path, see `field_paths`.
        within_message: How several numbers become one; empty for a single number.
        sentinels: Raw numbers that mean unknown; each such number is as good as NaN.

    Raises:
        SituationError: The path does not exist, or it is an array and `within_message` is empty.
    """
    kind = resolve_path(message_type, path)
    if not within_message and not isinstance(kind, Primitive):
        raise SituationError(
            f'{message_type.name}: field {path!r} holds several numbers: set within_message to '
            f'one of {", ".join(reductions.WITHIN)}, or add an index')
    finds = [compile_find(message_type, path)]
    if within_message in _READS_BOUNDS:
        finds += _bound_finds(message_type, path)
    return FieldReader(finds, within_message, sentinels)


def stamp_reader(message_type: MessageType) -> StampReader | None:
    """Return what reads `header.stamp` (or a `stamp` of its own), or None where there is none."""
    for path in ('header.stamp', 'stamp'):
        finds = _numbers(message_type, [f'{path}.sec', f'{path}.nanosec'])
        if finds:
            return StampReader(finds)
    return None


class FieldReader:
    """One number per message. Made by `compile_reader`."""

    def __init__(
            self, finds: Sequence[Find], within_message: str, sentinels: Sequence[float]) -> None:
        self._locator = Locator(finds)
        self._reduce = reductions.WITHIN[within_message] if within_message else None
        self._missing = 0.0 if within_message == 'count' else math.nan
        self._sentinels = tuple(sentinels)

    def read(self, raws: Sequence[bytes]) -> tuple[Float64s, NDArray[np.bool_]]:
        """Read a batch; the result of a message does not depend on the others.

        Args:
            raws: n messages with their encapsulation.

        Returns:
            values: float64 [n], NaN where nothing usable is there (NaN, Inf, a sentinel, a
                missing index or name, an empty array, a broken message).
            broken: bool [n], where the bytes do not hold what the type promises.
        """
        values = np.full(len(raws), math.nan)
        broken = np.zeros(len(raws), np.bool_)
        with np.errstate(all='ignore'):
            for layout, indices in self._locator.groups(raws):
                if layout is None:
                    broken[indices] = True
                elif indices is None:
                    values[:] = self._reduced(layout.columns(raws), len(raws))
                else:
                    columns = layout.columns([raws[index] for index in indices])
                    values[indices] = self._reduced(columns, len(indices))
            values[~np.isfinite(values)] = math.nan
        return values, broken

    def _reduced(
            self, columns: Sequence[list[NDArray[np.generic]] | None], count: int) -> Float64s:
        runs = columns[0]
        if runs is None:
            return np.full(count, math.nan)
        if not runs:
            return np.full(count, self._missing)
        numbers = self._usable(runs[0]) if len(runs) == 1 else np.concatenate(
            [self._usable(run) for run in runs], axis=1)
        if self._reduce is None:
            return numbers[:, 0]
        low = high = None
        if len(columns) == 3 and columns[1] and columns[2]:
            low = columns[1][0].astype(np.float64)
            high = columns[2][0].astype(np.float64)
        return self._reduce(numbers, low, high)

    def _usable(self, run: NDArray[np.generic]) -> Float64s:
        numbers = run.astype(np.float64)
        for sentinel in self._sentinels:
            # Compared as float32 where the message has float32: 0.1 is another number there.
            wanted = float(np.float32(sentinel)) if run.dtype.kind == 'f' \
                and run.dtype.itemsize == 4 else sentinel
            numbers[numbers == wanted] = math.nan
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
