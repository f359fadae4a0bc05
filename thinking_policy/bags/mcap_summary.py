# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the summary at the end of an MCAP file, and nothing else of it.

The mcap package goes on from wherever the file's last record points. In a damaged file that may
be a chunk, which it unpacks whatever its size, so it is given the summary alone.
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import BinaryIO

from mcap.opcode import Opcode
from mcap.reader import SeekingReader
from mcap.summary import Summary

from thinking_policy.bags.decompression import LARGEST

_MAGIC = b'\x89MCAP0\r\n'
_RECORD = struct.Struct('<BQ')  # operation, length of what follows
_FOOTER = struct.Struct('<BQQQI')  # operation, length, start of summary, of its offsets, checksum
_ELSEWHERE = (Opcode.MESSAGE, Opcode.CHUNK, Opcode.ATTACHMENT, Opcode.FOOTER)


def read_summary(file: BinaryIO, size: int) -> Summary | None:
    """Return the summary; None where the file has none.

    Args:
        file: An MCAP file.
        size: Its length, bytes.

    Raises:
        McapError, struct.error, ValueError, KeyError, OSError, MemoryError: It is damaged.
    """
    end = size - _FOOTER.size - len(_MAGIC)
    file.seek(end)
    operation, length, start, offsets, checksum = _FOOTER.unpack(file.read(_FOOTER.size))
    if operation != Opcode.FOOTER or not 0 < start <= end or end - start > LARGEST:
        return None
    file.seek(start)
    section = file.read(end - start)
    position = 0
    while position < len(section):
        kind, inside = _RECORD.unpack_from(section, position)
        if kind in _ELSEWHERE:
            return None
        position += _RECORD.size + inside
    footer = _FOOTER.pack(operation, length, len(_MAGIC), offsets, checksum)
    alone = b''.join([_MAGIC, section, footer, _MAGIC])
    return SeekingReader(BytesIO(alone), record_size_limit=len(alone)).get_summary()
