# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Walking over raw CDR bytes without trusting them.

ROS 2 messages are XCDR version 1: four bytes of encapsulation (the second says the byte order),
then members in order, each aligned to its size, counted from behind the encapsulation. Lengths
of texts and sequences are unsigned 32-bit words.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.message_types import (
    Array,
    FieldType,
    MessageType,
    Primitive,
    Sequence,
    Text,
)

HEADER_BYTES = 4
MAX_STEPS = 200_000  # items visited one by one in one message; more is a hostile message
_WORDS = (struct.Struct('>I').unpack_from, struct.Struct('<I').unpack_from)

Skip = Callable[['Walk'], None]


class BrokenMessageError(Exception):
    """The bytes do not hold what the type promises; never leaves this room."""


class Walk:
    """A position in one raw message.

    Attributes:
        raw: The message with its encapsulation.
        position: Next byte; may lie behind the end until `require` is asked.
        order: Numpy's byte order mark.
        guards: Byte ranges whose values decided where the walk went.
        required: Bytes that the message has to have for the walk to go that way.
    """

    __slots__ = ('_steps', '_word', 'guards', 'order', 'position', 'raw', 'required')

    def __init__(self, raw: bytes) -> None:
        if len(raw) < HEADER_BYTES or raw[0] != 0 or raw[1] > 1:
            raise BrokenMessageError
        self.raw = raw
        self.required = HEADER_BYTES
        self.position = HEADER_BYTES
        self.order = '<' if raw[1] else '>'
        self.guards: list[tuple[int, int]] = [(0, 2)]
        self._word = _WORDS[raw[1]]
        self._steps = 0

    def align(self, size: int) -> None:
        """Move to the next multiple of `size`, a power of two."""
        self.position += -(self.position - HEADER_BYTES) & (size - 1)

    def require(self, end: int) -> None:
        """Refuse a message that ends before byte `end`."""
        if end > self.required:
            if end > len(self.raw):
                raise BrokenMessageError
            self.required = end

    def length(self) -> int:
        """Read the length of a text or sequence."""
        start = (self.position + 3) & ~3
        self.position = start + 4
        self.require(self.position)
        self.guards.append((start, start + 4))
        return int(self._word(self.raw, start)[0])

    def text(self) -> bytes:
        """Read a text without its closing zero."""
        length = self.length()
        start = self.position
        self.position += length
        self.require(self.position)
        self.guards.append((start, self.position))
        content = self.raw[start : self.position]
        return content[:-1] if content.endswith(b'\0') else content

    def count(self, kind: Array | Sequence) -> int:
        """Return the number of items of an array, and refuse one that cannot fit."""
        if isinstance(kind, Array):
            return kind.length
        length = self.length()
        self.require(self.position + length * least_bytes(kind.item))
        return length

    def step(self) -> None:
        """Count one item that is visited on its own."""
        self.require(self.position)
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise BrokenMessageError


def least_bytes(kind: FieldType) -> int:
    """Return the fewest bytes that a value of this type takes, padding left out."""
    if isinstance(kind, Primitive):
        return kind.size
    if isinstance(kind, Array):
        return kind.length * least_bytes(kind.item)
    if isinstance(kind, MessageType):
        return max(1, sum(least_bytes(field.type) for field in kind.fields))
    return 4


def fixed_advance(kind: FieldType) -> tuple[int, ...] | None:
    """Return how far a value reaches from each position modulo 8, or None if that varies."""
    if isinstance(kind, Primitive):
        return tuple((-phase & (kind.size - 1)) + kind.size for phase in range(8))
    if isinstance(kind, (Text, Sequence)):
        return None
    if isinstance(kind, Array):
        item = fixed_advance(kind.item)
        return item and tuple(advance(item, phase, kind.length) - phase for phase in range(8))
    ends = list(range(8))
    for field in kind.fields:
        table = fixed_advance(field.type)
        if table is None:
            return None
        ends = [end + table[end % 8] for end in ends]
    if not kind.fields:  # IDL has no empty struct: one byte stands for it
        return (1,) * 8
    return tuple(end - phase for phase, end in enumerate(ends))


def advance(table: tuple[int, ...], start: int, count: int) -> int:
    """Return where `count` values of a fixed type end that begin at `start`, modulo 8 aligned."""
    seen: dict[int, tuple[int, int]] = {}
    position = start
    done = 0
    while done < count:
        phase = position % 8
        if phase in seen:  # from here on the padding repeats
            first, then = seen[phase]
            cycles = (count - done) // (done - first)
            position += cycles * (position - then)
            done += cycles * (done - first)
            seen = {}
            if done == count:
                break
        else:
            seen[phase] = (done, position)
        position += table[position % 8]
        done += 1
    return position


def compile_skip(kind: FieldType) -> Skip:
    """Return a function that moves a walk behind a value of this type.

    Raises:
        SituationError: The type holds a wstring.
    """
    table = fixed_advance(kind)
    if table is not None:
        return _skip_fixed(table)
    if isinstance(kind, Text):
        if kind.wide:
            raise SituationError('a wstring cannot be read, nor what follows it')
        return _skip_text
    if isinstance(kind, MessageType):
        return _skip_all([compile_skip(field.type) for field in kind.fields])
    assert isinstance(kind, (Array, Sequence))
    item_table = fixed_advance(kind.item)
    if item_table is not None:
        return _skip_fixed_items(kind, item_table)
    return _skip_items(kind, compile_skip(kind.item))


def _skip_fixed(table: tuple[int, ...]) -> Skip:
    def skip(walk: Walk) -> None:
        walk.position += table[(walk.position - HEADER_BYTES) & 7]

    return skip


def _skip_text(walk: Walk) -> None:
    length = walk.length()  # moves the position, so not in one statement
    walk.position += length


def _skip_all(parts: list[Skip]) -> Skip:
    def skip(walk: Walk) -> None:
        for part in parts:
            part(walk)

    return skip


def _skip_fixed_items(kind: Array | Sequence, table: tuple[int, ...]) -> Skip:
    def skip(walk: Walk) -> None:
        count = walk.count(kind)
        offset = walk.position - HEADER_BYTES
        walk.position = advance(table, offset, count) + HEADER_BYTES

    return skip


def _skip_items(kind: Array | Sequence, item: Skip) -> Skip:
    def skip(walk: Walk) -> None:
        for _ in range(walk.count(kind)):
            walk.step()
            item(walk)

    return skip
