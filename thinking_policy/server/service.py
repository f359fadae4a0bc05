# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Endpoints for who runs the server: is it well, what has it done."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from thinking_policy import __version__
from thinking_policy.server.access import State
from thinking_policy.server.problems import refused
from thinking_policy.server.wire import Health

router = APIRouter(tags=['service'])


@router.get('/healthz', summary='Is it well?', response_model=Health, responses=refused(503))
def healthz(state: State) -> Health:
    """Say ok where the database takes data, that is where an upload would be stored."""
    state.health.run(state.database, state.clock_ns(), state.monotonic())
    return Health(status='ok', version=__version__)


@router.get(
    '/metrics',
    summary='Counters for Prometheus',
    response_class=Response,
    responses={
        200: {
            'description': 'Counters; no tenant and no robot is named',
            'content': {'text/plain': {'schema': {'type': 'string'}}},
        }
    },
)
def metrics(state: State) -> Response:
    """Return the counters since the start."""
    return Response(state.metrics.text(), media_type=CONTENT_TYPE_LATEST)
