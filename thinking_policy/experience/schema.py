# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The file in which experiences are kept: its tables, how it is opened, what if it is broken."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlite_utils import Database, Migrations

from thinking_policy import ThinkingPolicyError
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.transaction import transaction

SYNC = ('commit', 'interval')
PAGE_BYTES = 8192  # two to three records in a page, where 4 KiB would hold one and be half empty
WAL_PAGES = 500  # at about 4 MB the log is carried over into the file
_SWITCHED_S = 0.5  # another process that makes the file at this moment is done by then
WAL_LIMIT = 8 << 20  # bytes; a longer log is cut once it was carried over

migrations = Migrations('experience')
KNOWN = ('_001_records',)
"""The migrations of this version; a file that has others is of a newer one."""


@migrations()
def _001_records(db: Database) -> None:
    # An experience is revision 0 of itself; what became known later has a revision of its own.
    # The body stands last: what is looked for is found without reading it.
    db.execute("""
        CREATE TABLE record (
            seq INTEGER PRIMARY KEY,
            tenant TEXT NOT NULL,
            id TEXT NOT NULL,
            revision INTEGER NOT NULL,
            robot TEXT NOT NULL,
            episode TEXT NOT NULL,
            stamp_ns INTEGER NOT NULL,
            policy_version TEXT NOT NULL,
            labelled INTEGER NOT NULL,
            stored_ns INTEGER NOT NULL,
            uploaded_ns INTEGER,
            quarantined TEXT,
            body BLOB NOT NULL,
            UNIQUE (tenant, id, revision)
        )""")
    for name, condition in (
        ('pending', 'uploaded_ns IS NULL AND quarantined IS NULL'),
        ('uploaded', 'uploaded_ns IS NOT NULL'),
        ('quarantined', 'quarantined IS NOT NULL'),
    ):
        db.execute(f'CREATE INDEX record_{name} ON record (tenant, seq) WHERE {condition}')
    db.execute(
        'CREATE INDEX record_label ON record (tenant, id) WHERE labelled = 1 AND revision > 0'
    )
    db.execute(
        'CREATE TABLE pin (tenant TEXT NOT NULL, id TEXT NOT NULL, reason TEXT NOT NULL, '
        'PRIMARY KEY (tenant, id, reason)) WITHOUT ROWID'
    )
    db.execute(
        'CREATE TABLE counter (tenant TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, '
        'PRIMARY KEY (tenant, name)) WITHOUT ROWID'
    )
    db.execute('CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID')


@dataclass(frozen=True)
class Opened:
    """An opened file.

    Attributes:
        database: Its connection commits by itself; use BEGIN.
        set_aside: What was found in its place and could not be read, now under another name.
        reason: Why it could not.
    """

    database: Database
    set_aside: Path | None = None
    reason: str = ''


def open_database(
    path: Path,
    *,
    sync: str = 'commit',
    busy_s: float = 1.0,
    now_ns: int = 0,
    check: bool = True,
    repair: bool = True,
    distrust: str = '',
) -> Opened:
    """Open or make the file.

    A file that is no database, or a broken one, is set aside with its log and a new one is
    begun: a robot goes on recording. Nothing is deleted.

    Args:
        path: The file.
        sync: `commit`: what was committed is on the disk. `interval`: only what was committed
            before the log was last synced; a power cut may take what came after.
        busy_s: How long another process may hold the file before it counts as locked.
        now_ns: For the name of a file that is set aside.
        check: Whether to look through the whole file.
        repair: Whether a broken file may be set aside. Only its owner should: another process
            may be writing it.
        distrust: Why the file is to be set aside whatever a look at it says; empty: it is not.

    Raises:
        ExperienceError: The file can't be made or set aside, is broken and may not be set aside,
            or was made by a newer version.
        sqlite3.OperationalError: It is locked, full or read-only for now.
    """
    if sync not in SYNC:
        raise ExperienceError(f'sync: expected one of {", ".join(SYNC)}, found {sync!r}')
    try:
        _make_folder(path.parent)
    except OSError as error:
        raise ExperienceError(f'{path}: cannot be made: {error.strerror or error}') from error
    try:
        if distrust and path.exists():
            raise sqlite3.DatabaseError(distrust)
        return Opened(_connected(path, sync, busy_s, check))
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        if not repair:
            raise ExperienceError(
                f'{path}: expected a file of experiences, found a broken one: {error}; '
                'it is left as it is'
            ) from error
        aside = _set_aside(path, now_ns)
        return Opened(_connected(path, sync, busy_s, check=False), aside, str(error))


