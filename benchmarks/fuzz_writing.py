# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Writes odd bags of every kind, without a writer's checks; and what packs very small."""

from __future__ import annotations

import bz2
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import mcap.writer
import zstandard
from rosbags.rosbag1 import Writer as Ros1Writer

BOMB = 1 << 30  # bytes of zeros in a packed message or chunk
_CHUNK_BYTES = 4096  # so that a small bag has several chunks


@dataclass(frozen=True)
class Row:
    """A message as it is written."""

    topic: str
    stamp_ns: int
    raw: bytes


@dataclass
class Content:
    """What a bag is written from. `definitions` are texts of .msg files by topic."""

    rows: list[Row]
    types: dict[str, str]
    definitions: dict[str, str]
    bombs: Bombs


@dataclass(frozen=True)
class Bombs:
    """`BOMB` zeros, packed: zstd frames whose head does not or does say the size, and bz2."""

    zstd: bytes
    declared: bytes
    bz2: bytes


def write_bombs(folder: Path) -> None:
    """Write the files of `read_bombs`: packing takes long."""
    packer, small, zeros = (
        zstandard.ZstdCompressor().compressobj(),
        bz2.BZ2Compressor(),
        bytes(2**24),
    )
    steps = range(BOMB // len(zeros))
    packed = [packer.compress(zeros) for _ in steps]
    (folder / 'bomb.zstd').write_bytes(b''.join([*packed, packer.flush()]))
    packer = zstandard.ZstdCompressor().compressobj(size=BOMB)
    packed = [packer.compress(zeros) for _ in steps]
    (folder / 'bomb.declared').write_bytes(b''.join([*packed, packer.flush()]))
    packed = [small.compress(zeros) for _ in steps]
    (folder / 'bomb.bz2').write_bytes(b''.join([*packed, small.flush()]))


def read_bombs(folder: Path) -> Bombs:
    """Read what `write_bombs` wrote."""
    return Bombs(*((folder / f'bomb.{name}').read_bytes() for name in ('zstd', 'declared', 'bz2')))


def write_mcap(path: Path, content: Content, packed: bool) -> None:
    packing = mcap.writer.CompressionType.ZSTD if packed else mcap.writer.CompressionType.NONE
    writer = mcap.writer.Writer(str(path), chunk_size=_CHUNK_BYTES, compression=packing)
    writer.start()
    channels = {}
    for topic, kind in content.types.items():
        schema = writer.register_schema(kind, 'ros2msg', content.definitions[topic].encode())
        channels[topic] = writer.register_channel(topic, 'cdr', schema)
    for row in content.rows:
        stamp = row.stamp_ns % 2**64
        writer.add_message(channels[row.topic], stamp, row.raw, stamp)
    writer.finish()


def write_sqlite(bag: Path, kind: str, content: Content) -> None:
    path = bag / 'load.db3'
    database = sqlite3.connect(path)
    database.executescript(_TABLES)
    ids = {topic: number for number, topic in enumerate(content.types, 1)}
    database.executemany(
        "INSERT INTO topics VALUES (?, ?, ?, 'cdr', '', '')",
        [(ids[topic], topic, kind) for topic, kind in content.types.items()],
    )
    database.executemany(
        'INSERT INTO message_definitions(topic_type, encoding, encoded_message_definition, '
        "type_description_hash) VALUES (?, 'ros2msg', ?, '')",
        [(content.types[topic], text) for topic, text in content.definitions.items()],
    )
    pack = zstandard.ZstdCompressor().compress if kind.endswith('message') else bytes
    database.executemany(
        'INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)',
        [
            (ids[row.topic], max(-(2**63), min(row.stamp_ns, 2**63 - 1)), pack(row.raw))
            for row in content.rows
        ],
    )
    database.commit()
    database.close()
    if kind.endswith('file'):
        (bag / 'load.db3.zstd').write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
        path.unlink()


_TABLES = """
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
    serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL,
    type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,
    encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL,
    type_description_hash TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,
    timestamp INTEGER NOT NULL, data BLOB NOT NULL);
"""


def write_ros1(path: Path, content: Content) -> None:
    # The writer expects type names that are some.
    with mock.patch('rosbags.rosbag1.writer.denormalize_msgtype', _ros1_name):
        writer = Ros1Writer(path)
        writer.chunk_threshold = _CHUNK_BYTES
        with writer:
            connections = {
                topic: writer.add_connection(
                    topic, kind, msgdef=content.definitions[topic], md5sum='0' * 32
                )
                for topic, kind in content.types.items()
            }
            for row in content.rows:
                stamp = max(0, min(row.stamp_ns, (2**32 - 1) * 10**9))
                writer.write(connections[row.topic], stamp, row.raw)


def _ros1_name(kind: str) -> str:
    return kind.replace('/msg/', '/', 1)
