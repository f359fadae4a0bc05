# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Listening: where, under which conditions, until a signal."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from thinking_policy.server.app import make_app
from thinking_policy.server.database import ServerDatabase
from thinking_policy.server.errors import ServerError
from thinking_policy.server.state import ServerOptions, ServerState
from thinking_policy.server.tokens import any_token

GRACE_S = 2  # for requests that are under way; the rest of 5 s is for closing the file
MOST_CONNECTIONS = 500  # more are answered 503: below the usual limit of 1,024 open files
_BACKLOG = 512  # robots that connect at the same moment, as after an outage


def serve(
    path: Path,
    host: str,
    port: int,
    options: ServerOptions | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        path: The database; made where it is missing.
        host: Address or name to listen on.
        port: TCP port; 0: a free one.
        options: How the server behaves.
        say: Takes the lines for whoever started it.

    Raises:
        ServerError: The database or the address can't be used, or anyone could come in.
    """
    with ServerDatabase(path) as database:
        with database.reading() as reader:
            tokens = any_token(reader)
        listening = listen(host, port, open_to_all=tokens)
        with listening:
            address = url(listening)
            say(f'{address}: serving {path}; API page at {address}/docs; Ctrl-C ends it')
            if not tokens:
                say(f'no token yet; make one: thinking-policy token new --tenant NAME --db {path}')
            config = uvicorn.Config(
                make_app(ServerState(database, options or ServerOptions())),
                log_level='warning',
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
                limit_concurrency=MOST_CONNECTIONS,
            )
            uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int, *, open_to_all: bool) -> socket.socket:
    """Return a socket that listens.

    Args:
        host: Address or name.
        port: TCP port; 0: a free one.
        open_to_all: Whether other machines may reach it.

    Raises:
        ServerError: The address can't be used, or is not of this machine alone where it has to.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ServerError(f'{host}: no address to listen on: {error}') from error
    family, _, _, _, address = found[0]
    if not open_to_all and not ipaddress.ip_address(str(address[0]).split('%')[0]).is_loopback:
        raise ServerError(
            f'{host}: can be reached by other machines, and the database holds no token yet; make '
            'one first: `thinking-policy token new --tenant NAME`, or use --host 127.0.0.1'
        )
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise ServerError(
            f'{host}:{port}: cannot listen: {error.strerror or error}; choose another --port or '
            '--host'
        ) from error
    return listening


def url(listening: socket.socket) -> str:
    """Return the address of a socket as a browser takes it."""
    host, port = listening.getsockname()[:2]
    return f'http://[{host}]:{port}' if ':' in host else f'http://{host}:{port}'
