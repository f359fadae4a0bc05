# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Damages an MCAP file or a ROS 1 bag record by record: their order, number, sizes, and bombs."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fuzz_writing import BOMB, Bombs

Random = np.random.Generator
_MCAP, _ROS1 = b'\x89MCAP0\r\n', b'#ROSBAG V2.0\n'
_SIZES = (1 << 16, BOMB, 3 * BOMB, (1 << 32) - 1)  # that a bomb says it has


def damage_records(file: Path, bombs: Bombs, random: Random) -> list[str]:
    """Damage a file in one to three ways; return which."""
    content = file.read_bytes()
    ros1 = content.startswith(_ROS1)
    records = _split_ros1(content) if ros1 else _split_mcap(content)
    chunks = [_ros1_bomb(size, bombs) if ros1 else _mcap_bomb(size, bombs) for size in _SIZES]
    chosen = [_WAYS[int(random.integers(len(_WAYS)))] for _ in range(int(random.integers(1, 4)))]
    for way in chosen:
        way(records, chunks, random)
    magic, end = (_ROS1, b'') if ros1 else (_MCAP, _MCAP)
    file.write_bytes(b''.join([magic, *records, end]))
    return [way.__name__.strip('_') for way in chosen]


def _split_mcap(content: bytes) -> list[bytes]:
    records, position = [], len(_MCAP)
    while position + 9 <= len(content) - len(_MCAP):
        end = position + 9 + struct.unpack_from('<Q', content, position + 1)[0]
        records.append(content[position:end])
        position = end
    return records


def _split_ros1(content: bytes) -> list[bytes]:
    records, position = [], len(_ROS1)
    while position < len(content):
        body = position + 4 + struct.unpack_from('<I', content, position)[0]
        end = body + 4 + struct.unpack_from('<I', content, body)[0]
        records.append(content[position:end])
        position = end
    return records


def _two(records: list[bytes], random: Random) -> tuple[int, int]:
    one, two = random.integers(len(records) + 1, size=2)
    return int(min(one, two)), int(max(one, two))


def _lose(records: list[bytes], chunks: list[bytes], random: Random) -> None:
    one, two = _two(records, random)
    del records[one : min(two, one + 3)]


def _repeat(records: list[bytes], chunks: list[bytes], random: Random) -> None:
    one, two = _two(records, random)
    records[one:one] = records[one:two] * int(random.integers(1, 5))


def _shuffle(records: list[bytes], chunks: list[bytes], random: Random) -> None:
    one, two = _two(records, random)
    records[one:two] = [records[one + int(i)] for i in random.permutation(two - one)]


def _end_early(records: list[bytes], chunks: list[bytes], random: Random) -> None:
    """No index and no summary: the reader must find the records by itself."""
    del records[int(random.integers(len(records) + 1)) :]


def _flip(records: list[bytes], chunks: list[bytes], random: Random) -> None:
    """Flip bits in the first bytes of a record: kinds, sizes, times, checksums."""
    if not records:
        return
    place = int(random.integers(len(records)))
    changed = bytearray(records[place])
    for _ in range(int(random.integers(1, 5))):
        changed[int(random.integers(min(len(changed), 80)))] ^= 1 << int(random.integers(8))
    records[place] = bytes(changed)


def _bomb(records: list[bytes], chunks: list[bytes], random: Random) -> None:
    chunk = chunks[int(random.integers(len(chunks)))]
    for _ in range(int(random.integers(1, 4))):
        records.insert(int(random.integers(len(records) + 1)), chunk)


def _mcap_bomb(size: int, bombs: Bombs) -> bytes:
    packed = bombs.zstd
    head = struct.pack('<QQQII', 1, 2**62, size, 0, 4) + b'zstd' + struct.pack('<Q', len(packed))
    return b'\x06' + struct.pack('<Q', len(head) + len(packed)) + head + packed


def _ros1_bomb(size: int, bombs: Bombs) -> bytes:
    fields = (b'op=\x05', b'compression=bz2', b'size=' + struct.pack('<I', size % 2**32))
    head = b''.join(struct.pack('<I', len(field)) + field for field in fields)
    packed = bombs.bz2
    return b''.join([struct.pack('<I', len(head)), head, struct.pack('<I', len(packed)), packed])


_WAYS: tuple[Callable[[list[bytes], list[bytes], Random], None], ...] = (
    _lose, _repeat, _shuffle, _end_early, _end_early, _flip, _flip, _bomb,
)  # fmt: skip
