# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Who may do what: the token of a request, its role, its rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from thinking_policy.server.problems import RefusedError
from thinking_policy.server.state import ServerState
from thinking_policy.server.tokens import Role, Token, find_token

_BEARER = HTTPBearer(
    auto_error=False, description='Made by `thinking-policy token new`; shown once.'
)


def state_of(request: Request) -> ServerState:
    """Return what the running server holds."""
    return cast(ServerState, request.app.state.server)


def token_of(
    state: Annotated[ServerState, Depends(state_of)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
) -> Token:
    """Return the token of a request; looked up each time, so that revoking works at once.

    Raises:
        RefusedError: 401: none, unknown or revoked; 429: too many requests.
    """
    if credentials is None:
        raise RefusedError(
            401,
            'token',
            'expected the header Authorization: Bearer TOKEN',
            {'WWW-Authenticate': 'Bearer'},
        )
    with state.database.reading() as database:
        token = find_token(database, credentials.credentials)
    if token is None:
        raise RefusedError(
            401,
            'token',
            'the token is unknown or was revoked',
            {'WWW-Authenticate': 'Bearer error="invalid_token"'},
        )
    wait_s = state.rates.wait_s(token.id)
    if wait_s:
        raise RefusedError(
            429, 'rate', 'too many requests of this token', {'Retry-After': str(wait_s)}
        )
    return token


def allowed(*roles: Role) -> Callable[[Token], Token]:
    """Return the dependency that lets only some roles in; an admin always is."""

    def check(token: Annotated[Token, Depends(token_of)]) -> Token:
        if token.role not in (*roles, Role.ADMIN):
            expected = ' or '.join(role.value for role in (*roles, Role.ADMIN))
            raise RefusedError(
                403, 'role', f'expected a token of role {expected}, found {token.role.value}'
            )
        return token

    return check


State = Annotated[ServerState, Depends(state_of)]
RobotToken = Annotated[Token, Depends(allowed(Role.ROBOT))]
ReaderToken = Annotated[Token, Depends(allowed(Role.READER))]
