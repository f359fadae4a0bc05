# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Paths into a message: `temperature`, `a.b`, `temperatures[2]`, `effort[shoulder_pan_joint]`.

A name in brackets is looked up at run time: in an array of structs by their own text field
(`name`, `joint_name` or `id`), in any other array by the text array beside it (`name`, `names`
or `joint_names`). Quotes make a name of digits: `effort['2']`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.message_types import (
    Array,
    Field,
    FieldType,
    MessageType,
    Primitive,
    Sequence,
    Text,
)

NAMES_BESIDE = ('name', 'names', 'joint_names')
NAME_WITHIN = ('name', 'joint_name', 'id')
MOST_LISTED = 40  # paths that an error message lists

_STEP = re.compile(
    r'([A-Za-z_]\w*)(?:\[\s*(?:(\d{1,9})|\'([^\']+)\'|"([^"]+)"|([^\]\'"]+?))\s*\])?'
)
_LAST_STEP = re.compile(r'[A-Za-z_]\w*(?:\[[^\]]*\])?$')


@dataclass(frozen=True)
class PathStep:
    """One member of a path, with the index or the name in brackets behind it."""

    name: str
    key: int | str | None = None


def parse_path(text: str) -> tuple[PathStep, ...]:
    """Split a path into its steps.

    Raises:
        SituationError: Not of the form `a.b`, `a[2].b` or `a[name]`.
    """
    steps: list[PathStep] = []
    position = 0
    while True:
        match = _STEP.match(text, position)
        if match is None:
            break
        name, index, *quoted = match.groups()
        key = next((part for part in quoted if part is not None), None)
        steps.append(PathStep(name, int(index) if index is not None else key))
        position = match.end()
        if position == len(text):
            return tuple(steps)
        if text[position] != '.':
            break
        position += 1
    raise SituationError(
        f'field {text!r}: expected a path such as a.b, a[2].b or effort[joint_name], '
        f'but cannot read on at {text[position:]!r}'
    )


def resolve_path(message_type: MessageType, path: str) -> FieldType:
    """Return the type at the end of `path`: a number, an array of numbers or a struct of numbers.

    Raises:
        SituationError: The path does not exist or does not end in numbers; the message lists
            the paths that do.
    """
    at: FieldType = message_type
    for step in parse_path(path):
        field = at.field(step.name) if isinstance(at, MessageType) else None
        if field is None or not isinstance(at, MessageType):
            raise _missing(message_type, path, f'there is no {step.name!r} in {_describe(at)}')
        if step.key is None:
            at = field.type
            continue
        if not isinstance(field.type, (Array, Sequence)):
            raise _missing(message_type, path, f'{step.name!r} is no array')
        if (
            isinstance(step.key, str)
            and name_within(field.type) is None
            and names_beside(at) is None
        ):
            raise _missing(message_type, path, f'{step.name!r} has no names, only indices')
        if (
            isinstance(field.type, Array)
            and isinstance(step.key, int)
            and step.key >= field.type.length
        ):
            raise _missing(
                message_type, path, f'{step.name!r} has only {field.type.length} entries'
            )
        at = field.type.item
    if not is_numeric(at):
        raise _missing(message_type, path, f'{_describe(at)} is no number and no array of numbers')
    return at


def is_numeric(kind: FieldType) -> bool:
    """Whether a reduction can take it: a number, an array of numbers, a struct of numbers."""
    if isinstance(kind, (Array, Sequence)):
        return isinstance(kind.item, Primitive)
    if isinstance(kind, MessageType):
        return bool(kind.fields) and all(isinstance(f.type, Primitive) for f in kind.fields)
    return isinstance(kind, Primitive)


def name_within(kind: Array | Sequence) -> str | None:
    """Return the member of an array's structs that names them."""
    if isinstance(kind.item, MessageType):
        for name in NAME_WITHIN:
            field = kind.item.field(name)
            if field is not None and field.type == Text():
                return name
    return None


def names_beside(parent: MessageType) -> Field | None:
    """Return the text array of a struct that names the entries of its other arrays."""
    for name in NAMES_BESIDE:
        field = parent.field(name)
        if (
            field is not None
            and isinstance(field.type, (Array, Sequence))
            and field.type.item == Text()
        ):
            return field
    return None


def sibling(path: str, name: str) -> str:
    """Return the path of another member of the struct that the last step is in."""
    return _LAST_STEP.sub(name, path)


def numeric_paths(message_type: MessageType) -> list[str]:
    """Return all paths of a message that end in numbers, arrays with `[0]` where they need one."""
    found: list[str] = []

    def visit(kind: FieldType, path: str) -> None:
        if is_numeric(kind) and path:
            found.append(path)
        if isinstance(kind, MessageType):
            for field in kind.fields:
                visit(field.type, f'{path}.{field.name}' if path else field.name)
        elif isinstance(kind, (Array, Sequence)) and isinstance(kind.item, MessageType):
            visit(kind.item, f'{path}[0]')

    visit(message_type, '')
    return found


def _missing(message_type: MessageType, path: str, why: str) -> SituationError:
    paths = numeric_paths(message_type)
    close = difflib.get_close_matches(path, paths, n=1)
    hint = f'; did you mean {close[0]!r}?' if close else ''
    more = f' and {len(paths) - MOST_LISTED} more' if len(paths) > MOST_LISTED else ''
    return SituationError(
        f'{message_type.name}: field {path!r}: {why}{hint} '
        f'There are: {", ".join(paths[:MOST_LISTED]) or "none"}{more}'
    )


def _describe(kind: FieldType) -> str:
    if isinstance(kind, (Array, Sequence)):
        return f'an array of {_describe(kind.item)}'
    if isinstance(kind, Text):
        return 'text'
    return kind.name