def _connected(path: Path, sync: str, busy_s: float, check: bool) -> Database:
    fresh = not path.exists() or not path.stat().st_size
    connection = sqlite3.connect(
        path, timeout=busy_s, isolation_level=None, check_same_thread=False
    )
    try:
        if fresh:
            connection.execute(f'PRAGMA page_size={PAGE_BYTES}')
            connection.execute('PRAGMA auto_vacuum=INCREMENTAL')
        _use_a_log(connection, busy_s)
        connection.execute(f'PRAGMA synchronous={"FULL" if sync == "commit" else "NORMAL"}')
        connection.execute(f'PRAGMA wal_autocheckpoint={WAL_PAGES}')
        connection.execute(f'PRAGMA journal_size_limit={WAL_LIMIT}')
        if check and not fresh:
            verdict = connection.execute('PRAGMA quick_check(1)').fetchone()[0]
            if verdict != 'ok':
                raise sqlite3.DatabaseError(verdict)
        database = Database(connection, execute_plugins=False)
        _refuse_somebody_elses(database, path)
        migrate(database, path, migrations, KNOWN)
        if fresh:
            _sync_folder(path.parent)  # the file's name is in the folder
    except BaseException:
        connection.close()
        raise
    return database


def _use_a_log(connection: sqlite3.Connection, busy_s: float) -> None:
    """Switch to a write-ahead log; SQLite itself does not wait for others there."""
    ends = time.monotonic() + max(busy_s, _SWITCHED_S)
    while True:
        try:
            connection.execute('PRAGMA journal_mode=WAL')
        except sqlite3.OperationalError as error:
            if 'locked' not in str(error) or time.monotonic() > ends:
                raise
            time.sleep(0.02)
        else:
            return


def migrate(
    database: Database,
    path: Path,
    wanted: Migrations,
    known: Sequence[str],
    error: type[ThinkingPolicyError] = ExperienceError,
) -> None:
    """Bring tables up to this version: all of it or nothing, and by one process only.

    Args:
        database: Of the file.
        path: The file, for errors.
        wanted: The migrations of one set of tables.
        known: Their names; a file that has others is of a newer version.
        error: What is raised then.

    Raises:
        ThinkingPolicyError: As `error`.
    """
    newer = [done.name for done in wanted.applied(database) if done.name not in known]
    if newer:
        raise error(
            f'{path}: expected a file of this version of thinking_policy, found one of a newer '
            f'({newer[-1]}); update thinking_policy or name another file'
        )
    if wanted.pending(database):
        with transaction(database):
            wanted.apply(database)


def _refuse_somebody_elses(database: Database, path: Path) -> None:
    others = sorted(set(database.table_names()) - {migrations.migrations_table})
    if others and not migrations.applied(database):  # in this order: another process may make it
        raise ExperienceError(
            f'{path}: expected a file of experiences, found an SQLite file of something else '
            f'(tables {", ".join(others[:4])}); name another file'
        )


def _make_folder(folder: Path) -> None:
    """Make a folder that outlives a power cut, and the folders above it."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        _sync_folder(one.parent)
    folder.mkdir(exist_ok=True)  # refuses where it is a file


def _set_aside(path: Path, now_ns: int) -> Path:
    number = now_ns // 1_000_000_000
    while (aside := path.with_name(f'{path.name}.corrupt-{number}')).exists():
        number += 1
    try:
        # The log first: a log that were left behind would be taken for that of the new file.
        for suffix in ('-wal', '-shm', ''):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
        _sync_folder(path.parent)
    except OSError as error:
        raise ExperienceError(
            f'{path}: is broken and cannot be set aside: {error.strerror or error}'
        ) from error
    return aside


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
