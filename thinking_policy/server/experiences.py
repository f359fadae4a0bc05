# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Endpoints for experiences: robots send them, readers read them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from thinking_policy.experience.entry import Line
from thinking_policy.server.access import ReaderToken, RobotToken, State
from thinking_policy.server.bodies import received
from thinking_policy.server.ingest import check_digest, ingest, unpacked
from thinking_policy.server.problems import RefusedError, refused
from thinking_policy.server.state import ServerState
from thinking_policy.server.tenancy import TenantData
from thinking_policy.server.tokens import Token
from thinking_policy.server.wire import LINES_TYPE, UploadAnswer

MOST_LINES = 10_000
PAGE_BYTES = 16 << 20  # a page ends earlier where it would get larger
ID = r'^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
AFTER = r'^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.[0-9]{1,19})?)?$'
_LAST = 2**63 - 1

_LINES: dict[str, Any] = {
    'description': 'Records, one a line',
    'content': {LINES_TYPE: {'schema': {'$ref': '#/components/schemas/Lines'}}},
}

_PAGE = {
    **_LINES,
    'headers': {
        'X-Next-After': {
            'description': 'Give it as `after` when listing, for what follows; absent at the end',
            'schema': {'type': 'string'},
        }
    },
}

router = APIRouter(prefix='/v1/experiences', tags=['experiences'])


@router.post(
    '',
    summary='Take in records',
    response_model=UploadAnswer,
    responses=refused(400, 401, 403, 408, 413, 415, 422, 429, 503),
    openapi_extra={'requestBody': {**_LINES, 'required': True}},
)
async def upload(
    request: Request,
    token: RobotToken,
    state: State,
    content_type: Annotated[
        str, Header(include_in_schema=False)  # OpenAPI has the body say it
    ] = '',
    content_encoding: Annotated[
        str, Header(description='`gzip`, or none', examples=['gzip'])
    ] = '',
    idempotency_key: Annotated[
        str | None, Header(description='SHA-256 of the unpacked body, 64 hexadecimal digits')
    ] = None,
) -> Response:
    """Store experiences and amendments: lines of JSON, each ended by a line feed.

    Accepted and known records are on the disk before the answer. The same request may be sent
    any number of times. A line that is rejected doesn't hold up the others.
    """
    if content_type.partition(';')[0].strip().lower() != LINES_TYPE:
        raise RefusedError(
            415, 'content_type', f'Content-Type: expected {LINES_TYPE}, found {content_type!r}'
        )
    try:
        async with received(request, state) as body:
            answer = await asyncio.get_running_loop().run_in_executor(
                state.ingesting,
                _take_in,
                state,
                token,
                body,
                content_encoding.strip().lower(),
                idempotency_key,
            )
    except ClientDisconnect:
        return Response(status_code=400)  # nobody reads it
    return Response(answer, media_type='application/json')


@router.get(
    '',
    summary='List records',
    response_class=Response,
    responses={
        200: _PAGE,
        **refused(401, 403, 422, 429, 503),
    },
)
def list_records(
    token: ReaderToken,
    state: State,
    after: Annotated[
        str,
        Query(pattern=AFTER, description='Begin behind this id, or this `id.revision`'),
    ] = '',
    limit: Annotated[int, Query(ge=1, le=MOST_LINES, description='Lines at most')] = 1000,
    robot: Annotated[str | None, Query(max_length=256, description='Only of this robot')] = None,
) -> Response:
    """Return records of the token's tenant by id and revision, that is by time.

    An amendment stands behind its experience, whenever it came in.
    """
    name, _, revision = after.partition('.')
    start = (name, min(int(revision), _LAST) if revision else _LAST if name else -1)
    with state.database.reading() as database:
        store = TenantData(database, token.tenant).experiences
        return _page(store.all_lines(robot=robot, after=start, most=limit + 1), limit)


@router.get(
    '/{id}',
    summary='One experience and its amendments',
    response_class=Response,
    responses={
        200: _PAGE,
        **refused(401, 403, 404, 422, 429, 503),
    },
)
def show(
    token: ReaderToken,
    state: State,
    id: Annotated[str, Path(pattern=ID, examples=['0197a3f0-5b8c-7d3e-9f10-2b6f0c1d2e3f'])],
) -> Response:
    """Return the experience first, then what became known of it, in order."""
    with state.database.reading() as database:
        store = TenantData(database, token.tenant).experiences
        lines = itertools.takewhile(lambda line: line.id == id, store.all_lines(after=(id, -1)))
        answer = _page(lines, MOST_LINES)
    if not answer.body:
        raise RefusedError(404, 'not_found', 'no experience of that id')
    return answer


def _take_in(
    state: ServerState, token: Token, body: bytes, encoding: str, key: str | None
) -> bytes:
    limits = state.options.limits
    plain = unpacked(body, encoding, limits)
    check_digest(plain, key)
    answer = ingest(state.database, token, plain, limits, state.clock_ns())
    state.metrics.count_upload(answer, len(body), len(plain))
    return answer.model_dump_json().encode()


def _page(lines: Iterable[Line], most: int) -> Response:
    """Return the first of some lines, and behind which one the rest begins."""
    taken: list[Line] = []
    size = 0
    headers = {}
    for line in lines:
        size += len(line.body) + 1
        if len(taken) == most or (taken and size > PAGE_BYTES):
            headers = {'X-Next-After': f'{taken[-1].id}.{taken[-1].revision}'}
            break
        taken.append(line)
    text = b''.join(line.body + b'\n' for line in taken)
    return Response(text, media_type=LINES_TYPE, headers=headers)
