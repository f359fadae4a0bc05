# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads rosbag2's SQLite files directly.

Not through `rosbags`, which joins the file's topics to those of metadata.yaml by their QoS and
yields nothing, silently, where the two differ. SQLite opens the file as immutable, so nothing
is written beside it.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from thinking_policy.bags.decompression import LARGEST
from thinking_policy.bags.definition_limits import workable
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.sqlite_salvage import salvage_messages
from thinking_policy.bags.storage import LATEST_NS, Channel, Definition, Item, printable, reason

_FORMATS = {'ros2msg': 'ros2msg', 'ros2idl': 'ros2idl'}
_MOST_TOPICS_IN_QUERY = 500  # so that the statement stays within SQLite's limits
# Damaged names inside the file make Python's own conversion of SQLite's errors fail.
_BROKEN = (sqlite3.Error, OverflowError, UnicodeDecodeError, MemoryError)
_TOO_LONG = f'message of more than {LARGEST:,} bytes, left out'
_DATA = f"""CASE WHEN typeof(data) <> 'blob' THEN NULL
    WHEN length(data) <= {LARGEST} THEN data ELSE '{_TOO_LONG}' END"""
_HAS_TIME = f"typeof(timestamp) = 'integer' AND timestamp BETWEEN {-LATEST_NS} AND {LATEST_NS}"


