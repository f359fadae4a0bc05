# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Builds messages from field paths and numbers, and serializes them as CDR."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys.store import Typestore

from thinking_policy.bags.errors import BagError
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.field_paths import parse_path

if TYPE_CHECKING:
    from rosbags.interfaces.typing import FieldDesc

_HEADER = 'std_msgs/msg/Header'
_LARGEST_INDEX = 10_000

LATEST_HEADER_NS = 2**31 * 10**9 - 1
"""A header's seconds have 32 bits with a sign."""

Tree = dict[Any, Any]
"""Field names (or indices) to trees or to values."""


class MessageBuilder:
    """Makes messages of one type in which some fields change from row to row."""

    def __init__(
        self,
        store: Typestore,
        type_name: str,
        paths: Sequence[str],
        constants: Mapping[str, Any],
        frame_id: str,
        where: str,
    ) -> None:
        """Check the paths against the type.

        Args:
            store: Knows the type.
            type_name: Such as `sensor_msgs/msg/Imu`.
            paths: Fields that are filled by each row.
            constants: Fields that are the same in every message.
            frame_id: For the header, where the type has one.
            where: Topic, named in errors.

        Raises:
            BagError: A path that does not lead to a number, or a constant that does not fit.
        """
        self._store = store
        self._type = type_name
        self._where = where
        self._paths = [self._steps(path) for path in paths]
        self._constants = [(self._steps(path), value) for path, value in constants.items()]
        self.has_header = any(
            name == 'header' and kind == (Nodetype.NAME, _HEADER)
            for name, kind in store.fielddefs[type_name][1]
        )
        self._frame_id = frame_id
        self.whole_numbers = [
            self._is_whole(steps, path) for steps, path in zip(self._paths, paths, strict=True)
        ]
        try:
            self.build([0.0] * len(paths), 0)
        except (ValueError, TypeError, OverflowError, AttributeError) as error:
            raise BagError(
                f'{where}: the constants {dict(constants)} do not fit into {type_name} ({error})'
            ) from error

    def build(self, numbers: Sequence[float], stamp_ns: int) -> bytes:
        """Return the serialized message with one number per path.

        Raises:
            ValueError: A number that its field cannot hold (NaN or too large for an integer).
        """
        tree: Tree = {}
        for steps, value in self._constants:
            _put(tree, steps, value)
        for steps, number in zip(self._paths, numbers, strict=True):
            _put(tree, steps, number)
        if self.has_header:
            header = tree.setdefault('header', {})
            header['stamp'] = {'sec': stamp_ns // 10**9, 'nanosec': stamp_ns % 10**9}
            header.setdefault('frame_id', self._frame_id)
        try:
            message = self._message(self._type, tree)
            return bytes(self._store.serialize_cdr(message, self._type))
        except (struct.error, ArithmeticError, TypeError) as error:
            raise ValueError(str(error)) from error

    def _message(self, name: str, tree: Tree) -> Any:
        values = [
            self._value(kind, tree.get(field)) for field, kind in self._store.fielddefs[name][1]
        ]
        return self._store.types[name](*values)

    def _value(self, kind: FieldDesc, given: Any) -> Any:
        if kind[0] == Nodetype.NAME:
            return self._message(str(kind[1]), given or {})
        if kind[0] == Nodetype.BASE:
            return _scalar(str(kind[1][0]), given)
        item, length = kind[1]
        entries = list(given) if isinstance(given, (list, tuple)) else _listed(given or {})
        if kind[0] == Nodetype.ARRAY:
            if len(entries) > length:
                raise ValueError(f'{len(entries)} entries in an array of {length}')
            entries += [None] * (length - len(entries))
        made = [self._value(item, entry) for entry in entries]
        if item[0] == Nodetype.BASE and item[1][0] != 'string':
            name = _numpy_name(str(item[1][0]))
            with np.errstate(over='raise'):
                return np.array(made, np.float64 if name.startswith('float') else name).astype(
                    name
                )
        return made

    def _steps(self, path: str) -> list[str | int]:
        try:
            parsed = parse_path(path)
        except SituationError as error:
            raise BagError(f'{self._where}: {error}') from error
        steps: list[str | int] = []
        for step in parsed:
            steps.append(step.name)
            if isinstance(step.key, int) and step.key <= _LARGEST_INDEX:
                steps.append(step.key)
            elif step.key is not None:
                raise BagError(
                    f'{self._where}: {path}: expected an index up to '
                    f'{_LARGEST_INDEX}, found {step.key!r}'
                )
        return steps

    def _is_whole(self, steps: Sequence[str | int], path: str) -> bool:
        """Follow a path through the type; return whether it ends in an integer."""
        kind: Any = (Nodetype.NAME, self._type)
        for step in steps:
            if isinstance(step, int):
                if kind[0] not in (Nodetype.ARRAY, Nodetype.SEQUENCE):
                    raise BagError(f'{self._where}: {path}: not an array in {self._type}')
                kind = kind[1][0]
                continue
            fields = dict(self._store.fielddefs[kind[1]][1]) if kind[0] == Nodetype.NAME else {}
            if step not in fields:
                raise BagError(
                    f'{self._where}: {path}: {self._type} has no such field; there '
                    f'{"are " + ", ".join(fields) if fields else "is nothing inside"}'
                )
            kind = fields[step]
        if kind[0] != Nodetype.BASE or kind[1][0] in ('string', 'wstring'):
            raise BagError(
                f'{self._where}: {path}: not a number in {self._type}; name one inside it'
            )
        return not str(kind[1][0]).startswith('float')


def _put(tree: Tree, steps: Sequence[str | int], value: Any) -> None:
    for step, following in itertools.pairwise(steps):
        inner = tree.get(step)
        if isinstance(inner, list) and isinstance(following, int):
            inner = dict(enumerate(inner))
        elif not isinstance(inner, dict):
            inner = {}
        tree[step] = inner
        tree = inner
    tree[steps[-1]] = value


def _listed(entries: Mapping[int, Any]) -> list[Any]:
    """Return indexed entries as a list; what lies between is unknown."""
    return [entries.get(i, math.nan) for i in range(max(entries) + 1)] if entries else []


def _scalar(kind: str, given: Any) -> Any:
    if kind in ('string', 'wstring'):
        return '' if given is None else str(given)
    if kind == 'bool':
        return bool(given)
    if kind.startswith('float'):
        return 0.0 if given is None else float(given)
    return 0 if given is None else round(given)


def _numpy_name(kind: str) -> str:
    return {'byte': 'uint8', 'char': 'uint8'}.get(kind, kind)
