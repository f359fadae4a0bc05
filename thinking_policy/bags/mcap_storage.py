# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads MCAP files: by their summary where they have one, else up to where they were cut."""

from __future__ import annotations

import functools
import operator
import struct
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import mcap.records
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.summary import Summary

from thinking_policy.bags.decompression import LARGEST, decompress
from thinking_policy.bags.definition_limits import workable
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.mcap_summary import read_summary
from thinking_policy.bags.storage import (
    LATEST_NS,
    Channel,
    Definition,
    Item,
    Room,
    Source,
    in_order_of_time,
    printable,
    reason,
)

_RECORD = struct.Struct('<BQ')  # operation, length of what follows
_MESSAGE = struct.Struct('<HIQQ')  # channel, sequence, log time, publish time
_CHUNK = struct.Struct('<QQQII')  # first and last time, size, checksum, length of the next word
_MAGIC_LENGTH = 8
_PLAIN = ('', 'none')
_RUN = 2**20  # bytes of messages outside chunks that are taken together
_LONGEST = LARGEST + _RUN  # bytes of the file that are read at once
_BROKEN = (
    McapError,
    struct.error,
    UnicodeDecodeError,
    ValueError,
    KeyError,
    IndexError,
    MemoryError,
    OverflowError,
)


@dataclass(frozen=True)
class _Piece:
    """A chunk, or a run of messages outside chunks.

    `channels` is None where it is not known which topics are inside.
    """

    start_ns: int
    end_ns: int
    offset: int
    length: int
    chunk: bool
    channels: frozenset[int] | None = None


