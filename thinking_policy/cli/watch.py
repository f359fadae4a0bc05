# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy watch`: what a running policy perceives and thinks."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from thinking_policy.cli.running import REFRESH_S, stop_on_signals
from thinking_policy.cli.shows import choose_show

EXAMPLES = """\b
Examples:
  thinking-policy watch
  ROS_DOMAIN_ID=7 thinking-policy watch --namespace /robot1
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
def watch(
    namespace: Annotated[
        str, typer.Option(metavar='NAME', help='Of the policy to watch, such as /robot1.')
    ] = '',
    duration: Annotated[
        float, typer.Option(min=0.0, metavar='S', help='End after S seconds; 0: never.')
    ] = 0.0,
    json_lines: Annotated[
        bool, typer.Option('--json', help='One JSON object a line for each ThinkingActivations.')
    ] = False,
) -> None:
    """Show signals and activations of a running policy as they change.

    The node may run anywhere in the ROS domain: started by `thinking-policy run`, by launch, on
    a robot in the network. Without a terminal it prints plain lines. Ctrl-C ends it.
    """
    from thinking_policy.cli.listener import Listener  # joins ROS, which --help need not

    listener = Listener(namespace, details=not json_lines)
    show = choose_show(json_lines)
    started = time.monotonic()
    try:
        with stop_on_signals() as stop:
            while not stop.is_set() and not 0 < duration <= time.monotonic() - started:
                for message in listener.spin(REFRESH_S):
                    show.message(message, listener.picture_of(message))
                show.refresh(listener.picture())
    finally:
        show.close([])
        listener.close()
