# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of storage files in a temporary folder, where reading them needs writing.

A bag's own folder is never written to: a compressed file is unpacked elsewhere, and SQLite
gets a copy to complete when a recording was cut off (its write-ahead log lies beside it).
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import zstandard

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.file_kinds import WAL_SUFFIXES, has_write_ahead_log, kind_of
from thinking_policy.bags.sqlite_log import database_from_log, read_log

_JOURNAL = bytes.fromhex('d9d505f920a163d7')
_BLOCK = 2**20  # bytes copied at once, keeps memory flat


def stage(path: Path, stack: ExitStack, problems: Counter[str]) -> tuple[Path, str]:
    """Return a path from which the storage can be read, and its kind.

    Args:
        path: Storage file as recorded.
        stack: Removes the temporary copy when it is closed.
        problems: Counts what is lost on the way.

    Returns:
        The file itself or a copy; sqlite3, mcap or ros1.

    Raises:
        BagError: Not a bag, or no room for the copy.
    """
    kind = kind_of(path)
    if kind == 'zstd':
        copy = _folder(stack) / path.name.removesuffix('.zstd').removesuffix('.zst')
        _say_no_room(path, lambda: _unpack(path, copy, problems))
        return copy, kind_of(copy)
    if kind == 'log':
        log = path if path.stat().st_size else path.with_name(f'{path.name}{WAL_SUFFIXES[0]}')
        problems[f'{path.name}: the database is empty or missing, read from its log'] += 1
        copy = _folder(stack) / path.name.removesuffix(WAL_SUFFIXES[0])
        _say_no_room(path, lambda: database_from_log(log, copy))
        _refuse_half_a_database(copy, log)
        return copy, 'sqlite3'
    if kind == 'sqlite3' and has_write_ahead_log(path):
        problems[f'{path.name}: {_what_the_log_gives(path)}'] += 1
        copy = _folder(stack) / path.name
        _say_no_room(path, lambda: _copy_with_log(path, copy))
        return copy, kind
    return path, kind


def _folder(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='thinking_policy_bag_')))


def _unpack(path: Path, copy: Path, problems: Counter[str]) -> None:
    zeros = bytes(_BLOCK)
    with path.open('rb') as packed, copy.open('wb') as unpacked:
        try:
            with zstandard.ZstdDecompressor().stream_reader(
                packed, read_across_frames=True
            ) as reader:
                unpacked.write(reader.read(_BLOCK))
                unpacked.flush()
                if unpacked.tell():
                    _refuse_what_is_no_bag(path, copy)
                while block := reader.read(_BLOCK):
                    if block == zeros:  # a hole takes no room: a small file can hold terabytes
                        unpacked.seek(_BLOCK, os.SEEK_CUR)
                    else:
                        unpacked.write(block)
        except zstandard.ZstdError as error:
            # What was unpacked so far is kept: the storage's own reader tells how much it is.
            problems[f'{path.name}: compressed data is damaged ({error})'] += 1
        unpacked.truncate()
    if copy.stat().st_size == 0:
        raise BagError(
            f'{path}: nothing can be unpacked, the compressed file is cut or damaged; '
            'copy it again'
        )


def _refuse_what_is_no_bag(path: Path, copy: Path) -> None:
    """Look at what was unpacked first, before all of it fills the disk."""
    if kind_of(copy) == 'zstd':
        raise BagError(f'{path}: compressed twice; unpack it once with: zstd -d')


def _refuse_half_a_database(copy: Path, log: Path) -> None:
    """A log holds only the pages that changed since it was last carried over."""
    try:
        with contextlib.closing(sqlite3.connect(copy)) as database:
            database.execute('SELECT COUNT(*) FROM topics').fetchone()
    except sqlite3.Error as error:
        database_file = log.with_name(copy.name)
        what = 'is empty' if database_file.exists() else 'is not there'
        raise BagError(
            f'{database_file}: {what}, and its log {log.name} alone does not hold all of it; '
            'copy the database again'
        ) from error


def _what_the_log_gives(path: Path) -> str:
    """Say what reading a database with what lies beside it will bring."""
    log = path.with_name(path.name + WAL_SUFFIXES[0])
    if not log.is_file() or not log.stat().st_size:
        journal = path.with_name(path.name + WAL_SUFFIXES[1])
        with journal.open('rb') as file:
            if file.read(len(_JOURNAL)) != _JOURNAL:
                return f'{journal.name} beside it is no journal of SQLite, and left alone'
        return 'recording was cut off; what its journal says was not finished is taken back'
    found, size = read_log(log), log.stat().st_size
    if not found.frames:
        before = ' before the end of its first transaction' if found.page_size else ''
        return (
            f'{log.name} beside it ({size:,} bytes) is {found.behind}{before}, and gives nothing'
        )
    if found.behind:
        return (
            'recording was cut off, completed from its log beside it up to byte '
            f'{found.end:,} of {size:,}; what follows is {found.behind}'
        )
    return 'recording was cut off, completed from its log beside it'


def _copy_with_log(path: Path, copy: Path) -> None:
    shutil.copyfile(path, copy)
    for suffix in WAL_SUFFIXES:
        beside = path.with_name(path.name + suffix)
        if beside.is_file():
            shutil.copyfile(beside, copy.with_name(copy.name + suffix))


def _say_no_room(path: Path, work: Callable[[], None]) -> None:
    try:
        work()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BagError(
                f'{path}: no room in {tempfile.gettempdir()} for the copy that reading needs; '
                'free some or set TMPDIR to a larger disk'
            ) from error
        raise BagError(f'{path}: cannot be read: {error.strerror or error}') from error
