# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Finding the numbers of a field in one raw message: a path compiled to a walk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thinking_policy.situation.field_paths import (
    PathStep,
    name_within,
    names_beside,
    parse_path,
)
from thinking_policy.situation.message_types import (
    Array,
    FieldType,
    MessageType,
    Primitive,
    Sequence,
)
from thinking_policy.situation.wire import (
    HEADER_BYTES,
    Skip,
    Walk,
    advance,
    compile_skip,
    fixed_advance,
)


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


def compile_find(message_type: MessageType, path: str) -> Find:
    """Return what moves a walk to the end of `path`, which exists in the type.

    Raises:
        SituationError: A wstring stands before the field.
    """
    return _find(message_type, parse_path(path))


def _find(parent: MessageType, steps: tuple[PathStep, ...]) -> Find:
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
    assert isinstance(kind, (Array, Sequence))
    item = _find_end(kind.item, rest)
    if isinstance(step.key, int):
        return _find_index(before, kind, item, step.key)
    wanted = step.key.encode()
    within = name_within(kind)
    if within is not None:
        assert isinstance(kind.item, MessageType)
        return _find_named_item(before, kind, item, _skip_to(kind.item, within), wanted)
    names = names_beside(parent)
    assert names is not None, 'the path was resolved before'
    assert isinstance(names.type, (Array, Sequence))
    return _find_name_beside(before, kind, item, _skip_to(parent, names.name), names.type, wanted)


def _find_end(kind: FieldType, rest: tuple[PathStep, ...]) -> Find:
    if rest:
        assert isinstance(kind, MessageType)
        return _find(kind, rest)
    if isinstance(kind, (Array, Sequence)):
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


def _find_numbers(kind: Array | Sequence) -> Find:
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


def _to_item(kind: Array | Sequence) -> Callable[[Walk, int], None]:
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


def _find_index(before: Skip, kind: Array | Sequence, item: Find, index: int) -> Find:
    to_item = _to_item(kind)

    def find(walk: Walk) -> list[Run] | None:
        before(walk)
        if index >= walk.count(kind):
            return None
        to_item(walk, index)
        return item(walk)

    return find


def _find_named_item(
    before: Skip, kind: Array | Sequence, item: Find, to_name: Skip, wanted: bytes
) -> Find:
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
    before: Skip,
    kind: Array | Sequence,
    item: Find,
    to_names: Skip,
    names: Array | Sequence,
    wanted: bytes,
) -> Find:
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
