# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Unpacks chunks and messages, as far as a cut or damaged one goes."""

from __future__ import annotations

import bz2
from typing import Protocol

import lz4.frame
import zstandard

LARGEST_CHUNK = 2**31  # bytes unpacked; more is a damaged length, not a chunk
ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
_STEP = 2**16  # bytes fed at once, so that what precedes a damage is kept


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


def decompress(name: str, data: bytes, size: int) -> tuple[bytes, bool]:
    """Unpack one chunk.

    Args:
        name: '' or none, zstd, lz4 or bz2.
        data: The packed bytes, perhaps fewer than there were.
        size: Bytes it should unpack to; unpacking stops there.

    Returns:
        What could be unpacked, and whether no damage was met.

    Raises:
        ValueError: Unknown compression or an absurd size.
    """
    if name in ('', 'none'):
        return data, True
    if size > LARGEST_CHUNK:
        raise ValueError(f'unpacked size {size:,}')
    decompressor = _decompressor(name)
    blocks: list[bytes] = []
    got = 0
    try:
        for start in range(0, len(data), _STEP):
            blocks.append(decompressor.decompress(data[start : start + _STEP]))
            got += len(blocks[-1])
            if got >= size:
                break
    except (zstandard.ZstdError, RuntimeError, OSError, EOFError, ValueError):
        return b''.join(blocks)[:size], False
    return b''.join(blocks)[:size], True


def message_bytes(raw: bytes) -> bytes:
    """Return a message, unpacked where the recorder compressed each one.

    A CDR message begins with two of its four header bytes as 0, so it cannot be mistaken for a
    zstd frame.

    Raises:
        ValueError: A damaged frame.
    """
    if not raw.startswith(ZSTD_MAGIC):
        return raw
    try:
        return zstandard.ZstdDecompressor().decompress(raw, max_output_size=LARGEST_CHUNK)
    except (zstandard.ZstdError, MemoryError) as error:
        raise ValueError(str(error)) from error


def _decompressor(name: str) -> _Decompressor:
    if name == 'zstd':
        return zstandard.ZstdDecompressor().decompressobj()
    if name == 'lz4':
        frame: _Decompressor = lz4.frame.LZ4FrameDecompressor()
        return frame
    if name == 'bz2':
        return bz2.BZ2Decompressor()
    raise ValueError(f'compression {name!r} is not known')
