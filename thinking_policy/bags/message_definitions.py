# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Message types of a bag: from the definitions stored in it, else from the ROS distributions."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import (
    Stores,
    TypesysError,
    get_types_from_idl,
    get_types_from_msg,
    get_typestore,
)
from rosbags.typesys.store import Typestore

from thinking_policy.bags.storage import Definition
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.message_types import (
    MessageType,
    full_name,
    message_type_from_fields,
)

if TYPE_CHECKING:
    from rosbags.interfaces.typing import FieldDesc, Typesdict

# Bags recorded before Iron hold no definitions: the newest distribution that knows a type counts.
_DISTRIBUTIONS = (Stores.ROS2_JAZZY, Stores.ROS2_HUMBLE, Stores.ROS1_NOETIC)
_HEADER = 'std_msgs/msg/Header'
_IDL_SEPARATOR = '=' * 80 + '\n'
_UNPARSABLE = (
    TypesysError,
    SituationError,
    ValueError,
    LookupError,
    AssertionError,
    RecursionError,
    TypeError,
    AttributeError,
)


class TypeCatalog:
    """Looks up message types for one bag."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        """Remember definitions; each is parsed when its type is asked for."""
        self._definitions: dict[str, Definition] = {}
        for definition in definitions:
            self._definitions.setdefault(type_name(definition.type), definition)
        self._types: dict[str, MessageType | None] = {}
        self._stores: dict[str, Typestore | None] = {}

    def message_type(self, name: str) -> MessageType | None:
        """Return the description of a type, or None where nobody knows it."""
        if name not in self._types:
            self._types[name] = self._describe(name)
        return self._types[name]

    def to_cdr(self, name: str) -> Callable[[bytes], bytes] | None:
        """Return what turns a ROS 1 message of a type into CDR; None where the type is unknown.

        The returned function raises ValueError for bytes that do not hold such a message.
        """
        if name not in self._stores:
            self._stores[name] = self._ros1_store(name)
        store = self._stores[name]
        return None if store is None else functools.partial(_convert, store, name)

    def _describe(self, name: str) -> MessageType | None:
        own = self._own_types(name)
        if own:
            try:
                return message_type_from_fields(name, functools.partial(_members, own))
            except _UNPARSABLE:
                pass  # a definition may lack what it contains: the distributions may know it
        try:
            return message_type_from_fields(name, functools.partial(_members, {}))
        except _UNPARSABLE:
            return None

    def _own_types(self, name: str) -> Typesdict:
        """Parse the definition stored for a type, with the types it contains."""
        definition = self._definitions.get(name)
        if definition is None:
            return {}
        if not definition.text.strip() and any(name in _distribution(s) for s in _DISTRIBUTIONS):
            return {}  # a recorder that did not find the definition stored an empty one
        types: Typesdict = {}
        try:
            if definition.format != 'ros2idl':
                types.update(get_types_from_msg(definition.text, name))
            elif definition.text.startswith(f'{_IDL_SEPARATOR}IDL: '):
                for part in definition.text.split(_IDL_SEPARATOR)[1:]:
                    types.update(get_types_from_idl(part.split('\n', 1)[1]))
            else:
                types.update(get_types_from_idl(definition.text))
        except _UNPARSABLE:
            return {}
        # ROS 1 headers carry a sequence number that CDR does not have.
        if definition.format == 'ros1msg' and _HEADER in types:
            types[_HEADER] = _distribution(Stores.ROS2_JAZZY)[_HEADER]
        return types

    def _ros1_store(self, name: str) -> Typestore | None:
        own = self._own_types(name)
        if name not in own:
            return None
        times = {
            key: value
            for key, value in _distribution(Stores.ROS2_JAZZY).items()
            if key.startswith('builtin_interfaces/')
        }
        store = get_typestore(Stores.EMPTY)
        try:
            store.register({**times, **own})
            store.get_msgdef(name)
        except (*_UNPARSABLE, SyntaxError):
            return None
        return store


def type_name(name: str) -> str:
    """Return `pkg/msg/Name` for old spellings, and what cannot be a type name unchanged."""
    try:
        return full_name(name)
    except SituationError:
        return name


def _convert(store: Typestore, name: str, raw: bytes) -> bytes:
    try:
        return bytes(store.ros1_to_cdr(raw, name))
    except (
        SerdeError,
        struct.error,
        LookupError,
        AssertionError,
        OverflowError,
        MemoryError,
    ) as error:
        raise ValueError(str(error)) from error


@functools.cache
def _distribution(store: Stores) -> Typesdict:
    return get_typestore(store).fielddefs


def _members(own: Typesdict, name: str) -> Mapping[str, str]:
    """Return the members of a type as .msg files spell them."""
    for types in (own, *(_distribution(store) for store in _DISTRIBUTIONS)):
        if name in types:
            fields = {field: _spelling(kind) for field, kind in types[name][1]}
            # An empty struct takes one byte on the wire.
            return fields or {'structure_needs_at_least_one_member': 'uint8'}
    raise KeyError(name)


def _spelling(kind: FieldDesc) -> str:
    if kind[0] == Nodetype.BASE:
        return str(kind[1][0])
    if kind[0] == Nodetype.NAME:
        return str(kind[1])
    item, length = kind[1]
    brackets = f'[{length}]' if kind[0] == Nodetype.ARRAY else '[]'
    return _spelling(item) + brackets
