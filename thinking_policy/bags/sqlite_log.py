# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a database of SQLite's write-ahead log alone, where the database is empty or missing.

SQLite itself throws the log of an empty database away.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from thinking_policy.bags.errors import BagError

MAGICS = (b'\x37\x7f\x06\x82', b'\x37\x7f\x06\x83')

_HEADER = struct.Struct('>4s3I8s8x')  # magic, version, page size, checkpoint, salt
_FRAME = struct.Struct('>2I8s8x')  # page number, pages at the end of a transaction or 0, salt


def database_from_log(log: Path, database: Path) -> None:
    """Write the pages of all transactions that were finished.

    Args:
        log: The write-ahead log (SQLite's file format, chapter 4).
        database: File to write.

    Raises:
        BagError: No finished transaction is in the log.
    """
    with log.open('rb') as source, database.open('w+b') as target:
        head = source.read(_HEADER.size)
        page_size, salt, frames, pages = 0, b'', 0, 0
        if len(head) == _HEADER.size and head.startswith(MAGICS):
            _, _, page_size, _, salt = _HEADER.unpack(head)
        if page_size and page_size <= 65536:
            frames, pages = _finished(source.read, page_size, salt)
        if not pages:
            raise BagError(
                f'{log}: a log of SQLite without a finished transaction, and the database beside '
                'it is empty or missing; nothing can be read'
            )
        source.seek(_HEADER.size)
        for _ in range(frames):
            number, _, _ = _FRAME.unpack(source.read(_FRAME.size))
            target.seek((number - 1) * page_size)
            target.write(source.read(page_size))
        target.truncate(pages * page_size)


def finished_bytes(log: Path) -> int:
    """Return how many bytes of a log belong to finished transactions; 0: none, or it is no log."""
    with log.open('rb') as source:
        head = source.read(_HEADER.size)
        if len(head) < _HEADER.size or not head.startswith(MAGICS):
            return 0
        _, _, page_size, _, salt = _HEADER.unpack(head)
        if not 512 <= page_size <= 65536:
            return 0
        frames, _ = _finished(source.read, page_size, salt)
    return _HEADER.size + frames * (_FRAME.size + page_size) if frames else 0


def _finished(read: Callable[[int], bytes], page_size: int, salt: bytes) -> tuple[int, int]:
    """Return how many frames belong to finished transactions, and the pages that they make."""
    frames = finished = pages = 0
    while len(frame := read(_FRAME.size + page_size)) == _FRAME.size + page_size:
        number, size, own = _FRAME.unpack_from(frame)
        if own != salt or not number:  # left from before the last checkpoint
            break
        frames += 1
        if size:
            finished, pages = frames, size
    return finished, pages
