# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a client hears whose request is under way when the server stops."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thinking_policy.server.problems import RefusedError

_STOPPING = RefusedError(
    503, 'stopping', 'the server is stopping; try again', {'Retry-After': '5'}
)


class AnswerWhenStopped:
    """Answers 503 where the server gives up on a request, in place of an end without a word."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; answer where that is cancelled."""
        if scope['type'] != 'http':
            await self._app(scope, receive, send)
            return
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except asyncio.CancelledError:
            if begun:
                raise
            with contextlib.suppress(OSError):
                await _STOPPING.response()(scope, receive, send)
