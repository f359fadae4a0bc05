# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Message types as plain data, whoever described them: rclpy, a bag or a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from thinking_policy.situation.errors import SituationError


@dataclass(frozen=True)
class Primitive:
    """A number of fixed size; `code` is numpy's type code without byte order, such as `f8`."""

    name: str
    code: str

    @property
    def size(self) -> int:
        """Bytes on the wire, which is also the alignment."""
        return int(self.code[1:])


@dataclass(frozen=True)
class Text:
    """A string; `wide` ones (wstring) differ between middleware versions and are not read."""

    wide: bool = False


@dataclass(frozen=True)
class Array:
    """Exactly `length` items."""

    item: FieldType
    length: int


@dataclass(frozen=True)
class Sequence:
    """Any number of items; a bound does not change what is on the wire."""

    item: FieldType


@dataclass(frozen=True)
class Field:
    """One named member of a message."""

    name: str
    type: FieldType


@dataclass(frozen=True)
class MessageType:
    """A message or a struct inside one, `name` being like `sensor_msgs/msg/Imu`."""

    name: str
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field | None:
        """Return the member of that name, or None."""
        for field in self.fields:
            if field.name == name:
                return field
        return None


FieldType = Primitive | Text | Array | Sequence | MessageType

FLOAT32 = Primitive('float32', 'f4')
FLOAT64 = Primitive('float64', 'f8')
INT32 = Primitive('int32', 'i4')
UINT8 = Primitive('uint8', 'u1')
UINT32 = Primitive('uint32', 'u4')
BOOL = Primitive('bool', 'u1')
TEXT = Text()

# Of a type with all that it contains. The largest of ROS have some hundreds; a definition in a
# damaged or hostile bag can hold 2^depth.
MOST_MEMBERS = 20_000
MOST_NESTED = 40

# IDL names (rclpy) and .msg names (bags); byte and char are one unsigned byte in ROS 2.
_PRIMITIVES = {
    'bool': BOOL,
    'boolean': BOOL,
    'byte': UINT8,
    'octet': UINT8,
    'char': UINT8,
    'uint8': UINT8,
    'int8': Primitive('int8', 'i1'),
    'int16': Primitive('int16', 'i2'),
    'uint16': Primitive('uint16', 'u2'),
    'int32': INT32,
    'uint32': UINT32,
    'int64': Primitive('int64', 'i8'),
    'uint64': Primitive('uint64', 'u8'),
    'float': FLOAT32,
    'float32': FLOAT32,
    'double': FLOAT64,
    'float64': FLOAT64,
}
_SEQUENCE = re.compile(r'sequence<(.+?)(?:\s*,\s*\d+)?>')
_BRACKETS = re.compile(r'(.+)\[(<=)?(\d*)\]')
_TEXT = re.compile(r'(w?)string(?:<=?\s*\d+>?)?')
_NAME = re.compile(r'([A-Za-z]\w*)/(?:(?:msg|srv|action)/)?([A-Za-z]\w*)')


def full_name(name: str) -> str:
    """Return `pkg/msg/Name` for `pkg/Name` or `pkg/msg/Name`.

    Raises:
        SituationError: Not the name of a message type.
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise SituationError(f'{name!r}: expected a message type such as sensor_msgs/msg/Imu')
    return name.strip() if name.count('/') == 2 else f'{match[1]}/msg/{match[2]}'


def message_type_from_fields(name: str, lookup: Callable[[str], Mapping[str, str]]) -> MessageType:
    """Describe a message type from the field types of it and of what it contains.

    Args:
        name: Such as `sensor_msgs/msg/Imu`.
        lookup: Gives the members of a type, in order, for a name of the form `pkg/msg/Name`:
            `{'header': 'std_msgs/Header', 'ranges': 'sequence<float>'}`, which is what rclpy's
            `get_fields_and_field_types()` returns. The spellings of .msg files (`float32[]`,
            `float64[9]`, `string<=10`) do as well.

    Raises:
        SituationError: An unknown type, an unknown spelling, or a type that contains itself.
    """
    known: dict[str, MessageType] = {}
    sizes: dict[str, int] = {}

    def describe(type_name: str, above: tuple[str, ...]) -> MessageType:
        type_name = full_name(type_name)
        if type_name in known:
            return known[type_name]
        if type_name in above:
            raise SituationError(f'{name}: {type_name} contains itself')
        if len(above) > MOST_NESTED:
            raise SituationError(f'{name}: structs are nested deeper than {MOST_NESTED}')
        try:
            members = lookup(type_name)
        except LookupError as error:
            raise SituationError(f'{name}: the type {type_name} is not known here') from error
        inner = (*above, type_name)
        fields = []
        for field_name, text in members.items():
            try:
                kind = _parse(text, lambda nested: describe(nested, inner))
            except SituationError as error:
                raise SituationError(f'{type_name}.{field_name}: {error}') from error
            fields.append(Field(field_name, kind))
        sizes[type_name] = sum(1 + sizes.get(_struct_name(f.type), 0) for f in fields)
        if sizes[type_name] > MOST_MEMBERS:
            raise SituationError(f'{name}: {type_name} has more than {MOST_MEMBERS} members')
        known[type_name] = MessageType(type_name, tuple(fields))
        return known[type_name]

    return describe(name, ())


def _struct_name(kind: FieldType) -> str:
    while isinstance(kind, (Array, Sequence)):
        kind = kind.item
    return kind.name if isinstance(kind, MessageType) else ''


def _parse(text: str, nested: Callable[[str], MessageType]) -> FieldType:
    text = text.strip()
    if match := _BRACKETS.fullmatch(text):
        item = _parse(match[1], nested)
        return Sequence(item) if match[2] or not match[3] else Array(item, int(match[3]))
    if match := _SEQUENCE.fullmatch(text):
        return Sequence(_parse(match[1], nested))
    if match := _TEXT.fullmatch(text):
        return Text(wide=bool(match[1]))
    if text in _PRIMITIVES:
        return _PRIMITIVES[text]
    if '/' in text:
        return nested(text)
    raise SituationError(f'{text!r} is not a type that can be read')
