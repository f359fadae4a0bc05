# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy serve`: take in what robots lived through, hand out policies."""

from __future__ import annotations

from typing import Annotated

import typer

from thinking_policy.cli.server_database import DatabaseOption, database_path

EXAMPLES = """\b
Examples:
  thinking-policy serve
  thinking-policy serve --db fleet.db --host 0.0.0.0 --port 8321
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
def serve(
    db: DatabaseOption = None,
    host: Annotated[
        str,
        typer.Option(
            metavar='ADDRESS',
            help='Where to listen. Beyond this machine only when there is a token.',
        ),
    ] = '127.0.0.1',
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar='N', help='TCP port; 0: a free one.')
    ] = 8321,
    rate: Annotated[
        float,
        typer.Option(
            min=0.0, metavar='N', help='Requests a second of one token; 0: as many as it likes.'
        ),
    ] = 0.0,
) -> None:
    """Run the server: one process, one SQLite file.

    Plain HTTP: between machines put a reverse proxy with TLS in front of it, or a VPN.
    """
    from thinking_policy.server.serving import serve as run
    from thinking_policy.server.state import ServerOptions

    options = ServerOptions(rate_per_s=rate)
    try:
        run(database_path(db), host, port, options, say=lambda line: print(line, flush=True))
    except KeyboardInterrupt:  # as it is meant to end; some versions of typer would complain
        raise typer.Exit(130) from None
