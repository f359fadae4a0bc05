# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests: received within bounds of size, time and memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thinking_policy.server.ingest import too_large
from thinking_policy.server.problems import RefusedError
from thinking_policy.server.state import ServerState

SMALL_BYTES = 64 << 10
SMALL_S = 30.0
DRAINED_BYTES = 64 << 20
DRAINED_S = 5.0


@contextlib.asynccontextmanager
async def received(request: Request, state: ServerState) -> AsyncIterator[bytes]:
    """Lend the body of a request; what it takes of memory is counted as long as that.

    Raises:
        RefusedError: 408: too slow; 413: too large; 503: too much is under way already.
        ClientDisconnect: The client went away.
    """
    length = request.headers.get('content-length', '')
    if length.isdecimal() and int(length[:20]) > state.options.limits.bytes:
        raise too_large(state.options.limits)
    chunks: list[bytes] = []
    try:
        try:
            await asyncio.wait_for(_receive(request, state, chunks), state.options.body_s)
        except (TimeoutError, asyncio.TimeoutError) as error:
            raise RefusedError(
                408, 'slow', f'the body took longer than {state.options.body_s:g} s'
            ) from error
        yield b''.join(chunks)
    finally:
        state.held -= sum(map(len, chunks))


async def _receive(request: Request, state: ServerState, chunks: list[bytes]) -> None:
    size = 0
    async for chunk in request.stream():
        chunks.append(chunk)
        size += len(chunk)
        state.held += len(chunk)
        if size > state.options.limits.bytes:
            raise too_large(state.options.limits)
        if state.held > state.options.held_bytes:
            raise RefusedError(503, 'busy', 'too many uploads at a time', {'Retry-After': '5'})


class SmallBodies:
    """Receives the bodies of all requests but uploads within small bounds, before anything else.

    A JSON body would be read and parsed whole, however large, before the token is looked at.
    """

    def __init__(self, app: ASGIApp, upload_path: str) -> None:
        self._app, self._upload_path = app, upload_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body in hand, or refuse it."""
        if scope['type'] != 'http' or scope['path'] == self._upload_path:
            await self._app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(_small(receive), SMALL_S)
        except (TimeoutError, asyncio.TimeoutError):
            refusal = RefusedError(408, 'slow', f'the body took longer than {SMALL_S:g} s')
            await refusal.response()(scope, receive, send)
            return
        except RefusedError as refusal:
            await refusal.response()(scope, receive, send)
            return
        handed = False

        async def receive_in_hand() -> Message:
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {'type': 'http.request', 'body': body, 'more_body': False}

        await self._app(scope, receive_in_hand, send)


async def _small(receive: Receive) -> bytes:
    body, more = b'', True
    while more:
        message = await receive()
        body += message.get('body', b'')
        more = message.get('more_body', False)
        if len(body) > SMALL_BYTES:
            raise RefusedError(
                413,
                'too_large',
                f'the body: more than {SMALL_BYTES:,} bytes',
                {'X-Limit-Bytes': str(SMALL_BYTES)},
            )
    return body


class DrainBodies:
    """Reads on, within bounds, what a refused client is still sending.

    Closing on it would reset the connection, and a robot would see that instead of the refusal:
    it would try again where it should send less, or ask for a new token.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; drain it before a refusal is sent."""
        if scope['type'] != 'http' or scope['method'] in ('GET', 'HEAD'):
            await self._app(scope, receive, send)
            return
        ended = False

        async def noting() -> Message:
            nonlocal ended
            message = await receive()
            ended = ended or not message.get('more_body', False)
            return message

        async def drain() -> None:
            left = DRAINED_BYTES
            while not ended and left > 0:
                left -= len((await noting()).get('body', b''))

        async def sending(message: Message) -> None:
            if message['type'] == 'http.response.start' and message['status'] >= 400:
                with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                    await asyncio.wait_for(drain(), DRAINED_S)
            await send(message)

        await self._app(scope, noting, sending)
