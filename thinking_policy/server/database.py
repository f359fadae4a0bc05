# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The server's file: one writer, several readers, every commit on the disk."""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlite_utils import Database

from thinking_policy.experience.schema import migrate, open_database
from thinking_policy.experience.transaction import transaction
from thinking_policy.server.errors import ServerError
from thinking_policy.server.schema import KNOWN, migrations

BUSY_S = 2.0  # how long another process may hold the file before it counts as locked
_IDLE_READERS = 8


class ServerDatabase:
    """An opened file, for any number of threads; a context manager.

    One thread at a time writes, in a transaction that is on the disk when `writing` has ended.
    Others read at the same time what was committed before.
    """

    def __init__(self, path: Path, *, busy_s: float = BUSY_S, new: bool = True) -> None:
        """Open the file, or make it.

        Args:
            path: The SQLite file.
            busy_s: How long to wait for another writer; seconds.
            new: Whether a missing file is made.

        Raises:
            ServerError: It is missing, broken, locked or no database. It is never set aside, as
                a robot's is: tokens and policies are in it.
        """
        self.path = path
        self._busy_s = busy_s
        self._writing = threading.Lock()
        self._idle: queue.LifoQueue[Database] = queue.LifoQueue(_IDLE_READERS)
        self._closed = False
        if not new and not path.is_file():
            raise ServerError(f'{path}: no such database; `thinking-policy token new` makes one')
        try:
            _check(path)
            self._writer = _opened(path, busy_s)
        except sqlite3.Error as error:
            raise ServerError(f'{path}: cannot be opened: {error}') from error

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """Lend the writer within a transaction; it is committed at the end, or undone.

        Raises:
            sqlite3.OperationalError: The file is locked, full or read-only for now.
        """
        ends = time.monotonic() + self._busy_s
        if not self._writing.acquire(timeout=self._busy_s):
            raise sqlite3.OperationalError('database is locked: by another request')
        try:
            connection = self._writer.conn
            left_ms = max(0, round((ends - time.monotonic()) * 1000))
            connection.execute(f'PRAGMA busy_timeout={left_ms}')  # both waits together
            with transaction(self._writer):
                yield self._writer
        finally:
            self._writing.release()

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """Lend a connection that can't write.

        Raises:
            sqlite3.OperationalError: The file can't be read for now.
        """
        try:
            reader = self._idle.get_nowait()
        except queue.Empty:
            reader = self._new_reader()
        try:
            yield reader
        except sqlite3.Error:
            reader.conn.close()  # whatever state it is in
            raise
        except BaseException:
            self._give_back(reader)
            raise
        self._give_back(reader)

    def size_bytes(self) -> int:
        """Return the size of the file and its log."""
        log = self.path.with_name(self.path.name + '-wal')
        total = 0
        for file in (self.path, log):
            with suppress(OSError):
                total += file.stat().st_size
        return total

    def close(self) -> None:
        """Wait for the writer and close everything."""
        with self._writing:
            self._closed = True
            while not self._idle.empty():
                self._idle.get_nowait().conn.close()
            self._writer.conn.close()

    def __enter__(self) -> ServerDatabase:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _new_reader(self) -> Database:
        connection = sqlite3.connect(
            self.path, timeout=self._busy_s, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute('PRAGMA query_only=ON')
        except BaseException:
            connection.close()
            raise
        return Database(connection, execute_plugins=False)

    def _give_back(self, reader: Database) -> None:
        try:
            if self._closed:
                raise queue.Full
            self._idle.put_nowait(reader)
        except queue.Full:
            reader.conn.close()


def _check(path: Path) -> None:
    """Look whether an existing file is a database, before anything is done to it."""
    if not path.exists() or path.stat().st_size == 0:
        return
    if path.is_dir():
        raise ServerError(f'{path}: expected a database file, found a folder')
    connection = sqlite3.connect(f'{path.absolute().as_uri()}?mode=ro', uri=True)
    try:
        connection.execute('SELECT COUNT(*) FROM sqlite_master').fetchone()
        _refuse_a_robots(connection, path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise ServerError(
            f'{path}: expected a database, found something else or a broken one ({error}); it '
            'was left as it is: restore it from a copy, or name another file'
        ) from error
    finally:
        connection.close()


def _refuse_a_robots(connection: sqlite3.Connection, path: Path) -> None:
    """A robot's file would be a server's from then on, and its experiences nobody's."""
    tables = {name for (name,) in connection.execute('SELECT name FROM sqlite_master')}
    if 'token' in tables or 'record' not in tables:
        return
    if connection.execute('SELECT 1 FROM record LIMIT 1').fetchone():
        raise ServerError(
            f"{path}: expected a server's database, found a robot's file of experiences; name "
            'another file (`thinking-policy experience` reads this one)'
        )


def _opened(path: Path, busy_s: float) -> Database:
    mask = os.umask(0o077)  # what robots lived through, and who may ask, is nobody else's
    try:
        database = open_database(path, busy_s=busy_s, check=False, repair=False).database
    finally:
        os.umask(mask)
    try:
        migrate(database, path, migrations, KNOWN, ServerError)
    except BaseException:
        database.conn.close()
        raise
    return database
