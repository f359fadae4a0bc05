# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a database of SQLite's write-ahead log alone, where the database is empty or missing.

SQLite itself throws the log of an empty database away.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.errors import BagError

MAGICS = (b'\x37\x7f\x06\x82', b'\x37\x7f\x06\x83')  # checksums of little, big endian words

_HEADER = struct.Struct('>4s3I8s2I')  # magic, version, page size, checkpoint, salt, checksum
_FRAME = struct.Struct('>2I8s2I')  # page number, pages after a transaction or 0, salt, checksum
_VERSION = 3_007_000
_PAGE_SIZES = [2**power for power in range(9, 17)]


@dataclass(frozen=True)
class Log:
    """What SQLite takes from a log: the frames of transactions that were finished.

    Attributes:
        frames: How many.
        pages: Of the database after them.
        page_size: Bytes.
        end: Byte of the log where they end; 0 where there are none.
        behind: What stands behind them: nothing (empty), or why it is not taken.
    """

    frames: int = 0
    pages: int = 0
    page_size: int = 0
    end: int = 0
    behind: str = ''


def database_from_log(log: Path, database: Path) -> None:
    """Write the pages of all transactions that were finished.

    Args:
        log: The write-ahead log (SQLite's file format, chapter 4).
        database: File to write.

    Raises:
        BagError: No finished transaction is in the log.
    """
    found = read_log(log)
    if not found.frames:
        raise BagError(
            f'{log}: a log of SQLite without a finished transaction '
            f'({found.behind or "empty"}), and the database beside it is empty or missing; '
            'nothing can be read'
        )
    with log.open('rb') as source, database.open('w+b') as target:
        source.seek(_HEADER.size)
        for _ in range(found.frames):
            number = _FRAME.unpack(source.read(_FRAME.size))[0]
            target.seek((number - 1) * found.page_size)
            target.write(source.read(found.page_size))
        target.truncate(found.pages * found.page_size)


def read_log(log: Path) -> Log:
    """Find what SQLite would take from a log, by its salt and checksums as SQLite does."""
    with log.open('rb') as source:
        head = source.read(_HEADER.size)
        if len(head) < _HEADER.size or not head.startswith(MAGICS):
            return Log(behind='no log of SQLite')
        magic, version, page_size, _, salt, *checksum = _HEADER.unpack(head)
        if version != _VERSION or page_size not in _PAGE_SIZES:
            return Log(behind='damaged in its head')
        sums = _Checksum('>u4' if magic == MAGICS[1] else '<u4', page_size)
        if sums.add(head[:24]) != tuple(checksum):
            return Log(behind='damaged in its head')
        return _finished(source, page_size, salt, sums.add)


def _finished(
    source: BinaryIO, page_size: int, salt: bytes, checksum: Callable[[bytes], tuple[int, int]]
) -> Log:
    frames = finished = pages = 0
    while True:
        frame = source.read(_FRAME.size + page_size)
        if len(frame) < _FRAME.size + page_size:
            behind = 'cut' if frame else 'not finished' if frames > finished else ''
            break
        number, size, own, *expected = _FRAME.unpack_from(frame)
        if own != salt or not number:  # as a rule left from before the last checkpoint
            behind = 'of an older recording, or damaged'
            break
        if checksum(frame[:8] + frame[_FRAME.size :]) != tuple(expected):
            behind = 'damaged'
            break
        frames += 1
        if size:
            finished, pages = frames, size
    end = _HEADER.size + finished * (_FRAME.size + page_size) if finished else 0
    return Log(finished, pages, page_size, end, behind)


class _Checksum:
    """SQLite's running checksum: words weighted by Fibonacci's numbers (file format, 4.2)."""

    def __init__(self, words: str, page_size: int) -> None:
        self._words = words
        count = page_size // 4 + 8
        self._weights: NDArray[np.uint32] = np.array(_fibonacci(count), np.uint32)
        self._state = 0, 0

    def add(self, data: bytes) -> tuple[int, int]:
        """Return the checksum of all that was added, with this; a multiple of 8 bytes."""
        words = np.frombuffer(data, self._words).astype(np.uint32)[::-1]
        first, second = self._state
        # Both sums begin a step ahead of the words, as if they were two words before them.
        before = [int(weight) for weight in self._weights[len(words) - 1 : len(words) + 2]]
        self._state = (
            (int(words @ self._weights[: len(words)]) + first * before[0] + second * before[1])
            % 2**32,
            (
                int(words @ self._weights[1 : len(words) + 1])
                + first * before[1]
                + second * before[2]
            )
            % 2**32,
        )
        return self._state


def _fibonacci(count: int) -> list[int]:
    """Return the first numbers 0, 1, 1, 2, ... in 32 bits."""
    numbers = [0, 1]
    while len(numbers) < count:
        numbers.append((numbers[-1] + numbers[-2]) % 2**32)
    return numbers
