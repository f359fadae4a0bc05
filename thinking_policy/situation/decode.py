# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Whole messages to dictionaries, for events and for tests of the fast readers."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from thinking_policy.situation.message_types import (
    Array,
    FieldType,
    MessageType,
    Primitive,
    Sequence,
    Text,
)
from thinking_policy.situation.wire import BrokenMessageError, Skip, Walk, compile_skip

_Read = Callable[[Walk], Any]
_STRUCT = {
    'u1': 'B',
    'i1': 'b',
    'u2': 'H',
    'i2': 'h',
    'u4': 'I',
    'i4': 'i',
    'u8': 'Q',
    'i8': 'q',
    'f4': 'f',
    'f8': 'd',
}


def decode(message_type: MessageType, raw: bytes) -> dict[str, Any] | None:
    """Return a message as nested dictionaries, or None if it is broken.

    Texts are str (bad UTF-8 replaced), arrays of numbers are numpy arrays in native byte order,
    other arrays are lists, single numbers are int or float.

    Raises:
        SituationError: The type holds a wstring.
    """
    return _cached_decoder(message_type)(raw)


def compile_decoder(
    message_type: MessageType, only: Collection[str] | None = None
) -> Callable[[bytes], dict[str, Any] | None]:
    """Return `decode` for one type.

    Args:
        message_type: Type of the raw messages.
        only: Dotted paths of the members to keep (`status.level` for one in each struct of an
            array); the others are passed over unread. None keeps all.
    """
    read = _read_struct(message_type, None if only is None else frozenset(only))

    def decode_one(raw: bytes) -> dict[str, Any] | None:
        try:
            walk = Walk(raw)
            message: dict[str, Any] = read(walk)
            walk.require(walk.position)
        except BrokenMessageError:
            return None
        return message

    return decode_one


@functools.lru_cache(maxsize=64)
def _cached_decoder(message_type: MessageType) -> Callable[[bytes], dict[str, Any] | None]:
    return compile_decoder(message_type)


def _compile(kind: FieldType, only: frozenset[str] | None) -> _Read:
    if isinstance(kind, MessageType):
        return _read_struct(kind, only)
    if isinstance(kind, Text):
        compile_skip(kind)
        return _read_text
    if isinstance(kind, Primitive):
        return _read_number(kind)
    if isinstance(kind.item, Primitive):
        return _read_numbers(kind, kind.item)
    return _read_items(kind, _compile(kind.item, only))


def _read_struct(kind: MessageType, only: frozenset[str] | None) -> _Read:
    parts: list[tuple[str | None, _Read | Skip]] = []
    for field in kind.fields:
        if only is not None and not any(
            path == field.name or path.startswith(f'{field.name}.') for path in only
        ):
            parts.append((None, compile_skip(field.type)))
            continue
        inner = None
        if only is not None and field.name not in only:
            cut = len(field.name) + 1
            inner = frozenset(p[cut:] for p in only if p.startswith(f'{field.name}.'))
        parts.append((field.name, _compile(field.type, inner)))
    empty = compile_skip(kind) if not kind.fields else None

    def read(walk: Walk) -> dict[str, Any]:
        if empty is not None:
            empty(walk)
        message: dict[str, Any] = {}
        for name, part in parts:
            if name is None:
                part(walk)
            else:
                message[name] = part(walk)
        return message

    return read


def _read_text(walk: Walk) -> str:
    length = walk.length()
    start = walk.position
    walk.position += length
    walk.require(walk.position)
    content = walk.raw[start : walk.position]
    return (content[:-1] if content.endswith(b'\0') else content).decode('utf-8', 'replace')


def _read_number(kind: Primitive) -> _Read:
    unpack = {order: struct.Struct(order + _STRUCT[kind.code]).unpack_from for order in '<>'}

    def read(walk: Walk) -> Any:
        walk.align(kind.size)
        start = walk.position
        walk.position += kind.size
        walk.require(walk.position)
        return unpack[walk.order](walk.raw, start)[0]

    return read


def _read_numbers(kind: Array | Sequence, item: Primitive) -> _Read:
    def read(walk: Walk) -> Any:
        count = walk.count(kind)
        if not count:
            return np.empty(0, item.code)
        walk.align(item.size)
        start = walk.position
        walk.position += count * item.size
        walk.require(walk.position)
        return np.frombuffer(walk.raw, walk.order + item.code, count, start).astype(item.code)

    return read


def _read_items(kind: Array | Sequence, item: _Read) -> _Read:
    def read(walk: Walk) -> Any:
        items = []
        for _ in range(walk.count(kind)):
            walk.step()
            items.append(item(walk))
        return items

    return read
