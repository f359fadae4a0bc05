# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Where in raw messages the bytes of a field lie, found once and used for many.

A walk over one message gives a layout: the byte range of the field, and guards, the lengths and
names that decided it. Every message with the same guard bytes has the field at the same place,
so whole batches are read as columns without walking again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation.field_paths import NAME_WITHIN, PathStep, names_for, parse_path
from thinking_policy.situation.message_types import Array, FieldType, MessageType, Primitive
from thinking_policy.situation.message_types import Sequence as SequenceType
from thinking_policy.situation.wire import (
    HEADER_BYTES,
    BrokenMessageError,
    Skip,
    Walk,
    advance,
    compile_skip,
    fixed_advance,
)

REMEMBERED = 8  # layouts a reader keeps; a topic has one or two, a hostile one any number

Float64s = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """`count` numbers side by side, `code` being numpy's type code without byte order."""

    offset: int
    code: str
    count: int

    @property
    def end(self) -> int:
        """First byte behind the run."""
        return self.offset + self.count * int(self.code[1:])


# Moves a walk to a field; the numbers found there, or None where an index or name is missing.
Find = Callable[[Walk], 'list[Run] | None']


@dataclass(frozen=True)
class Layout:
    """Where the wanted fields lie in every message with these guard bytes.

    Attributes:
        guards: (start, end, bytes) of what has to be equal.
        start: First byte of interest.
        end: First byte behind; a message that is shorter does not fit.
        order: Byte order mark.
        fields: Per wanted field its runs, or None where it is missing.
    """

    guards: tuple[tuple[int, int, bytes], ...]
    start: int
    end: int
    order: str
    fields: tuple[tuple[Run, ...] | None, ...]

    def fits(self, raw: bytes) -> bool:
        """Whether a message has this layout."""
        if len(raw) < self.end:
            return False
        return all(raw[start:end] == value for start, end, value in self.guards)

    def fit(self, raws: Sequence[bytes]) -> bool:
        """Whether all messages have this layout."""
        if min(map(len, raws)) < self.end:
            return False
        for start, end, value in self.guards:
            if [raw[start:end] for raw in raws].count(value) != len(raws):
                return False
        return True

    def columns(self, raws: Sequence[bytes]) -> list[list[NDArray[np.generic]] | None]:
        """Return per field its runs as arrays [messages, count], in the message's own types."""
        stride = self.end - self.start
        region = b''.join([raw[self.start:self.end] for raw in raws])
        columns: list[list[NDArray[np.generic]] | None] = []
        for runs in self.fields:
            columns.append(None if runs is None else [
                np.ndarray((len(raws), run.count), self.order + run.code, region,
                           run.offset - self.start, (stride, int(run.code[1:])))
                for run in runs])
        return columns


class Locator:
    """Groups raw messages by layout; a broken message belongs to none."""

    def __init__(self, finds: Sequence[Find]) -> None:
        self._finds = tuple(finds)
        self._layouts: list[Layout] = []

    def groups(
            self, raws: Sequence[bytes]) -> list[tuple[Layout | None, NDArray[np.intp] | None]]:
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
        fields: list[tuple[Run, ...] | None] = []
        for find in self._finds:
            walk.position = HEADER_BYTES
            runs = find(walk)
            if runs is not None:
                walk.require(max((run.end for run in runs), default=0))
            fields.append(None if runs is None else tuple(run for run in runs if run.count))
        spans = [run for runs in fields if runs for run in runs]
        guards = _merged(walk.guards)
        end = max((run.end for run in spans), default=HEADER_BYTES)
        return Layout(
            guards=tuple((start, stop, raw[start:stop]) for start, stop in guards),
            start=min((run.offset for run in spans), default=HEADER_BYTES),
            end=end,
            order=walk.order,
            fields=tuple(fields))


def compile_find(message_type: MessageType, path: str) -> Find:
    """Return what moves a walk to the end of `path`, which exists in the type.

    Raises:
        SituationError: A wstring stands before the field.
    """
    return _find(message_type, parse_path(path))


