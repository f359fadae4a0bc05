# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Tokens: who may ask, for which tenant, as what. Only their hashes are kept."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from enum import Enum

from sqlite_utils import Database

from thinking_policy.server.errors import ServerError

NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,63}')
LONGEST_ROBOT = 256  # characters, as in a record
_COLUMNS = 'id, tenant, robot, role, created_ns, revoked_ns'


class Role(str, Enum):
    """What a token is for."""

    ROBOT = 'robot'  # sends experiences, fetches the policy, says which one it runs
    READER = 'reader'  # reads experiences
    ADMIN = 'admin'  # all of this


@dataclass(frozen=True)
class Token:
    """What is known of a token.

    Attributes:
        id: Names it in lists and commands; it is a part of the token and no secret.
        tenant: Whose data it opens; nothing else.
        robot: The only robot it may speak for; None: any of the tenant's.
        role: What it may do.
        created_ns, revoked_ns: Nanoseconds since 1970; `revoked_ns` is None while it is good.
    """

    id: str
    tenant: str
    robot: str | None
    role: Role
    created_ns: int
    revoked_ns: int | None = None


def new_token(
    database: Database, tenant: str, robot: str | None, role: Role, now_ns: int
) -> tuple[Token, str]:
    """Make a token.

    Returns:
        What is kept of it, and the token itself, which can't be had again.

    Raises:
        ServerError: A name is none, or the role can't be bound to a robot.
    """
    if not NAME.fullmatch(tenant):
        raise ServerError(
            f'tenant: expected 1 to 64 letters, digits, dots, dashes or underscores, found '
            f'{tenant!r}'
        )
    if robot is not None and role is not Role.ROBOT:
        raise ServerError(f'robot: only a token of role robot is bound to one, not {role.value}')
    if robot is not None and not 1 <= len(robot) <= LONGEST_ROBOT:
        raise ServerError(f'robot: expected 1 to {LONGEST_ROBOT} characters, found {len(robot)}')
    token = Token(secrets.token_hex(4), tenant, robot, role, now_ns)
    secret = f'tp_{token.id}_{secrets.token_urlsafe(32)}'
    database.conn.execute(
        f'INSERT INTO token ({_COLUMNS}, sha256) VALUES (?, ?, ?, ?, ?, ?, ?)',
        (token.id, tenant, robot, role.value, now_ns, None, _hash(secret)),
    )
    return token, secret


def find_token(database: Database, secret: str) -> Token | None:
    """Return the token, None where there is none of it or it was revoked."""
    row = database.conn.execute(
        f'SELECT {_COLUMNS} FROM token WHERE sha256 = ? AND revoked_ns IS NULL', (_hash(secret),)
    ).fetchone()
    return None if row is None else _token(row)


def list_tokens(database: Database) -> list[Token]:
    """Return all tokens, the revoked ones too, oldest first."""
    rows = database.conn.execute(f'SELECT {_COLUMNS} FROM token ORDER BY created_ns, id')
    return [_token(row) for row in rows]


def revoke_token(database: Database, token: str, now_ns: int) -> Token:
    """Make a token worthless from the next request on; once revoked stays revoked.

    Args:
        database: Within a transaction.
        token: Its id, or the token itself.
        now_ns: When; nanoseconds since 1970.

    Raises:
        ServerError: There is no such token.
    """
    name = token.split('_')[1] if token.startswith('tp_') and token.count('_') > 1 else token
    row = database.conn.execute(f'SELECT {_COLUMNS} FROM token WHERE id = ?', (name,)).fetchone()
    if row is None:
        raise ServerError(f'{name[:16]}: no such token; `thinking-policy token list` shows them')
    database.conn.execute(
        'UPDATE token SET revoked_ns = ? WHERE id = ? AND revoked_ns IS NULL', (now_ns, name)
    )
    return _token(
        database.conn.execute(f'SELECT {_COLUMNS} FROM token WHERE id = ?', (name,)).fetchone()
    )


def any_token(database: Database) -> bool:
    """Whether anyone may ask at all."""
    found = database.conn.execute(
        'SELECT 1 FROM token WHERE revoked_ns IS NULL LIMIT 1'
    ).fetchone()
    return found is not None


def tenants(database: Database) -> list[str]:
    """Return the tenants that have tokens."""
    return [
        row[0]
        for row in database.conn.execute('SELECT DISTINCT tenant FROM token ORDER BY tenant')
    ]


def _hash(secret: str) -> bytes:
    # 256 random bits need no slow hash: there is nothing to guess.
    return hashlib.sha256(secret.encode('utf-8', 'surrogatepass')).digest()


def _token(row: tuple[str, str, str | None, str, int, int | None]) -> Token:
    return Token(row[0], row[1], row[2], Role(row[3]), row[4], row[5])
