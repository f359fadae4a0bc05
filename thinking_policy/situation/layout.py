# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Where in raw messages the bytes of a field lie, found once and used for many.

A walk over one message gives a layout: the byte range of the field, and guards, the lengths and
names that decided it. Every message with the same guard bytes has the field at the same place,
so whole batches are read as columns without walking again. Numbers that hardly ever change, such
as the range a sensor can measure, are guards as well: they become constants of the layout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation.field_finder import Find, Run
from thinking_policy.situation.wire import HEADER_BYTES, BrokenMessageError, Walk

REMEMBERED = 8  # layouts a reader keeps; a topic has one or two, a hostile one any number

Float64s = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the wanted fields lie in every message with these guard bytes.

    Attributes:
        guards: (start, end, bytes) of what has to be equal.
        start: First byte of interest.
        end: First byte behind.
        required: Bytes that a message has to have; a shorter one does not fit.
        order: Byte order mark.
        fields: Per wanted field its runs, or None where it is missing.
        constants: Numbers that are the same in all of these messages, NaN where missing.
    """

    guards: tuple[tuple[int, int, bytes], ...]
    start: int
    end: int
    required: int
    order: str
    fields: tuple[tuple[Run, ...] | None, ...]
    constants: tuple[float, ...]

    def fits(self, raw: bytes) -> bool:
        """Whether a message has this layout."""
        if len(raw) < self.required:
            return False
        return all(raw[start:end] == value for start, end, value in self.guards)

    def fit(self, raws: Sequence[bytes]) -> bool:
        """Whether all messages have this layout."""
        if min(map(len, raws)) < self.required:
            return False
        for start, end, value in self.guards:
            if [raw[start:end] for raw in raws].count(value) != len(raws):
                return False
        return True

    def columns(self, raws: Sequence[bytes]) -> list[list[NDArray[np.generic]] | None]:
        """Return per field its runs as arrays [messages, count], in the message's own types."""
        stride = self.end - self.start
        region = b''.join([raw[self.start : self.end] for raw in raws])
        columns: list[list[NDArray[np.generic]] | None] = []
        for runs in self.fields:
            columns.append(
                None
                if runs is None
                else [
                    np.ndarray(
                        (len(raws), run.count),
                        self.order + run.code,
                        region,
                        run.offset - self.start,
                        (stride, int(run.code[1:])),
                    )
                    for run in runs
                ]
            )
        return columns


class Locator:
    """Groups raw messages by layout; a broken message belongs to none."""

    def __init__(self, fields: Sequence[Find], constants: Sequence[Find] = ()) -> None:
        self._fields = tuple(fields)
        self._constants = tuple(constants)
        self._layouts: list[Layout] = []

    def groups(self, raws: Sequence[bytes]) -> list[tuple[Layout | None, NDArray[np.intp] | None]]:
        """Return (layout or None for broken, indices of its messages or None for all)."""
        if self._layouts and raws and self._layouts[0].fit(raws):
            return [(self._layouts[0], None)]
        members: dict[Layout | None, list[int]] = {}
        layout: Layout | None = None
        for index, raw in enumerate(raws):
            if layout is None or not layout.fits(raw):
                layout = self._layout_of(raw)
            members.setdefault(layout, []).append(index)
        return [(key, np.array(indices, np.intp)) for key, indices in members.items()]

    def _layout_of(self, raw: bytes) -> Layout | None:
        for index, layout in enumerate(self._layouts):
            if layout.fits(raw):
                if index:
                    self._layouts.insert(0, self._layouts.pop(index))
                return layout
        try:
            found = self._walk(raw)
        except BrokenMessageError:
            return None
        self._layouts.insert(0, found)
        del self._layouts[REMEMBERED:]
        return found

    def _walk(self, raw: bytes) -> Layout:
        walk = Walk(raw)
        fields = [_found(walk, find) for find in self._fields]
        constants = [_constant(walk, find) for find in self._constants]
        spans = [run for runs in fields if runs for run in runs]
        guards = _merged(walk.guards)
        return Layout(
            guards=tuple((start, stop, raw[start:stop]) for start, stop in guards),
            start=min((run.offset for run in spans), default=HEADER_BYTES),
            end=max((run.end for run in spans), default=HEADER_BYTES),
            required=walk.required,
            order=walk.order,
            fields=tuple(fields),
            constants=tuple(constants),
        )


def _found(walk: Walk, find: Find) -> tuple[Run, ...] | None:
    walk.position = HEADER_BYTES
    runs = find(walk)
    if runs is None:
        return None
    walk.require(max((run.end for run in runs), default=0))
    return tuple(run for run in runs if run.count)


def _constant(walk: Walk, find: Find) -> float:
    runs = _found(walk, find)
    if not runs:
        return math.nan
    walk.guards.append((runs[0].offset, runs[0].end))
    number = np.frombuffer(walk.raw, walk.order + runs[0].code, 1, runs[0].offset)
    return float(number[0])


def _merged(guards: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(set(guards)):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
