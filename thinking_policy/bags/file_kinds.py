# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a storage file is, told by its first bytes and not by its name."""

from __future__ import annotations

import re
from pathlib import Path

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.sqlite_log import MAGICS

WAL_SUFFIXES = ('-wal', '-journal')  # what SQLite needs to complete an unfinished recording

_MAGIC = {
    b'SQLite format 3\x00': 'sqlite3',
    b'\x89MCAP0\r\n': 'mcap',
    b'#ROSBAG V2.0\n': 'ros1',
    b'\x28\xb5\x2f\xfd': 'zstd',
    **dict.fromkeys(MAGICS, 'log'),
}
_PACKED = {
    b'\x1f\x8b': 'gunzip',
    b'BZh': 'bunzip2',
    b'\xfd7zXZ': 'unxz',
    b'PK\x03\x04': 'unzip',
    b'\x04"M\x18': 'lz4 -d',
}


def kind_of(path: Path) -> str:
    """Tell what a storage file is by its first bytes.

    Returns:
        sqlite3, mcap, ros1, zstd, or log for the write-ahead log of a database that is missing.

    Raises:
        BagError: A Git LFS pointer, an empty file, or something else than a bag.
    """
    try:
        if not path.is_file():  # opening a pipe would wait for a writer
            raise BagError(f'{path}: not a file: expected a bag, found a pipe or device')
        with path.open('rb') as file:
            head = file.read(200)
    except OSError as error:
        raise BagError(f'{path}: cannot be read: {error.strerror or error}') from error
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if not head and _has_content(path.with_name(path.name + WAL_SUFFIXES[0])):
        return 'log'  # all of it is in the log
    if not head:
        raise BagError(f'{path}: the file is empty (0 bytes); record or copy it again')
    for magic, program in _PACKED.items():
        if head.startswith(magic):
            raise BagError(f'{path}: packed; unpack it with: {program}')
    if head.startswith(b'version https://git-lfs'):
        raise BagError(
            f'{path}: a Git LFS pointer, not the bag itself{_lfs_size(head)}; '
            'fetch it with: git lfs pull'
        )
    if head.startswith(b'/annex/objects/') or b'.git/annex/objects/' in head:
        raise BagError(f'{path}: a git-annex pointer, not the bag itself; run: git annex get')
    if head.startswith(b'#ROSBAG'):
        version = head.split(b'\n')[0].decode('ascii', 'replace')
        raise BagError(
            f'{path}: expected a ROS 1 bag of version 2.0, found {version!r}; '
            'convert it with: rosbag fix'
        )
    raise BagError(
        f'{path}: not a bag: expected SQLite, MCAP or #ROSBAG V2.0, '
        f'found a file that begins with {head[:12]!r}'
    )


def has_write_ahead_log(path: Path) -> bool:
    """Return whether a recording was cut off and its last messages lie beside the file."""
    return any(_has_content(path.with_name(path.name + suffix)) for suffix in WAL_SUFFIXES)


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _lfs_size(head: bytes) -> str:
    match = re.search(rb'\nsize (\d+)', head)
    return f' ({int(match[1]):,} bytes)' if match else ''
