# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Takes messages out of a cut or damaged SQLite file, page by page.

SQLite itself walks down from the root of a table; in a cut file the pages on that way are often
among those that are lost, and nothing is found. The messages stand in leaf pages, each whole in
itself, and a recorder writes them one behind the other: https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from thinking_policy.bags.decompression import LARGEST

_LEAF = 0x0D  # a leaf page of a table
_FIRST_PAGE_HEADER = 100
_LEAF_HEADER = 8
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_ZERO, _ONE = 8, 9  # integers that take no bytes

Row = tuple[int, int, bytes]
"""Topic id, record time in nanoseconds, data."""


def salvage_messages(path: Path) -> Iterator[Row]:
    """Yield the rows of rosbag2's table `messages` that are whole, in order of their pages.

    Args:
        path: A file that begins as a SQLite database.
    """
    size = path.stat().st_size
    with path.open('rb') as file:
        head = file.read(_FIRST_PAGE_HEADER)
        page_size = int.from_bytes(head[16:18], 'big')
        page_size = 65536 if page_size == 1 else page_size
        usable = page_size - head[20]
        if page_size < 512 or page_size & (page_size - 1) or usable < 480:
            return
        for number in range(-(-size // page_size)):
            file.seek(number * page_size)
            page = file.read(page_size)
            start = _FIRST_PAGE_HEADER if number == 0 else 0
            if len(page) <= start or page[start] != _LEAF:
                continue
            for cell in _cells(page, start):
                try:
                    row = _row(_payload(file, page, cell, usable, page_size))
                except (IndexError, ValueError):
                    continue
                if row is not None:
                    yield row


def _cells(page: bytes, start: int) -> Iterator[int]:
    """Yield where the cells of a leaf page begin."""
    count = int.from_bytes(page[start + 3 : start + 5], 'big')
    first = start + _LEAF_HEADER
    for place in range(first, min(first + 2 * count, len(page) - 1), 2):
        cell = int.from_bytes(page[place : place + 2], 'big')
        if first <= cell < len(page):
            yield cell


def _payload(file: BinaryIO, page: bytes, cell: int, usable: int, page_size: int) -> bytes:
    """Return the record in a cell, followed over its overflow pages.

    Raises:
        ValueError: A part of it is lost.
        IndexError: Likewise.
    """
    length, position = _varint(page, cell)
    _, position = _varint(page, position)  # the row id, which is the first column
    if length > LARGEST:
        raise ValueError('longer than any message that is read')
    largest = usable - 35
    local = length
    if length > largest:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        local = local if local <= largest else least
    parts = [page[position : position + local]]
    left = length - len(parts[0])
    following = int.from_bytes(page[position + local : position + local + 4], 'big')
    passed: set[int] = set()
    while left > 0 and length > local:
        if following == 0 or following in passed:
            raise ValueError('overflow chain ends early or goes round')
        passed.add(following)
        file.seek((following - 1) * page_size)
        more = file.read(usable)
        if len(more) <= 4:
            raise ValueError('overflow page is lost')
        parts.append(more[4 : 4 + left])
        left -= len(parts[-1])
        following = int.from_bytes(more[:4], 'big')
    if left:
        raise ValueError('record is cut')
    return b''.join(parts)


def _row(record: bytes) -> Row | None:
    """Return the row of a record that looks like (id, topic_id, timestamp, data), else None."""
    header_size, position = _varint(record, 0)
    kinds = []
    while position < header_size:
        kind, position = _varint(record, position)
        kinds.append(kind)
    if len(kinds) != 4 or kinds[0] != 0 or kinds[3] < 12 or kinds[3] % 2:
        return None
    topic_id, position = _integer(record, header_size, kinds[1])
    stamp, position = _integer(record, position, kinds[2])
    data = record[position : position + (kinds[3] - 12) // 2]
    if len(data) != (kinds[3] - 12) // 2:
        return None
    return topic_id, stamp, data


def _integer(record: bytes, position: int, kind: int) -> tuple[int, int]:
    if kind in (_ZERO, _ONE):
        return kind - _ZERO, position
    if kind not in _INTEGER_BYTES:
        raise ValueError(f'serial type {kind} is no integer')
    end = position + _INTEGER_BYTES[kind]
    return int.from_bytes(record[position:end], 'big', signed=True), end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, seven bits in each but the ninth, and its end."""
    value = 0
    for _ in range(8):
        byte = data[position]
        position += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, position
    return value << 8 | data[position], position + 1
