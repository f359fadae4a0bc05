# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads ROS 1 bags (format 2.0): by their index, else from the top up to where they were cut.

Messages stay as ROS 1 wrote them here; the reader turns them into CDR. `rosbags` could read
intact bags, but holds an index entry for every message and refuses bags without an index,
which is what a killed recorder leaves.
"""

from __future__ import annotations

import functools
import struct
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from thinking_policy.bags.decompression import LARGEST, decompress
from thinking_policy.bags.definition_limits import workable
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.storage import (
    Channel,
    Definition,
    Item,
    Room,
    Source,
    in_order_of_time,
    printable,
    reason,
)

_MAGIC = b'#ROSBAG V2.0\n'
_MESSAGE, _BAG_HEADER, _CHUNK, _CHUNK_INFO, _CONNECTION = 2, 3, 5, 6, 7
_LENGTH = struct.Struct('<I')
_TIME = struct.Struct('<II')  # seconds, nanoseconds
_BROKEN = (struct.error, ValueError, KeyError, IndexError)

Header = dict[bytes, bytes]


@dataclass(frozen=True)
class _Chunk:
    start_ns: int
    end_ns: int
    offset: int
    connections: frozenset[int]


class Ros1Storage:
    """One .bag file."""

    def __init__(self, path: Path, name: str) -> None:
        """Open the file and find its chunks.

        Raises:
            BagError: Encrypted, or nothing in it can be read.
        """
        self.problems: Counter[str] = Counter()
        self._name = name
        self._file = path.open('rb')
        self._size = path.stat().st_size
        self._connections: dict[int, tuple[str, Definition]] = {}
        self._counts: Counter[int] = Counter()
        self._chunks: list[_Chunk] = []
        self._said: set[tuple[int, str]] = set()
        if not self._read_index():
            self._scan()
        if not self._connections and self.problems:
            self.close()
            reasons = '; '.join(what.removeprefix(f'{name}: ') for what in self.problems)
            raise BagError(f'{name}: no message can be read: {reasons}; copy the file again')
        self.start_ns = min((chunk.start_ns for chunk in self._chunks), default=None)
        self.end_ns = max((chunk.end_ns for chunk in self._chunks), default=None)
        self._described = {
            i: Channel(topic, definition.type, self._counts[i], 'ros1')
            for i, (topic, definition) in self._connections.items()
        }
        self.channels = tuple(self._described.values())
        self.definitions = tuple(
            workable(dict.fromkeys(d for _, d in self._connections.values()), name, self.problems)
        )

    def messages(self, channels: Collection[Channel]) -> Iterator[Item]:
        """Yield messages, as ROS 1 wrote them, in order of record time."""
        topics = {
            i: channel.topic for i, channel in self._described.items() if channel in channels
        }
        room = Room()
        yield from in_order_of_time(
            Source(
                chunk.start_ns,
                functools.partial(room.messages, functools.partial(self._load, chunk, topics)),
                again=True,
            )
            for chunk in self._chunks
            if chunk.connections & topics.keys()
        )

    def record_times(self) -> Iterator[int]:
        """Yield record times in order of recording."""
        for chunk in sorted(self._chunks, key=lambda chunk: chunk.offset):
            for header, _ in self._records(chunk.offset):
                if header[b'op'][0] == _MESSAGE:
                    yield _time(header[b'time'])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read_index(self) -> bool:
        """Take connections and chunks from the index at the end; False where there is none."""
        try:
            head, _, _ = self._record_at(len(_MAGIC))
            if head.get(b'encryptor'):
                self.close()
                raise BagError(
                    f'{self._name}: encrypted with '
                    f'{head[b"encryptor"].decode("ascii", "replace")}; expected a '
                    'plain bag; decrypt it first'
                )
            position = int.from_bytes(head[b'index_pos'], 'little')
            if not position or head[b'op'][0] != _BAG_HEADER:
                return False
            while position < self._size:
                header, body, position = self._record_at(position)
                self._index_record(header, body)
            promised = (
                int.from_bytes(head[b'conn_count'], 'little'),
                int.from_bytes(head[b'chunk_count'], 'little'),
            )
        except _BROKEN:
            return False
        return position == self._size and promised == (len(self._connections), len(self._chunks))

    def _index_record(self, header: Header, body: bytes) -> None:
        operation = header[b'op'][0]
        if operation == _CONNECTION:
            self._learn(header, body)
        elif operation == _CHUNK_INFO:
            pairs = list(struct.iter_unpack('<II', body))
            offset = int.from_bytes(header[b'chunk_pos'], 'little')
            if offset >= self._size:
                raise ValueError('chunk outside the file')
            self._counts.update(dict(pairs))
            self._chunks.append(
                _Chunk(
                    _time(header[b'start_time']),
                    _time(header[b'end_time']),
                    offset,
                    frozenset(connection for connection, _ in pairs),
                )
            )
        else:
            raise ValueError(f'operation {operation} in the index')

    def _scan(self) -> None:
        """Read every chunk once from the top of the file to its end or cut."""
        index = self._index_at()
        self.problems[
            f'{self._name}: index cut or damaged, read from the top'
            if index
            else f'{self._name}: no index (recording was cut off), read from the top'
        ] += 1
        self._connections, self._chunks = {}, []
        self._counts.clear()
        position = len(_MAGIC)
        reached = False  # the index, in which no message can be lost
        while position < self._size:
            reached = reached or position == index
            try:
                header, _, following = self._record_at(position, body=False)
                operation = header[b'op'][0]
            except _BROKEN:
                self._say_end(position, reached)
                return
            if operation == _CHUNK:
                reached = False  # what was said about the index is not true
                self._survey(position)
            if following > self._size:
                self._say_end(self._size, reached)
            position = following

    def _say_end(self, position: int, in_index: bool) -> None:
        if not in_index:
            what = (
                f'the file is cut at byte {position:,}'
                if position == self._size
                else f'cut or damaged at byte {position:,} of {self._size:,}'
            )
            self.problems[f'{self._name}: {what}, read up to there'] += 1

    def _index_at(self) -> int:
        """Return where the index begins; 0 where it is not in the file."""
        try:
            head, _, following = self._record_at(len(_MAGIC))
            position = int.from_bytes(head[b'index_pos'], 'little')
        except _BROKEN:
            return 0
        return position if following <= position < self._size else 0

    def _survey(self, offset: int) -> None:
        low, high, inside = 2**64, -1, set()
        for header, body in self._records(offset):
            if header[b'op'][0] == _CONNECTION:
                try:
                    self._learn(header, bytes(body))
                except _BROKEN:
                    self._say(offset, 'damaged connection, its messages are lost')
            elif header[b'op'][0] == _MESSAGE:
                stamp = _time(header[b'time'])
                connection = int.from_bytes(header[b'conn'], 'little')
                low, high = min(low, stamp), max(high, stamp)
                inside.add(connection)
                self._counts[connection] += 1
        if inside:
            self._chunks.append(_Chunk(low, high, offset, frozenset(inside)))

    def _load(self, chunk: _Chunk, topics: Mapping[int, str]) -> list[Item]:
        items: list[Item] = []
        for header, body in self._records(chunk.offset):
            if header[b'op'][0] == _MESSAGE:
                topic = topics.get(int.from_bytes(header[b'conn'], 'little'))
                if topic is not None:
                    items.append((topic, _time(header[b'time']), bytes(body)))
        items.sort(key=_stamp)
        if items and not chunk.start_ns <= items[0][1] <= items[-1][1] <= chunk.end_ns:
            self._say(chunk.offset, 'chunk with other times than its index says')
        return items

    def _records(self, offset: int) -> Iterator[tuple[Header, memoryview]]:
        """Yield the records inside a chunk that have what a reader needs."""
        data = self._unpack_chunk(offset)
        view, position = memoryview(data), 0
        while position < len(data):
            try:
                header, start, position = _parse(data, position)
                if position > len(data):
                    raise ValueError('cut')
                if header[b'op'][0] == _MESSAGE:
                    _time(header[b'time'])
                    header[b'conn']
            except _BROKEN:
                self._say(offset, 'chunk cut or damaged, read up to there')
                return
            yield header, view[start:position]

    def _unpack_chunk(self, offset: int) -> bytes:
        try:
            header, body, end = self._record_at(offset)
            size = int.from_bytes(header[b'size'], 'little')
            data, whole = decompress(header[b'compression'].decode('ascii'), body, size)
        except (*_BROKEN, MemoryError) as error:
            self._say(offset, f'chunk cannot be read ({reason(error)})')
            return b''
        if not whole or end > self._size or len(data) != size:
            self._say(offset, 'chunk cut or damaged, read up to there')
        return data

    def _record_at(self, offset: int, *, body: bool = True) -> tuple[Header, bytes, int]:
        """Return a record's header, its body as far as the file goes, and its end."""
        self._file.seek(offset)
        length = _LENGTH.unpack(self._file.read(4))[0]
        if offset + 4 + length > self._size or length > LARGEST:
            raise ValueError('header outside the file')
        header = _fields(self._file.read(length))
        size = _LENGTH.unpack(self._file.read(4))[0]
        start = offset + 8 + length
        data = self._file.read(min(size, self._size - start, LARGEST)) if body else b''
        return header, data, start + size

    def _learn(self, header: Header, body: bytes) -> None:
        fields = _fields(body)
        text = fields[b'message_definition'].decode('utf-8', 'replace')
        connection = int.from_bytes(header[b'conn'], 'little')
        topic = printable(header[b'topic'].decode('utf-8', 'replace'))
        kind = printable(fields[b'type'].decode('utf-8', 'replace'))
        self._connections.setdefault(connection, (topic, Definition(kind, 'ros1msg', text)))

    def _say(self, offset: int, what: str) -> None:
        """Count a problem once for each chunk, however often the chunk is read."""
        if (offset, what) not in self._said:
            self._said.add((offset, what))
            self.problems[f'{self._name}: {what}'] += 1


def _parse(data: bytes, position: int) -> tuple[Header, int, int]:
    """Return a record's header, where its body starts and where it ends."""
    length = _LENGTH.unpack_from(data, position)[0]
    start = position + 8 + length
    header = _fields(data[position + 4 : position + 4 + length])
    return header, start, start + _LENGTH.unpack_from(data, start - 4)[0]


def _fields(data: bytes) -> Header:
    fields: Header = {}
    position = 0
    while position < len(data):
        size = _LENGTH.unpack_from(data, position)[0]
        name, separator, value = data[position + 4 : position + 4 + size].partition(b'=')
        if not separator:
            raise ValueError('header field without =')
        fields[name] = value
        position += 4 + size
    return fields


def _time(raw: bytes) -> int:
    seconds, nanoseconds = _TIME.unpack(raw)
    return int(seconds) * 10**9 + int(nanoseconds)


def _stamp(item: Item) -> int:
    return item[1]
