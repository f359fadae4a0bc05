# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How far a fit has come: a bar on a terminal, and elsewhere a line for every tenth."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from thinking_policy.training.fit import Progress as Told


@contextlib.contextmanager
def shown(before: str, stream: TextIO | None = None) -> Iterator[Told]:
    """Show the steps of a fit and its loss.

    Args:
        before: What goes on until the first step, such as 'reading'.
        stream: Where to; None: stderr.
    """
    stream = stream or sys.stderr
    if not stream.isatty():

        def line(step: int, steps: int, loss: float) -> None:
            if step % max(1, steps // 10) == 0 or step == steps:
                print(f'step {step} of {steps}, loss {loss:.4f}', file=stream, flush=True)

        yield line
        return
    columns = (
        TextColumn('{task.description}'),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task(before, total=None)

        def advance(step: int, steps: int, loss: float) -> None:
            bar.update(task, total=steps, completed=step, description=f'loss {loss:.4f}')

        yield advance
