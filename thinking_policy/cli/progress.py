# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How far a command is: a bar on a terminal, on stderr; elsewhere nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Told(Protocol):
    """Takes how much is done, and how much there is where that wasn't known before."""

    def __call__(self, done: int, total: int | None = None, /) -> None:
        """Show it."""


@contextlib.contextmanager
def showing_progress(what: str, total: int | None = None) -> Iterator[Told]:
    """Show a bar while the block runs.

    Args:
        what: What is done, such as `reading`.
        total: How much there is; None: not known, or told with the progress.
    """
    if not sys.stderr.isatty():
        yield lambda done, total=None, /: None
        return
    with Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=total)

        def tell(done: int, total: int | None = None, /) -> None:
            bar.update(task, completed=done, total=total)

        yield tell