class SqliteStorage:
    """One .db3 file."""

    def __init__(self, path: Path, name: str, *, private_copy: bool) -> None:
        """Open the file and read what it holds.

        Args:
            path: The file, or a private copy of it.
            name: How the user knows the file, for messages.
            private_copy: Whether SQLite may write beside it, to complete an unfinished recording.

        Raises:
            BagError: SQLite, but not a bag, or too damaged to list its topics.
        """
        self.problems: Counter[str] = Counter()
        self._name = name
        self._path = path
        self._topics: dict[int, Channel] = {}
        self._damaged = False
        access = '' if private_copy else '?immutable=1'
        try:
            self._db = sqlite3.connect(path.absolute().as_uri() + access, uri=True)
            self._db.text_factory = _forgiving_text
            self._open()
        except _BROKEN as error:
            self.close()
            raise BagError(
                f'{name}: SQLite cannot read it ({reason(error)}); if the recorder still '
                'runs, stop it first, else copy the file again'
            ) from error
        except BagError:
            self.close()
            raise
        self.channels = tuple(self._topics.values())

    def _open(self) -> None:
        if _is_cut(self._path):
            # Without this flag SQLite refuses a cut file whole; with it, what is left is read.
            self._db.execute('PRAGMA writable_schema=ON')
            self._damaged = True
            self.problems[f'{self._name}: the file is cut, read up to the cut'] += 1
        tables = self._tables()
        if not {'topics', 'messages'} <= tables:
            raise BagError(
                f'{self._name}: SQLite, but not a bag: expected the tables topics and '
                f'messages, found {sorted(map(str, tables))[:5]}'
            )
        self.definitions = tuple(workable(self._definitions(tables), self._name, self.problems))
        rows = self._db.execute(
            'SELECT id, name, type, serialization_format FROM topics'
        ).fetchall()
        counts = self._count()
        self.start_ns = min((low for _, low, _ in counts.values()), default=None)
        self.end_ns = max((high for _, _, high in counts.values()), default=None)
        for identity, topic, kind, serialization in rows:
            if isinstance(topic, str) and isinstance(kind, str):
                count = counts.pop(identity, (0, 0, 0))[0]
                self._topics[identity] = Channel(
                    printable(topic), printable(kind), count, printable(str(serialization))
                )
        for count, _, _ in counts.values():
            self.problems[f'{self._name}: message of a topic that is not in the file'] += count

    def _tables(self) -> set[str]:
        """Return the tables that are stored and not computed.

        A view can be endless; a virtual table has no root page; a computed column may fill the
        memory.
        """
        names = self._db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        ).fetchall()
        computed = 'SELECT COUNT(*) FROM pragma_table_xinfo(?) WHERE hidden'
        return {name for (name,) in names if not self._db.execute(computed, (name,)).fetchone()[0]}

    def _definitions(self, tables: set[str]) -> Iterator[Definition]:
        if 'message_definitions' in tables:
            for kind, encoding, text in self._db.execute(
                'SELECT topic_type, encoding, encoded_message_definition FROM message_definitions'
            ):
                if encoding in _FORMATS and isinstance(text, str) and isinstance(kind, str):
                    yield Definition(kind, _FORMATS[encoding], text)

    def _count(self) -> dict[Any, tuple[int, int, int]]:
        """Return per topic id: messages, first and last time."""
        if not self._damaged:
            try:
                rows = self._db.execute(
                    'SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) FROM messages '
                    f'WHERE {_HAS_TIME} GROUP BY topic_id'
                ).fetchall()
                left_out = self._db.execute(
                    f'SELECT COUNT(*) FROM messages WHERE NOT ({_HAS_TIME})'
                ).fetchone()[0]
            except _BROKEN as error:
                self._damaged = True
                self.problems[f'{self._name}: damaged ({reason(error)}), read what is whole'] += 1
            else:
                self._say_no_time(left_out)
                return {row[0]: (row[1], row[2], row[3]) for row in rows}
        counts: dict[Any, tuple[int, int, int]] = {}
        left_out = 0
        for topic_id, stamp, _ in salvage_messages(self._path):
            if abs(stamp) > LATEST_NS:
                left_out += 1
                continue
            count, low, high = counts.get(topic_id, (0, stamp, stamp))
            counts[topic_id] = (count + 1, min(low, stamp), max(high, stamp))
        self._say_no_time(left_out)
        return counts

    def messages(self, channels: Collection[Channel]) -> Iterator[Item]:
        """Yield messages in order of record time, then of recording."""
        names = {
            i: channel.topic
            for i, channel in self._topics.items()
            if channel in channels and channel.count
        }
        if not names:
            return
        rows: Iterator[tuple[Any, int, Any]]
        condition = _HAS_TIME
        if len(names) < len(self._topics) and len(names) <= _MOST_TOPICS_IN_QUERY:
            condition += f' AND topic_id IN ({",".join(str(int(i)) for i in names)})'
        # A damaged file is read as its pages lie, which is nearly the order of recording.
        if self._damaged:
            rows = (row for row in salvage_messages(self._path) if abs(row[1]) <= LATEST_NS)
        else:
            rows = self._rows(
                f'SELECT topic_id, timestamp, {_DATA} FROM messages '
                f'WHERE {condition} ORDER BY timestamp, id'
            )
        for topic_id, stamp, data in rows:
            name = names.get(topic_id)
            if name is None:
                continue
            if type(data) is bytes:
                yield name, stamp, data
            else:
                self.problems[f'{self._name}: {name}: {data or "message without data"}'] += 1

    def _rows(self, query: str) -> Iterator[tuple[Any, int, Any]]:
        """Yield rows until the end or the damage."""
        try:
            yield from self._db.execute(query)
        except _BROKEN as error:
            self.problems[f'{self._name}: damaged ({reason(error)}), the rest cannot be read'] += 1

    def _say_no_time(self, count: int) -> None:
        if count:
            self.problems[
                f'{self._name}: message without a time between 1678 and 2261, left out'
            ] += count

    def record_times(self) -> Iterator[int]:
        """Yield record times in order of recording."""
        if self._damaged:  # its pages lie in no sure order
            return
        query = f'SELECT 0, timestamp, 0 FROM messages WHERE {_HAS_TIME} ORDER BY id'
        yield from (stamp for _, stamp, _ in self._rows(query))

    def close(self) -> None:
        """Close the database."""
        if hasattr(self, '_db'):
            self._db.close()


def _is_cut(path: Path) -> bool:
    """Compare the file's length with the number of pages in its header."""
    with path.open('rb') as file:
        head = file.read(100)
        length = file.seek(0, 2)
    page = int.from_bytes(head[16:18], 'big')
    page = 65536 if page == 1 else page
    pages = int.from_bytes(head[28:32], 'big')
    # The count holds only when both change counters agree (SQLite file format, 1.3.7).
    return head[24:28] == head[92:96] and length < page * pages


def _forgiving_text(raw: bytes) -> str:
    return raw.decode('utf-8', 'replace')
