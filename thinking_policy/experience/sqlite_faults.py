# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Whose fault an error of SQLite is: the file's, for now or for good, or the question's."""

from __future__ import annotations

import sqlite3

# What SQLite says of a file that will do again as it is, and of one that is broken. Python 3.10
# has no error codes.
_REFUSES = ('locked', 'full')
_BROKEN = ('malformed', 'not a database', 'corrupt')

ITS_OWN = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    ValueError,
    TypeError,
    OverflowError,
)
"""What is wrong with a record or a question rather than with the file."""

_TROUBLE = (*_REFUSES, 'readonly', 'disk I/O', 'unable to open', 'interrupted')


def refuses_for_now(error: sqlite3.Error) -> bool:
    """Whether the file will do again as it is."""
    return any(word in str(error) for word in _REFUSES)


def is_broken(error: Exception) -> bool:
    """Whether the file will never do again."""
    return isinstance(error, sqlite3.DatabaseError) and any(w in str(error) for w in _BROKEN)


def is_the_files_fault(error: Exception) -> bool:
    """Whether a question may be asked again once the file is well."""
    if isinstance(error, sqlite3.OperationalError):
        return any(word in str(error) for word in _TROUBLE)
    return isinstance(error, OSError) or is_broken(error)
