# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Servers on loopback: the real one in a thread, and one that answers as a test says."""

from __future__ import annotations

import gzip
import http.server
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from thinking_policy.experience.record import Experience, StoredSituation, time_ordered_id
from thinking_policy.server.app import make_app
from thinking_policy.server.database import ServerDatabase
from thinking_policy.server.registry import PolicyFile
from thinking_policy.server.serving import listen, url
from thinking_policy.server.state import ServerOptions, ServerState
from thinking_policy.server.tenancy import TenantData
from thinking_policy.server.tokens import Role, new_token

NOW_NS = 1_766_000_000_000_000_000
TENANT = 'lab'
TAKE_ALL = 'take all'


@dataclass
class Clock:
    """A wall clock and a steady one, both moved by the test."""

    seconds: float = 0.0
    wrong_s: float = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def time_ns(self) -> int:
        return NOW_NS + round((self.seconds + self.wrong_s) * 1e9)


def make_experience(number: int = 0, robot: str = 'r1', text: str = '') -> Experience:
    """Return a small experience; the same arguments give the same one."""
    observations = ({'kind': 'action', 'stamp_ns': NOW_NS, 'text': text},) if text else ()
    return Experience(
        id=time_ordered_id(NOW_NS + number * 1_000_000, number.to_bytes(10, 'big')),
        robot=robot,
        reasons=('change',),
        policy_version='abc',
        observations=observations,
        situation=StoredSituation(
            stamp_ns=NOW_NS + number,
            tick=number,
            episode='one',
            period_s=0.5,
            signals=('temperature',),
            length=1,
            window='AAAAAA==',
            valid='gA==',
        ),
    )


class RealServer:
    """The real server, in a thread."""

    def __init__(self, path: Path, options: ServerOptions | None = None) -> None:
        self.database = ServerDatabase(path)
        self._socket = listen('127.0.0.1', 0, open_to_all=False)
        self.url = url(self._socket)
        state = ServerState(self.database, options or ServerOptions())
        self._server = uvicorn.Server(
            uvicorn.Config(make_app(state), log_level='warning', timeout_graceful_shutdown=1)
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    def token(self, robot: str | None = None) -> str:
        with self.database.writing() as database:
            return new_token(database, TENANT, robot, Role.ROBOT, NOW_NS)[1]

    def publish(self, version: str, body: bytes, signature: bytes | None = None) -> None:
        with self.database.writing() as database:
            policies = TenantData(database, TENANT).policies
            policies.publish(PolicyFile(version, '{}', body, signature), NOW_NS)

    def rollback(self) -> None:
        with self.database.writing() as database:
            TenantData(database, TENANT).policies.rollback(None, NOW_NS)

    def store(self, record: Experience) -> None:
        from thinking_policy.experience.record import to_line
        from thinking_policy.experience.store import entry_of

        with self.database.writing() as database:
            experiences = TenantData(database, TENANT).experiences
            experiences.add([entry_of(record, to_line(record))], NOW_NS)

    def lines(self) -> list[bytes]:
        with self.database.reading() as database:
            return [line.body for line in TenantData(database, TENANT).experiences.all_lines()]

    def reports(self) -> list[tuple[str, str, str, str]]:
        with self.database.reading() as database:
            found = TenantData(database, TENANT).robots.all()
        return [(one.robot, one.policy_version, one.state, one.reason) for one in found]

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._socket.close()


@dataclass
class Heard:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def lines(self) -> list[bytes]:
        return gzip.decompress(self.body).splitlines()


Said = tuple[int, dict[str, str], bytes]


@dataclass
class ScriptedServer:
    """Answers each request with what `answer` returns, and remembers it."""

    answer: Callable[[Heard], Said]
    context: ssl.SSLContext | None = None
    heard: list[Heard] = field(default_factory=list)

    def __post_init__(self) -> None:
        script = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self) -> None:
                size = int(self.headers.get('Content-Length', 0))
                names = {name.lower(): value for name, value in self.headers.items()}
                request = Heard(self.command, self.path, names, self.rfile.read(size))
                script.heard.append(request)
                status, headers, body = script.answer(request)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status not in (204, 304):
                    self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._server.handle_error = lambda *_: None  # clients of these tests go away early
        scheme = 'http'
        if self.context is not None:
            scheme = 'https'
            self._server.socket = self.context.wrap_socket(self._server.socket, server_side=True)
        self.url = f'{scheme}://127.0.0.1:{self._server.server_port}'
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={'poll_interval': 0.02}
        )
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


def taken(request: Heard) -> Said:
    """Answer that everything was stored."""
    return 200, {}, b'{"accepted": %d, "known": 0, "rejected": []}' % len(request.lines)


def problem(status: int, code: str, message: str, **headers: str) -> Said:
    """Answer as the server refuses a request."""
    named = {name.replace('_', '-'): value for name, value in headers.items()}
    return status, named, b'{"error": "%s", "message": "%s"}' % (code.encode(), message.encode())


def drain(uplink, most=200):
    """Step until there is nothing to do at once."""
    for _ in range(most):
        if uplink.step() > 0.0:
            return uplink.status()
    raise AssertionError('it goes on and on')


def offer(version, body=None, **headers):
    """Answer with a policy."""
    named = {'ETag': f'"{version}"', 'X-Policy-Version': version, **headers}
    return 200, named, (body or f'policy {version}').encode()
