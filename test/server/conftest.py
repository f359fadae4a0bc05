# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A real server on loopback, its tokens, and records to send."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip('httpx')
pytest.importorskip('fastapi')
pytest.importorskip('sqlite_utils')
uvicorn = pytest.importorskip('uvicorn')

from thinking_policy.experience.record import (  # noqa: E402
    Amendment,
    Experience,
    Observation,
    StoredSituation,
    time_ordered_id,
    to_line,
)
from thinking_policy.server.app import make_app  # noqa: E402
from thinking_policy.server.database import ServerDatabase  # noqa: E402
from thinking_policy.server.registry import PolicyFile  # noqa: E402
from thinking_policy.server.serving import listen, url  # noqa: E402
from thinking_policy.server.state import ServerOptions, ServerState  # noqa: E402
from thinking_policy.server.tenancy import TenantData  # noqa: E402
from thinking_policy.server.tokens import Role, new_token, revoke_token  # noqa: E402

NOW_NS = 1_766_000_000_000_000_000
LINES = 'application/x-ndjson'


class RunningServer:
    """A server in a thread, with a clock that the test moves."""

    def __init__(self, path: Path, options: ServerOptions, busy_s: float) -> None:
        self.seconds = 0.0
        self.database = ServerDatabase(path, busy_s=busy_s)
        self.state = ServerState(
            self.database,
            options,
            clock_ns=lambda: NOW_NS + round(self.seconds * 1e9),
            monotonic=lambda: self.seconds,
        )
        self.app = make_app(self.state)
        self._socket = listen('127.0.0.1', 0, open_to_all=False)
        self.url = url(self._socket)
        self._server = uvicorn.Server(
            uvicorn.Config(self.app, log_level='warning', timeout_graceful_shutdown=1)
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()
        self._clients: list[httpx.Client] = []

    def client(self, secret: str | None = None) -> httpx.Client:
        """Return a client that carries a token."""
        headers = {} if secret is None else {'Authorization': f'Bearer {secret}'}
        client = httpx.Client(base_url=self.url, headers=headers, timeout=30)
        self._clients.append(client)
        return client

    def token(self, tenant: str = 'lab', robot: str | None = None, role: str = 'robot') -> str:
        """Make a token."""
        with self.database.writing() as database:
            return new_token(database, tenant, robot, Role(role), NOW_NS)[1]

    def revoke(self, secret: str) -> None:
        """Revoke a token."""
        with self.database.writing() as database:
            revoke_token(database, secret, NOW_NS)

    def publish(self, tenant: str, version: str, body: bytes, signature: bytes | None) -> None:
        """Publish bytes as a policy; commands check before that they are one."""
        with self.database.writing() as database:
            policies = TenantData(database, tenant).policies
            policies.publish(PolicyFile(version, '{}', body, signature), NOW_NS)

    def lines(self, tenant: str) -> list[bytes]:
        """Return what is stored of a tenant."""
        with self.database.reading() as database:
            store = TenantData(database, tenant).experiences
            return [line.body for line in store.all_lines()]

    def stop(self) -> None:
        """Stop it; what is under way gets a second."""
        for client in self._clients:
            client.close()
        self._server.should_exit = True
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._socket.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RunningServer]]:
    """Return what starts a server, with options."""
    running = []

    def begin(*, busy_s: float = 0.3, **options: Any) -> RunningServer:
        server = RunningServer(tmp_path / 'server.db', ServerOptions(**options), busy_s)
        running.append(server)
        return server

    yield begin
    for server in running:
        server.stop()


@pytest.fixture
def server(start: Callable[..., RunningServer]) -> RunningServer:
    return start()


def make_id(number: int) -> str:
    return time_ordered_id(NOW_NS + number * 1_000_000, number.to_bytes(10, 'big'))


def make_experience(number: int = 0, robot: str = 'r1', **changes: Any) -> Experience:
    """Return a small experience; the same arguments give the same one."""
    situation = StoredSituation(
        stamp_ns=NOW_NS + number,
        tick=number,
        episode='one',
        period_s=0.5,
        signals=('temperature',),
        length=1,
        window='AAAAAA==',
        valid='gA==',
    )
    return Experience(
        **{
            'id': make_id(number),
            'robot': robot,
            'reasons': ('change',),
            'policy_version': 'abc',
            'situation': situation,
            **changes,
        }
    )


def make_amendment(number: int = 0, revision: int = 1, robot: str = 'r1', text: str = '') -> Any:
    return Amendment(
        id=make_id(number),
        robot=robot,
        revision=revision,
        observation=Observation(kind='outcome', stamp_ns=NOW_NS, code='stuck', text=text),
    )


@pytest.fixture
def experience() -> Callable[..., Experience]:
    return make_experience


@pytest.fixture
def amendment() -> Callable[..., Any]:
    return make_amendment


@pytest.fixture
def body() -> Callable[..., bytes]:
    """Return what makes a body of records or lines."""

    def make(*records: Any) -> bytes:
        lines = [r if isinstance(r, bytes) else to_line(r) for r in records]
        return b''.join(line + b'\n' for line in lines)

    return make


@pytest.fixture
def send() -> Callable[..., Any]:
    """Return what uploads a body."""

    def post(client: Any, content: bytes, *, packed: bool = False, **headers: str) -> Any:
        named = {name.replace('_', '-'): value for name, value in headers.items()}
        if packed:
            content = gzip.compress(content)
            named['Content-Encoding'] = 'gzip'
        return client.post(
            '/v1/experiences', content=content, headers={'Content-Type': LINES, **named}
        )

    return post
