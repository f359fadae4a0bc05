# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy token`: who may talk to the server."""

from __future__ import annotations

import datetime
import sys
import time
from enum import Enum
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from thinking_policy.cli.server_database import DatabaseOption, database_path, lent_database

NEW_EXAMPLES = """\b
Examples:
  thinking-policy token new --tenant lab
  thinking-policy token new --tenant lab --robot turtlebot-7 > token
  thinking-policy token new --tenant lab --role reader
"""
LIST_EXAMPLES = """\b
Example:
  thinking-policy token list
"""
REVOKE_EXAMPLES = """\b
Example:
  thinking-policy token revoke 3f2a9c0d
"""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help='Make, list and revoke tokens of the server.',
)


class RoleName(str, Enum):
    """As `thinking_policy.server.tokens.Role`, which --help need not import."""

    robot = 'robot'
    reader = 'reader'
    admin = 'admin'


@app.command(epilog=NEW_EXAMPLES)
def new(
    tenant: Annotated[
        str, typer.Option(metavar='NAME', help='Whose data it opens, such as a team or site.')
    ],
    robot: Annotated[
        str | None, typer.Option(metavar='ID', help='The only robot it may speak for.')
    ] = None,
    role: Annotated[
        RoleName,
        typer.Option(help='robot: sends, fetches policies; reader: reads; admin: all of it.'),
    ] = RoleName.robot,
    db: DatabaseOption = None,
) -> None:
    """Make a token and print it: this once, since only its hash is kept."""
    from thinking_policy.server.tokens import Role, new_token

    path = database_path(db)
    with lent_database(path, writes=True, new=True) as writer:
        token, secret = new_token(writer, tenant, robot, Role(role.value), time.time_ns())
    bound = f', robot {robot}' if robot is not None else ''
    print(secret, flush=True)  # alone on stdout, so that `> file` keeps the token and no more
    print(
        f'{path}: token {token.id}, tenant {tenant}, role {role.value}{bound}; it is not shown '
        'again',
        file=sys.stderr,
    )


@app.command('list', epilog=LIST_EXAMPLES)
def list_(db: DatabaseOption = None) -> None:
    """List tokens, the revoked ones too."""
    from thinking_policy.server.tokens import list_tokens

    path = database_path(db)
    with lent_database(path) as reader:
        tokens = list_tokens(reader)
    table = Table(title=str(path), title_justify='left')
    for column in ('id', 'tenant', 'robot', 'role', 'made', 'revoked'):
        table.add_column(column, no_wrap=column == 'id')
    for token in tokens:
        table.add_row(
            token.id,
            token.tenant,
            'any' if token.robot is None else token.robot,
            token.role.value,
            day(token.created_ns),
            '' if token.revoked_ns is None else day(token.revoked_ns),
        )
    Console(highlight=False, markup=False).print(table)


@app.command(epilog=REVOKE_EXAMPLES, no_args_is_help=True)
def revoke(
    token: Annotated[str, typer.Argument(metavar='ID', help='Its id, or the token itself.')],
    db: DatabaseOption = None,
) -> None:
    """Make a token worthless, from the next request on."""
    from thinking_policy.server.tokens import revoke_token

    with lent_database(database_path(db), writes=True) as writer:
        gone = revoke_token(writer, token, time.time_ns())
    print(f'{gone.id}: revoked (tenant {gone.tenant}, role {gone.role.value})')


def day(stamp_ns: int) -> str:
    """Return a time as people here read it, to the minute."""
    return datetime.datetime.fromtimestamp(stamp_ns / 1e9).strftime('%Y-%m-%d %H:%M')
