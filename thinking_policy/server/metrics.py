# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the server counts, for Prometheus. Anyone may read it, so no tenant or robot is named."""

from __future__ import annotations

import time
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thinking_policy.server.database import ServerDatabase
from thinking_policy.server.wire import UploadAnswer

_METHODS = ('GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH')


class Metrics:
    """Counters of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            'thinking_policy_requests',
            'Requests by endpoint and status.',
            ('method', 'endpoint', 'status'),
            registry=self.registry,
        )
        self.seconds = Histogram(
            'thinking_policy_request_seconds',
            'How long requests took, the body included.',
            ('endpoint',),
            registry=self.registry,
        )
        self.records = Counter(
            'thinking_policy_records',
            'Records received, by what became of them.',
            ('outcome',),
            registry=self.registry,
        )
        self.received = Counter(
            'thinking_policy_received_bytes',
            'Bytes of uploads, as sent and unpacked.',
            ('form',),
            registry=self.registry,
        )
        self._size = Gauge(
            'thinking_policy_database_bytes', 'Size of the database.', registry=self.registry
        )
        for outcome in ('accepted', 'known'):
            self.records.labels(outcome)

    def watch(self, database: ServerDatabase) -> None:
        """Show the size of a database."""
        self._size.set_function(database.size_bytes)

    def count_upload(self, answer: UploadAnswer, sent: int, plain: int) -> None:
        """Count the lines and bytes of one upload."""
        self.records.labels('accepted').inc(answer.accepted)
        self.records.labels('known').inc(answer.known)
        for rejection in answer.rejected:
            self.records.labels(f'rejected_{rejection.code}').inc()
        self.received.labels('sent').inc(sent)
        self.received.labels('unpacked').inc(plain)

    def text(self) -> bytes:
        """Return all of it, as Prometheus reads it."""
        return generate_latest(self.registry)


class CountRequests:
    """Counts what passes through, by the endpoint's pattern: a path may hold an id."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and count it."""
        if scope['type'] != 'http':
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message['type'] == 'http.response.start':
                status = message['status']
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route: Any = scope.get('route')
            endpoint = getattr(route, 'path', 'none')
            method = scope['method'] if scope['method'] in _METHODS else 'other'
            self._metrics.requests.labels(method, endpoint, str(status)).inc()
            self._metrics.seconds.labels(endpoint).observe(time.perf_counter() - began)
