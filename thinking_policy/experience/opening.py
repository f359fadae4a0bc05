# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Opens a file of experiences that somebody else may be writing: to read, or to change a little.

Unlike the buffer this never sets anything aside: a file that holds no experiences is refused.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlite_utils import Database

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.schema import migrations, open_database

BUSY_S = 10.0  # another process may hold the file so long; seconds
LOGS = ('-wal', '-shm')


@contextmanager
def reading(path: Path) -> Iterator[Database]:
    """Lend a connection that can't change the file, while others write it or not at all.

    A file in a folder that can't be written is read as well, with its log. Keep no cursor open
    for long: the log can't be cut meanwhile.

    Args:
        path: The file.

    Raises:
        ExperienceError: No such file, none of experiences, of another version, or unreadable.
    """
    with ExitStack() as stack:
        with saying_errors(path):
            _check_header(path)
            connection = stack.enter_context(_read_only(path, stack))
            database = Database(connection, execute_plugins=False)
            _check_schema(path, database)
        with saying_errors(path):
            yield database


@contextmanager
def changing(path: Path, *, make: bool = False) -> Iterator[Database]:
    """Lend a connection that may change the file; it commits by itself, use `transaction`.

    Args:
        path: The file.
        make: Whether a missing one is made.

    Raises:
        ExperienceError: As `reading`; or the file can't be changed.
    """
    if path.exists() or not make:
        with reading(path):  # so that nothing of others is set aside
            pass
    with saying_errors(path):
        database = open_database(path, busy_s=BUSY_S, check=False).database
    try:
        with saying_errors(path):
            yield database
    finally:
        database.conn.close()


@contextmanager
def saying_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say into one line that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise ExperienceError(f'{path}: {_in_words(str(error))}') from error
    except sqlite3.DatabaseError as error:
        raise ExperienceError(
            f'{path}: is damaged ({error}); stop who writes it, which sets it aside at its next '
            f'start, or try `sqlite3 {path.name} .recover`'
        ) from error
    except OSError as error:
        if error.filename not in (None, path, str(path)):
            raise
        raise ExperienceError(f'{path}: cannot be read: {error.strerror or error}') from error


def _in_words(error: str) -> str:
    if 'locked' in error or 'busy' in error:
        return f'another process held it for more than {BUSY_S:g} s; try again'
    if 'readonly' in error:
        return 'cannot be changed: file or folder is read-only for this user'
    if 'full' in error:
        return 'cannot be changed: the disk is full'
    if 'unable to open' in error:
        return 'cannot be opened: no access to it, to its log or to its folder'
    return error


def _check_header(path: Path) -> None:
    if not path.exists():
        raise ExperienceError(
            f'{path}: no such file; name one with --db (a robot makes it when its experience '
            'node starts)'
        )
    if not path.is_file():
        raise ExperienceError(f'{path}: expected a file of experiences, found none')
    with path.open('rb') as file:
        start = file.read(16)
    if start != b'SQLite format 3\0':
        found = 'an empty file' if not start else 'something else'
        raise ExperienceError(f'{path}: expected an SQLite file of experiences, found {found}')


def _check_schema(path: Path, database: Database) -> None:
    applied = {migration.name for migration in migrations.applied(database)}
    if not applied or 'record' not in database.table_names():
        raise ExperienceError(
            f'{path}: is an SQLite file, but holds no experiences (no table `record`)'
        )
    known = {migration.name for migration in migrations.pending(database)} | applied
    own = {migration.name for migration in migrations._migrations}
    if known != own:
        raise ExperienceError(
            f'{path}: was made by a newer version of this package (it has '
            f'{", ".join(sorted(applied - own))}); update it here'
        )
    if applied != own:
        raise ExperienceError(
            f'{path}: was made by an older version of this package; start the node or server of '
            'this version on it once'
        )


@contextmanager
def _read_only(path: Path, stack: ExitStack) -> Iterator[sqlite3.Connection]:
    log, index = (path.with_name(path.name + suffix) for suffix in LOGS)
    # SQLite makes log and index beside a file even to read it. Where they are missing and
    # wouldn't be the owner's, who would then be locked out by them, nobody has it open either.
    foreign = not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    how = 'mode=ro'
    if foreign and not index.exists():
        if log.exists() and log.stat().st_size:
            path = _copied(path, log, stack)
        else:
            how = 'mode=ro&immutable=1'
    connection = sqlite3.connect(
        f'{path.absolute().as_uri()}?{how}', uri=True, timeout=BUSY_S, isolation_level=None
    )
    try:
        connection.execute('SELECT COUNT(*) FROM sqlite_master').fetchone()
        yield connection
    finally:
        connection.close()


def _copied(path: Path, log: Path, stack: ExitStack) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='experience_')))
    for file in (path, log):
        shutil.copyfile(file, folder / file.name)
    return folder / path.name
