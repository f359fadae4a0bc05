# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Unpacks chunks and messages, as far as a cut or damaged one goes.

A few kilobytes can unpack to gigabytes, and a damaged length can ask for as much, so no more is
unpacked than was declared, and never more than `LARGEST`.
"""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from io import BytesIO
from typing import Protocol

import lz4.frame
import zstandard

from thinking_policy.bags.storage import reason

LARGEST = 2**27
"""Bytes of an unpacked chunk or message that are read. Recorders close a chunk after a few MB."""

ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
_STEP = 2**16  # bytes fed or taken at once, so that what precedes a damage is kept
_AT_ONCE = 2**24  # bytes; lz4 and bz2 hold what they return at once twice
_DAMAGE = (zstandard.ZstdError, RuntimeError, OSError, EOFError, ValueError)


class _Decompressor(Protocol):
    """What those of bz2 and lz4 have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes: ...


def decompress(name: str, data: bytes, size: int) -> tuple[bytes, bool]:
    """Unpack one chunk.

    Args:
        name: '' or none, zstd, lz4 or bz2.
        data: The packed bytes, perhaps fewer than there were.
        size: Bytes it should unpack to; unpacking stops there, or at `LARGEST`.

    Returns:
        What could be unpacked, and whether no damage was met.

    Raises:
        ValueError: Unknown compression.
    """
    if name in ('', 'none'):
        return data, True
    if name not in ('zstd', 'lz4', 'bz2'):
        raise ValueError(f'compression {name!r} is not known')
    size = min(size, LARGEST)
    try:
        return _at_once(name, data, size), True
    except _DAMAGE:
        return _in_steps(name, data, size)


def message_bytes(raw: bytes) -> bytes:
    """Return a message, unpacked where the recorder compressed each one.

    A CDR message begins with two of its four header bytes as 0, so it cannot be mistaken for a
    zstd frame.

    Raises:
        ValueError: A damaged frame, or one larger than `LARGEST`.
    """
    if not raw.startswith(ZSTD_MAGIC):
        return raw
    try:
        size = zstandard.frame_content_size(raw)
        if size > LARGEST:
            raise ValueError(f'{size:,} bytes, at most {LARGEST:,} are unpacked')
        if size >= 0:
            return zstandard.ZstdDecompressor().decompress(raw)
        unpacked = _joined(_zstd_steps(raw), LARGEST + 1)
    except (zstandard.ZstdError, MemoryError) as error:
        raise ValueError(reason(error)) from error
    if len(unpacked) > LARGEST:
        raise ValueError(f'more than {LARGEST:,} bytes')
    return unpacked


def _at_once(name: str, data: bytes, size: int) -> bytes:
    """Unpack in one call, which is fastest, where that takes no more memory than steps would.

    Raises:
        ZstdError, RuntimeError, OSError, EOFError, ValueError: Not so, or damage.
    """
    if name == 'zstd' and zstandard.frame_content_size(data) == size:
        return zstandard.ZstdDecompressor().decompress(data)
    if name != 'zstd' and size <= _AT_ONCE:
        return _decompressor(name).decompress(data, max_length=size)
    raise ValueError('to be unpacked in steps')


def _in_steps(name: str, data: bytes, size: int) -> tuple[bytes, bool]:
    whole = True

    def until_damage() -> Iterator[bytes]:
        nonlocal whole
        try:
            yield from _zstd_steps(data) if name == 'zstd' else _steps(_decompressor(name), data)
        except _DAMAGE:
            whole = False

    unpacked = _joined(until_damage(), size)
    return unpacked, whole


def _joined(blocks: Iterator[bytes], size: int) -> bytes:
    """Return the first `size` bytes. A BytesIO gives its buffer away, a join would copy all."""
    taken = BytesIO()
    while (left := size - taken.tell()) > 0 and (block := next(blocks, b'')):
        taken.write(block[:left])
    return taken.getvalue()


def _zstd_steps(data: bytes) -> Iterator[bytes]:
    with zstandard.ZstdDecompressor().stream_reader(data) as reader:
        while block := reader.read(_STEP):
            yield block


def _steps(decompressor: _Decompressor, data: bytes) -> Iterator[bytes]:
    position = 0
    while not decompressor.eof:
        feed = b''
        if decompressor.needs_input:
            feed = data[position : position + _STEP]
            position += len(feed)
        block = decompressor.decompress(feed, max_length=_STEP)
        if block:
            yield block
        elif not feed and (position >= len(data) or not decompressor.needs_input):
            return


def _decompressor(name: str) -> _Decompressor:
    if name == 'lz4':
        frame: _Decompressor = lz4.frame.LZ4FrameDecompressor()
        return frame
    return bz2.BZ2Decompressor()