def _find(parent: MessageType, steps: Sequence[PathStep]) -> Find:
    step, rest = steps[0], steps[1:]
    field = parent.field(step.name)
    assert field is not None, 'the path was resolved before'
    before = _skip_to(parent, step.name)
    if step.key is None:
        inner = _find_end(field.type, rest)

        def find(walk: Walk) -> list[Run] | None:
            before(walk)
            return inner(walk)
        return find
    kind = field.type
    assert isinstance(kind, (Array, SequenceType))
    item = _find_end(kind.item, rest)
    if isinstance(step.key, int):
        return _find_index(before, kind, item, step.key)
    names = names_for(parent, kind)
    assert names is not None, 'the path was resolved before'
    wanted = step.key.encode()
    if isinstance(kind.item, MessageType) and names in NAME_WITHIN \
            and kind.item.field(names) is not None:
        return _find_named_item(before, kind, item, _skip_to(kind.item, names), wanted)
    names_field = parent.field(names)
    assert names_field is not None
    assert isinstance(names_field.type, (Array, SequenceType))
    return _find_name_beside(
        before, kind, item, _skip_to(parent, names), names_field.type, wanted)


def _find_end(kind: FieldType, rest: Sequence[PathStep]) -> Find:
    if rest:
        assert isinstance(kind, MessageType)
        return _find(kind, rest)
    if isinstance(kind, (Array, SequenceType)):
        return _find_numbers(kind)
    members = [f.type for f in kind.fields] if isinstance(kind, MessageType) else [kind]

    def find(walk: Walk) -> list[Run] | None:
        runs: list[Run] = []
        for member in members:
            assert isinstance(member, Primitive)
            walk.align(member.size)
            if runs and runs[-1].code == member.code and runs[-1].end == walk.position:
                runs[-1] = Run(runs[-1].offset, member.code, runs[-1].count + 1)
            else:
                runs.append(Run(walk.position, member.code, 1))
            walk.position += member.size
        return runs
    return find


def _find_numbers(kind: Array | SequenceType) -> Find:
    item = kind.item
    assert isinstance(item, Primitive)

    def find(walk: Walk) -> list[Run] | None:
        count = walk.count(kind)
        if count:
            walk.align(item.size)
        run = Run(walk.position, item.code, count)
        walk.position = run.end
        return [run]
    return find


def _skip_to(parent: MessageType, name: str) -> Skip:
    parts: list[Skip] = []
    for field in parent.fields:
        if field.name == name:
            break
        parts.append(compile_skip(field.type))

    def skip(walk: Walk) -> None:
        for part in parts:
            part(walk)
    return skip


def _to_item(kind: Array | SequenceType) -> Callable[[Walk, int], None]:
    """Return what moves a walk from the first item of an array to another one."""
    table = fixed_advance(kind.item)
    if table is not None:
        def jump(walk: Walk, index: int) -> None:
            offset = walk.position - HEADER_BYTES
            walk.position = advance(table, offset, index) + HEADER_BYTES
        return jump
    skip = compile_skip(kind.item)

    def stroll(walk: Walk, index: int) -> None:
        for _ in range(index):
            walk.step()
            skip(walk)
    return stroll


def _find_index(before: Skip, kind: Array | SequenceType, item: Find, index: int) -> Find:
    to_item = _to_item(kind)

    def find(walk: Walk) -> list[Run] | None:
        before(walk)
        if index >= walk.count(kind):
            return None
        to_item(walk, index)
        return item(walk)
    return find


def _find_named_item(
        before: Skip, kind: Array | SequenceType, item: Find, to_name: Skip,
        wanted: bytes) -> Find:
    skip = compile_skip(kind.item)

    def find(walk: Walk) -> list[Run] | None:
        before(walk)
        for _ in range(walk.count(kind)):
            walk.step()
            start = walk.position
            to_name(walk)
            found = walk.text() == wanted
            walk.position = start
            if found:
                return item(walk)
            skip(walk)
        return None
    return find


def _find_name_beside(
        before: Skip, kind: Array | SequenceType, item: Find, to_names: Skip,
        names: Array | SequenceType, wanted: bytes) -> Find:
    to_item = _to_item(kind)

    def find(walk: Walk) -> list[Run] | None:
        start = walk.position
        to_names(walk)
        index = -1
        for at in range(walk.count(names)):
            walk.step()
            if walk.text() == wanted:
                index = at
                break
        walk.position = start
        before(walk)
        if not 0 <= index < walk.count(kind):
            return None
        to_item(walk, index)
        return item(walk)
    return find


def _merged(guards: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(set(guards)):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