class McapStorage:
    """One .mcap file."""

    def __init__(self, path: Path, name: str) -> None:
        """Open the file and find its chunks.

        Raises:
            BagError: MCAP, but nothing in it can be read.
        """
        self.problems: Counter[str] = Counter()
        self._name = name
        self._file = path.open('rb')
        self._size = path.stat().st_size
        self._channels: dict[int, mcap.records.Channel] = {}
        self._schemas: dict[int, mcap.records.Schema] = {}
        self._counts: Counter[int] = Counter()
        self._pieces: list[_Piece] = []
        self._said: set[tuple[int, str]] = set()
        self._read: dict[int, Counter[str]] = {}  # messages by topic of each piece that was read
        summary = self._read_summary()
        if summary is None or not self._take(summary):
            self._scan()
        self.start_ns = min((piece.start_ns for piece in self._pieces), default=None)
        self.end_ns = max((piece.end_ns for piece in self._pieces), default=None)
        self._described = {i: self._describe(c) for i, c in self._channels.items()}
        self.channels = tuple(self._described.values())
        self.definitions = tuple(workable(self._definitions(), name, self.problems))
        if not self._channels and self.problems:
            self.close()
            reasons = '; '.join(what.removeprefix(f'{name}: ') for what in self.problems)
            raise BagError(f'{name}: no message can be read: {reasons}; copy the file again')

    def messages(self, channels: Collection[Channel]) -> Iterator[Item]:
        """Yield messages in order of log time."""
        topics = {
            i: channel.topic for i, channel in self._described.items() if channel in channels
        }
        room = Room()
        self._read.clear()
        yield from in_order_of_time(
            Source(
                piece.start_ns,
                functools.partial(room.messages, functools.partial(self._load, piece, topics)),
                again=True,
            )
            for piece in self._pieces
            if piece.channels is None or piece.channels & topics.keys()
        )
        self._say_lost(topics)

    def _say_lost(self, topics: Mapping[int, str]) -> None:
        """Count what the summary promises and damaged chunks did not give."""
        promised: Counter[str] = Counter()
        for channel, topic in topics.items():
            promised[topic] += self._counts[channel]
        read: Counter[str] = Counter()
        for counts in self._read.values():
            read.update(counts)
        for topic, lost in (promised - read).items():
            what = f'{topic}: message lost in a damaged chunk'
            if (-1, what) not in self._said:
                self._said.add((-1, what))
                self.problems[what] += lost

    def record_times(self) -> Iterator[int]:
        """Yield log times in order of recording."""
        for piece in sorted(self._pieces, key=lambda piece: piece.offset):
            for operation, body in self._records(piece.offset, piece.length, piece.chunk):
                if operation == Opcode.MESSAGE and len(body) >= _MESSAGE.size:
                    stamp = int(_MESSAGE.unpack_from(body)[2])
                    if stamp <= LATEST_NS:
                        yield stamp

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _describe(self, channel: mcap.records.Channel) -> Channel:
        schema = self._schemas.get(channel.schema_id)
        return Channel(
            printable(channel.topic),
            printable(schema.name) if schema else '',
            self._counts[channel.id],
            printable(channel.message_encoding),
        )

    def _definitions(self) -> Iterator[Definition]:
        for schema in self._schemas.values():
            if schema.encoding:
                yield Definition(
                    printable(schema.name),
                    'ros2idl' if schema.encoding in ('ros2idl', 'omgidl') else schema.encoding,
                    schema.data.decode('utf-8', 'replace'),
                )

    def _read_summary(self) -> Summary | None:
        try:
            return read_summary(self._file, self._size)
        except (*_BROKEN, OSError):  # a file of a few bytes has no place to seek to
            return None

    def _take(self, summary: Summary) -> bool:
        """Use the summary; False where it does not say all that is needed."""
        statistics = summary.statistics
        if statistics is None or (statistics.message_count and not summary.chunk_indexes):
            return False
        if not summary.channels.keys() >= statistics.channel_message_counts.keys():
            return False
        if any(
            c.schema_id and c.schema_id not in summary.schemas for c in summary.channels.values()
        ):
            return False
        self._channels, self._schemas = dict(summary.channels), dict(summary.schemas)
        self._counts.update(statistics.channel_message_counts)
        for index in summary.chunk_indexes:
            if index.chunk_start_offset + index.chunk_length > self._size:
                return False
            if index.chunk_length > LARGEST and index.compression in _PLAIN:
                return False
            if index.message_end_time or index.message_index_offsets:  # else: holds no message
                self._pieces.append(
                    _Piece(
                        min(index.message_start_time, LATEST_NS),
                        min(index.message_end_time, LATEST_NS),
                        index.chunk_start_offset,
                        index.chunk_length,
                        True,
                        frozenset(index.message_index_offsets) or None,
                    )
                )
        return True

    def _scan(self) -> None:
        """Find chunks and messages from the start of the file up to its end or cut."""
        self._channels, self._schemas, self._pieces = {}, {}, []
        self._counts.clear()
        position, ended = _MAGIC_LENGTH, False
        run_start = 0
        while not ended:
            self._file.seek(position)
            head = self._file.read(_RECORD.size)
            operation, length = _RECORD.unpack(head) if len(head) == _RECORD.size else (0, 0)
            in_run = operation in (Opcode.MESSAGE, Opcode.SCHEMA, Opcode.CHANNEL)
            if run_start and (not in_run or position - run_start >= _RUN):
                self._survey(run_start, position - run_start, chunk=False)
                run_start = 0
            if in_run and not run_start:
                run_start = position
            size = _RECORD.size + length
            ended = operation in (Opcode.DATA_END, Opcode.FOOTER)
            if operation == 0 or position + size > self._size:
                self.problems[
                    f'{self._name}: the file is cut at byte {self._size:,}, read up to there'
                ] += 1
                ended, size = True, self._size - position
                if in_run:
                    self._survey(run_start, self._size - run_start, chunk=False)
            if operation == Opcode.CHUNK:
                before = self._before_plain_records(position, size)
                if before:
                    size = before
                else:
                    self._survey(position, size, chunk=True)
            position += size

    def _before_plain_records(self, position: int, size: int) -> int:
        """Return how far inside a chunk its records begin, if it is large and not compressed.

        They are read as if they stood outside a chunk, some at a time. Else 0.
        """
        head = _RECORD.size + _CHUNK.size
        self._file.seek(position + head - 4)
        length = int.from_bytes(self._file.read(4), 'little')
        plain = (
            size > LARGEST and length <= 4 and self._file.read(length).decode('latin-1') in _PLAIN
        )
        return head + length + 8 if plain else 0

    def _survey(self, offset: int, length: int, *, chunk: bool) -> None:
        """Read a piece once: its channels, schemas, counts and times."""
        low, high, inside = 2**64, -1, set()
        for operation, body in self._records(offset, length, chunk):
            try:
                if operation == Opcode.MESSAGE:
                    channel, _, stamp, _ = _MESSAGE.unpack_from(body)
                    if stamp > LATEST_NS:
                        continue
                    low, high = min(low, stamp), max(high, stamp)
                    inside.add(channel)
                    self._counts[channel] += 1
                elif operation == Opcode.CHANNEL:
                    entry = mcap.records.Channel.read(ReadDataStream(BytesIO(body)))
                    self._channels.setdefault(entry.id, entry)
                elif operation == Opcode.SCHEMA:
                    schema = mcap.records.Schema.read(ReadDataStream(BytesIO(body)))
                    self._schemas.setdefault(schema.id, schema)
            except _BROKEN as error:
                self._say(offset, f'damaged record ({reason(error)})')
        if inside:
            self._pieces.append(_Piece(low, high, offset, length, chunk, frozenset(inside)))

    def _load(self, piece: _Piece, topics: Mapping[int, str]) -> list[Item]:
        """Return the wanted messages of one piece, in order."""
        items: list[Item] = []
        unpack, size = _MESSAGE.unpack_from, _MESSAGE.size
        message, late = int(Opcode.MESSAGE), Counter[str]()
        for operation, body in self._records(piece.offset, piece.length, piece.chunk):
            if operation == message and len(body) >= size:
                channel, _, stamp, _ = unpack(body)
                topic = topics.get(channel)
                if topic is None:
                    continue
                if stamp <= LATEST_NS:
                    items.append((topic, stamp, bytes(body[size:])))
                else:
                    late[topic] += 1
        self._read[piece.offset] = late + Counter(map(_topic, items))
        if late:
            self._say(piece.offset, 'message with a time after 2261, left out', late.total())
        items.sort(key=_stamp)
        if items and not piece.start_ns <= items[0][1] <= items[-1][1] <= piece.end_ns:
            self._say(piece.offset, 'chunk with other times than its index says')
        return items

    def _records(self, offset: int, length: int, chunk: bool) -> Iterator[tuple[int, memoryview]]:
        self._file.seek(offset)
        data = self._file.read(min(length, _LONGEST))
        if chunk:
            data = self._unpack_chunk(offset, data)
        view, position, end = memoryview(data), 0, len(data)
        while position + 9 <= end:
            operation, size = _RECORD.unpack_from(data, position)
            position += 9
            if not operation:  # zeros: no record begins so, and a bomb would be gone through
                self._say(offset, 'chunk damaged, read up to there')
                return
            if position + size > end:
                self._say(offset, 'chunk cut, read up to the cut')
                return
            yield operation, view[position : position + size]
            position += size

    def _unpack_chunk(self, offset: int, record: bytes) -> bytes:
        try:
            _, _, size, checksum, word = _CHUNK.unpack_from(record, _RECORD.size)
            start = _RECORD.size + _CHUNK.size
            compression = record[start : start + word].decode('ascii')
            packed = record[start + word + 8 :]
            data, whole = decompress(compression, packed, size)
        except _BROKEN as error:
            known = 'damaged' if isinstance(error, (UnicodeError, struct.error)) else reason(error)
            self._say(offset, f'chunk cannot be read ({known})')
            return b''
        if not whole or len(data) != size:
            self._say(offset, 'chunk cut, read up to the cut')
        elif checksum and zlib.crc32(data) != checksum:
            self._say(offset, 'chunk with a wrong checksum, read all the same')
        return data

    def _say(self, offset: int, what: str, count: int = 1) -> None:
        """Count a problem once for each chunk, however often the chunk is read."""
        if (offset, what) not in self._said:
            self._said.add((offset, what))
            self.problems[f'{self._name}: {what}'] += count


def _stamp(item: Item) -> int:
    return item[1]


_topic = operator.itemgetter(0)
