# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""All of it or nothing: changes of a file that are committed together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlite_utils import Database


@contextmanager
def transaction(database: Database) -> Iterator[None]:
    """Commit what the block changes, or undo all of it where it raises.

    Args:
        database: Its connection commits by itself otherwise.

    Raises:
        sqlite3.OperationalError: The file is locked, full or read-only for now.
    """
    connection = database.conn
    connection.execute('BEGIN IMMEDIATE')
    try:
        yield
        connection.execute('COMMIT')
    except BaseException:
        if connection.in_transaction:
            connection.execute('ROLLBACK')
        raise
