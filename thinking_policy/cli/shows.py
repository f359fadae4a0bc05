# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Three ways to show a run: JSON lines, plain lines, a live view. One contract.

A show is used by one thread: `message` for every ThinkingActivations with its picture, `log`
for every line of a node, `refresh` a few times a second, `close` once.
"""

from __future__ import annotations

import collections
import os
import sys
import time
from typing import Any, Protocol, TextIO

from thinking_policy.cli.lines import PlainLines, silence
from thinking_policy.cli.picture import Picture, Silence

LOG_LINES = 2  # of warnings and errors, at the bottom of the live view
LOG_SHOWN_S = 20.0


class Show(Protocol):
    """The contract above."""

    def message(self, message: Any, picture: Picture) -> None:
        """Show one ThinkingActivations."""

    def log(self, name: str, line: str) -> None:
        """Show one line that a node printed."""

    def refresh(self, picture: Picture | Silence) -> None:
        """Show the newest moment, also where nothing came."""

    def close(self, summary: list[str]) -> None:
        """Leave the terminal as it was and show the summary."""


def choose_show(json_lines: bool, output: TextIO | None = None) -> Show:
    """Return the show for what standard output is."""
    output = output or sys.stdout
    if json_lines:
        return JsonShow(output)
    if output.isatty() and os.environ.get('TERM', '') not in ('', 'dumb'):
        return LiveShow()
    return PlainShow(output)


class JsonShow:
    """One JSON object a line on standard output; everything else goes to standard error."""

    def __init__(self, output: TextIO) -> None:
        from thinking_policy.cli.message_json import message_line  # NumPy, only where needed

        self._line = message_line
        self._output = output

    def message(self, message: Any, picture: Picture) -> None:
        """Print the message with its field names kept."""
        print(self._line(message), file=self._output, flush=True)

    def log(self, name: str, line: str) -> None:
        """Print to standard error."""
        print_log(name, line)

    def refresh(self, picture: Picture | Silence) -> None:
        """Nothing: only messages count."""

    def close(self, summary: list[str]) -> None:
        """Print the summary to standard error."""
        for line in summary:
            print(line, file=sys.stderr)


class PlainShow:
    """Lines for a log or a pipe."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._lines = PlainLines()
        self._silence_said_s = 0.0

    def message(self, message: Any, picture: Picture) -> None:
        """Print what changed, and every few seconds how things stand."""
        for line in self._lines.lines(picture, time.monotonic()):
            print(line, file=self._output, flush=True)

    def log(self, name: str, line: str) -> None:
        """Print to standard error."""
        print_log(name, line)

    def refresh(self, picture: Picture | Silence) -> None:
        """Say every 5 s that nothing was heard yet."""
        if isinstance(picture, Silence) and picture.waited_s >= self._silence_said_s + 5:
            self._silence_said_s = picture.waited_s
            print('\n'.join(silence(picture)), file=self._output, flush=True)

    def close(self, summary: list[str]) -> None:
        """Print the summary."""
        for line in summary:
            print(line, file=self._output, flush=True)


class LiveShow:
    """The live view on the terminal's second screen; the last picture stays on the first."""

    def __init__(self) -> None:
        from rich.console import Console  # only where there is a terminal to draw on
        from rich.live import Live

        self._console = Console()
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._logs: collections.deque[tuple[float, str]] = collections.deque(maxlen=LOG_LINES)
        self._newest: Picture | Silence | None = None
        self._live.start()

    def message(self, message: Any, picture: Picture) -> None:
        """Nothing: the next refresh shows it."""

    def log(self, name: str, line: str) -> None:
        """Keep warnings and errors for the bottom of the view."""
        if any(word in line for word in ('WARN', 'ERROR', 'FATAL')):
            self._logs.append((time.monotonic(), f'{name} | {line}'))

    def refresh(self, picture: Picture | Silence) -> None:
        """Draw."""
        from rich.console import Group
        from rich.text import Text

        self._newest = picture
        now = time.monotonic()
        logs = [
            Text(line, 'yellow', no_wrap=True, overflow='ellipsis')
            for at, line in self._logs
            if now - at < LOG_SHOWN_S
        ]
        width, height = self._console.size
        self._live.update(
            Group(self._draw(picture, width, height - len(logs)), *logs), refresh=True
        )

    def close(self, summary: list[str]) -> None:
        """Give the screen back and leave the last picture and the summary on it."""
        self._live.stop()
        if isinstance(self._newest, Picture):
            self._console.print(self._draw(self._newest, *self._console.size))
            self._console.print()
        for line in summary:
            self._console.print(line, markup=False, highlight=False)

    def _draw(self, picture: Picture | Silence, width: int, height: int) -> Any:
        from thinking_policy.cli.view import render, render_silence

        if isinstance(picture, Silence):
            return render_silence(picture)
        return render(picture, width, height)


def print_log(name: str, line: str) -> None:
    """Print a node's line with its name to standard error."""
    print(f'{name} | {line}', file=sys.stderr, flush=True)
