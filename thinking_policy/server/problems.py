# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How a request is refused: one shape for all errors, and no one else's data in it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from thinking_policy.server.errors import ServerError
from thinking_policy.server.wire import Problem

LOG = logging.getLogger('thinking_policy.server')
LOCKED_AFTER_S, FULL_AFTER_S = 2, 30  # Retry-After: another writer ends soon, a full disk not

_HTTP_CODES = {404: 'not_found', 405: 'method'}


class RefusedError(ServerError):
    """A request that is refused as a whole."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Say why.

        Args:
            status: HTTP status.
            code: For programs.
            message: For people; names nothing that the caller did not send or own.
            headers: Such as Retry-After.
        """
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """Return it as it is sent."""
        return JSONResponse(
            {'error': self.code, 'message': self.message}, self.status, self.headers
        )


def database_refusal(error: sqlite3.Error) -> RefusedError:
    """Return what to say where the file refuses; the details are for the log only."""
    text = str(error)
    after_s, why = FULL_AFTER_S, 'the database cannot be used for now'
    if 'locked' in text or 'busy' in text:
        after_s, why = LOCKED_AFTER_S, 'the database is locked for now'
    elif 'full' in text:
        why = 'the disk of the server is full'
    elif 'readonly' in text:
        why = 'the database is read-only for now'
    return RefusedError(
        503, 'database', f'{why}; nothing was changed, try again', {'Retry-After': str(after_s)}
    )


def refused(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what the API page says of refusals, for those that an endpoint has."""
    return {status: {'model': Problem, 'description': _MEANING[status]} for status in statuses}


def add_handlers(app: FastAPI) -> None:
    """Let every error of an app answer in the same shape."""

    @app.exception_handler(RefusedError)
    async def refuse(_: Request, error: RefusedError) -> Response:
        return error.response()

    @app.exception_handler(sqlite3.Error)
    async def refuse_for_the_database(_: Request, error: sqlite3.Error) -> Response:
        LOG.warning('database: %s', error)
        return database_refusal(error).response()

    @app.exception_handler(RequestValidationError)
    async def refuse_invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = '.'.join(str(part) for part in first['loc'])
        return RefusedError(422, 'invalid', f'{where}: {first["msg"]}').response()

    @app.exception_handler(HTTPException)
    async def refuse_as_http(_: Request, error: HTTPException) -> Response:
        code = _HTTP_CODES.get(error.status_code, 'http')
        return RefusedError(error.status_code, code, str(error.detail), error.headers).response()

    @app.exception_handler(Exception)
    async def refuse_for_a_fault(_: Request, error: Exception) -> Response:
        # Starlette raises it again: uvicorn logs the traceback and closes the connection.
        return RefusedError(
            500, 'internal', 'a fault of the server; its log says more', {'Connection': 'close'}
        ).response()


_MEANING = {
    400: 'The body is not what its headers say, such as `gzip`, `encoding`, `digest_mismatch`',
    401: 'No token, or one that is unknown or was revoked',
    403: 'The token is for another role or another robot',
    404: 'Nothing there, for this tenant',
    408: 'The body came too slowly',
    413: 'Too large; `X-Limit-Bytes` says the limit of a body, unpacked',
    415: 'Another Content-Type than this endpoint takes',
    422: 'A parameter or the body is invalid; the message names it',
    429: 'Too many requests of this token; see `Retry-After`',
    503: 'The database is locked, full or read-only, or too much is under way; nothing was '
    'stored; see `Retry-After`',
}
