# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A proxy between a robot and its server that does what links and proxies do at their worst."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

PASS, DROP, DELAY = 'pass', 'drop', 'delay'
TRUNCATED_REQUEST, TRUNCATED_ANSWER = 'truncated request', 'truncated answer'
RESET_AFTER_COMMIT, DAMAGED, GARBAGE = 'reset after commit', 'damaged', 'garbage'
RESET_AT_ONCE, TWICE = 'reset at once', 'twice'
ANSWERS = {
    'answers 429': (429, {'Retry-After': '0'}, b'slower, please'),
    'answers 429 with a date': (429, {'Retry-After': formatdate(0, usegmt=True)}, b''),
    'answers 500': (500, {}, b'<html>Internal Server Error</html>'),
    'answers 503': (503, {'Retry-After': '0'}, b'{"error": "x", "message": "later"}'),
    'answers 401': (401, {}, b'{"error": "token", "message": "the token is unknown"}'),
    'answers 404': (404, {}, b'<html>Not Found</html>'),
    'answers 302': (302, {'Location': 'http://127.0.0.1:9/'}, b''),
    'answers a page': (200, {'Content-Type': 'text/html'}, b'<html>Please log in</html>'),
    'answers half a JSON': (200, {}, b'{"accepted": 1, "kno'),
    'answers another count': (200, {}, b'{"accepted": 10000, "known": 0, "rejected": []}'),
}
FAULTS = (
    PASS,
    DROP,
    DELAY,
    TRUNCATED_REQUEST,
    TRUNCATED_ANSWER,
    RESET_AT_ONCE,
    RESET_AFTER_COMMIT,
    DAMAGED,
    GARBAGE,
    TWICE,
    *ANSWERS,
)

_CRLF2 = b'\r\n\r\n'


@dataclass
class FaultyProxy:
    """Takes connections on loopback and passes their requests on, each with a fault.

    Attributes:
        server: Host and port behind it.
        plan: Says which of `FAULTS` the next request meets.
        delay_s: Of a delay; longer than the client's patience, so that its answer comes too late.
        most_bytes: A larger body is answered by 413, as by a proxy in front of the server.
        seed: Of where something is cut or damaged.
    """

    server: tuple[str, int]
    plan: Callable[[], str]
    delay_s: float = 1.0
    most_bytes: int = 1 << 30
    seed: int = 0

    def __post_init__(self) -> None:
        self.met: Counter[str] = Counter()
        self._random = random.Random(self.seed)
        self._listening = socket.create_server(('127.0.0.1', 0))
        self.url = f'http://127.0.0.1:{self._listening.getsockname()[1]}'
        self._ended = False
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self._ended = True
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while not self._ended:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            client.settimeout(30.0)
            while (request := _message(client)) is not None:
                fault = self.plan()
                if len(request) - request.index(_CRLF2) - 4 > self.most_bytes:
                    fault = 'answers 413'
                self.met[fault] += 1
                if not self._meet(fault, client, request):
                    return

    def _meet(self, fault: str, client: socket.socket, request: bytes) -> bool:
        """Do what the fault says; return whether the connection lives on."""
        if fault == 'answers 413':
            client.sendall(_answer(413, {}, b'<html>Request Entity Too Large</html>'))
        elif fault in ANSWERS:
            client.sendall(_answer(*ANSWERS[fault]))
        elif fault == DROP:
            return False
        elif fault == RESET_AT_ONCE:
            return _reset(client)
        elif fault == GARBAGE:
            client.sendall(self._random.randbytes(300))
            return False
        elif fault == TRUNCATED_REQUEST:
            self._pass(request[: self._random.randrange(len(request))], whole=False)
            return False
        else:
            if fault == DAMAGED:
                place = self._random.randrange(request.index(_CRLF2) + 4, len(request))
                damaged = bytearray(request)
                damaged[place] ^= 1 << self._random.randrange(8)
                request = bytes(damaged)
            if fault == TWICE:
                self._pass(request)
            answer = self._pass(request)
            if answer is None:
                return False
            if fault == RESET_AFTER_COMMIT:
                return _reset(client)
            if fault == DELAY:
                time.sleep(self.delay_s)
            if fault == TRUNCATED_ANSWER:
                client.sendall(answer[: self._random.randrange(len(answer))])
                return False
            client.sendall(answer)
        return True

    def _pass(self, request: bytes, *, whole: bool = True) -> bytes | None:
        """Send a request to the server; return its answer, None where it is gone."""
        try:
            with socket.create_connection(self.server, timeout=30.0) as upstream:
                upstream.sendall(request)
                return _message(upstream) if whole else None
        except OSError:
            return None


def _answer(status: int, headers: dict[str, str], body: bytes) -> bytes:
    named = {'Content-Length': str(len(body)), **headers}
    lines = [f'HTTP/1.1 {status} Said by a proxy', *(f'{k}: {v}' for k, v in named.items())]
    return '\r\n'.join(lines).encode() + _CRLF2 + body


def _message(connection: socket.socket) -> bytes | None:
    """Receive a request or an answer with its body; None where the other side has gone."""
    data = b''
    while _CRLF2 not in data:
        received = connection.recv(65536)
        if not received:
            return None
        data += received
    head, _, body = data.partition(_CRLF2)
    size = 0
    for line in head.split(b'\r\n')[1:]:
        name, _, value = line.partition(b':')
        if name.lower() == b'content-length':
            size = int(value)
    while len(body) < size:
        received = connection.recv(65536)
        if not received:
            return None
        body += received
    return head + _CRLF2 + body


def _reset(client: socket.socket) -> bool:
    """Close in the rudest way: the other side gets a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    client.close()
    return False
