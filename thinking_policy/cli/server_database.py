# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The server's database, as the commands of the server find it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinking_policy import ThinkingPolicyError

if TYPE_CHECKING:
    from sqlite_utils import Database

VARIABLE = 'THINKING_POLICY_DB'

DatabaseOption = Annotated[
    Path | None,
    typer.Option(
        '--db',
        metavar='PATH',
        readable=False,
        help=f"The server's database. Default: ${VARIABLE}, else thinking_policy/server.db in "
        '$XDG_DATA_HOME or ~/.local/share.',
    ),
]
TenantOption = Annotated[
    str,
    typer.Option(metavar='NAME', help='Whose; may be left out where only one has tokens.'),
]


def database_path(given: Path | None) -> Path:
    """Return where the database is: as given, as in the environment, or in the usual place."""
    if given is not None:
        return given.expanduser()
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    home = os.environ.get('XDG_DATA_HOME') or '~/.local/share'
    return Path(home).expanduser() / 'thinking_policy' / 'server.db'


@contextmanager
def lent_database(path: Path, *, writes: bool = False, new: bool = False) -> Iterator[Database]:
    """Lend the database within a transaction, or for reading.

    Args:
        path: Where it is.
        writes: Whether the block changes it.
        new: Whether a missing one is made.

    Raises:
        ServerError: It is missing, or the file refuses.
    """
    from thinking_policy.server.database import ServerDatabase
    from thinking_policy.server.errors import ServerError

    with ServerDatabase(path, new=new) as database:
        try:
            with database.writing() if writes else database.reading() as connection:
                yield connection
        except sqlite3.Error as error:
            raise ServerError(f'{path}: {error}; nothing was changed') from error


def only_tenant(database: Database, given: str) -> str:
    """Return the tenant that was named, or the only one that there is.

    Raises:
        ThinkingPolicyError: There is no such tenant, or one has to be named.
    """
    from thinking_policy.server.tokens import tenants

    known = tenants(database)
    if given in known or (not given and len(known) == 1):
        return given or known[0]
    if not known:
        raise ThinkingPolicyError(
            'no tenant has a token yet; make one: thinking-policy token new --tenant NAME'
        )
    found = f'found {given!r}' if given else 'found none'
    raise ThinkingPolicyError(f'--tenant: expected one of {", ".join(known)}, {found}')
