# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The web application: endpoints, errors, counters and the API page, put together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from pydantic.json_schema import models_json_schema

from thinking_policy import __version__
from thinking_policy.experience.record import Amendment, Experience
from thinking_policy.server import experiences, policies, service
from thinking_policy.server.api_page import api_page
from thinking_policy.server.bodies import DrainBodies, SmallBodies
from thinking_policy.server.metrics import CountRequests
from thinking_policy.server.problems import add_handlers
from thinking_policy.server.state import ServerState
from thinking_policy.server.stopping import AnswerWhenStopped
from thinking_policy.server.wire import LINES_TYPE

_ABOUT = """
Robots send what they lived through and fetch the policy that was learned from it.

Every request but those for health and counters carries a token, made on the server by
`thinking-policy token new`. It names the tenant; nothing of another tenant can be reached.
Delivery is at least once and counts once: send again what was not answered.
"""


def make_app(state: ServerState) -> FastAPI:
    """Return the application; it closes what `state` holds when it stops."""

    @contextlib.asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(state.close)

    app = FastAPI(
        title='thinking_policy',
        version=__version__,
        description=_ABOUT,
        lifespan=running,
        docs_url=None,
        redoc_url=None,
    )
    app.state.server = state
    for router in (experiences.router, policies.router, service.router):
        app.include_router(router)
    add_handlers(app)
    app.add_middleware(SmallBodies, upload_path='/v1/experiences')
    app.add_middleware(DrainBodies)
    app.add_middleware(CountRequests, metrics=state.metrics)
    app.add_middleware(AnswerWhenStopped)
    plain = app.openapi
    app.openapi = lambda: _with_records(plain())  # type: ignore[method-assign]

    @app.get('/docs', include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(api_page(app.openapi()))

    return app


def _with_records(page: dict[str, Any]) -> dict[str, Any]:
    """Add the models of what a line holds, which FastAPI does not see."""
    schemas = page['components']['schemas']
    if 'Lines' in schemas:
        return page
    _, found = models_json_schema(
        [(Experience, 'validation'), (Amendment, 'validation')],
        ref_template='#/components/schemas/{model}',
    )
    schemas.update(found['$defs'])
    schemas['Lines'] = {
        'type': 'string',
        'contentMediaType': LINES_TYPE,
        'description': 'Lines of JSON, each ended by a line feed: an Experience or an Amendment',
        'contentSchema': {
            'oneOf': [
                {'$ref': f'#/components/schemas/{model.__name__}'}
                for model in (Experience, Amendment)
            ]
        },
        'examples': [
            '{"kind":"amendment","schema_version":1,"id":"0197a3f0-5b8c-7d3e-9f10-2b6f0c1d2e3f",'
            '"robot":"turtlebot-7","revision":1766000000000,"observation":{"kind":"outcome",'
            '"stamp_ns":1766000000000000000,"code":"stuck"}}\n'
        ],
    }
    for unused in ('HTTPValidationError', 'ValidationError'):  # answered as a Problem
        schemas.pop(unused, None)
    return page
