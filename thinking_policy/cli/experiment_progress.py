# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How a running experiment is shown: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from thinking_policy.experiments.experiment import Cell
from thinking_policy.experiments.run import Watching


@contextlib.contextmanager
def shown(out: Path) -> Iterator[Watching]:
    """Show cells done, what is running and how long it will take, on standard error.

    Args:
        out: Folder of the run, named where an earlier run is gone on with.
    """
    if not sys.stderr.isatty():
        yield _plain(out)
        return
    whole = Column(no_wrap=True)
    columns = (
        TextColumn('{task.fields[count]}', table_column=whole),
        BarColumn(bar_width=24),
        TextColumn('{task.fields[left]}', table_column=whole),
        # The only one that a narrow terminal cuts.
        TextColumn('{task.fields[doing]}', table_column=Column(no_wrap=True, ratio=1)),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, expand=True) as bar:
        task = bar.add_task('', total=None, count='starting', left='', doing='')
        shares = Shares()

        def on_cell(done: int, total: int, cell: Cell | None) -> None:
            if cell is None and done:
                console.print(f'{out}: {done} of {total} cells are there already')
            shares.finish(done, total, cell)
            refresh('')

        def on_progress(cell: Cell, what: str, share: float) -> None:
            shares.advance(cell, share)
            refresh(f'{cell.key}: {what}')

        def refresh(doing: str) -> None:
            bar.update(
                task,
                total=shares.total,
                completed=shares.completed,
                count=f'{shares.done}/{shares.total} cells',
                left=remaining(shares.seconds_left()),
                doing=doing,
            )

        yield Watching(on_cell, on_progress)


class Shares:
    """How much of a run is done, in cells, and how long the rest will take.

    Attributes:
        done: Finished cells, those of earlier runs included.
        total: All cells.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to count; the clock gives seconds."""
        self.done = self.total = 0
        self._clock = clock
        self._found = 0
        self._running: dict[str, float] = {}
        self._start = clock()

    @property
    def completed(self) -> float:
        """Finished cells and parts of the running ones."""
        return self.done + sum(self._running.values())

    def finish(self, done: int, total: int, cell: Cell | None) -> None:
        """Take a finished cell; None: those that were there at the start."""
        self.done, self.total = done, total
        if cell is None:
            self._found = done
        else:
            self._running.pop(cell.key, None)

    def advance(self, cell: Cell, share: float) -> None:
        """Take how far a running cell is, 0...1."""
        self._running[cell.key] = share

    def seconds_left(self) -> float | None:
        """Return an estimate from the pace so far; None: nothing to go by."""
        computed = self.completed - self._found
        if computed <= 0:
            return None
        return (self._clock() - self._start) / computed * (self.total - self.completed)


def remaining(seconds: float | None) -> str:
    """Return `about 3 min left`, or nothing where nobody knows."""
    if seconds is None:
        return ''
    if seconds < 90:
        return f'about {seconds:.0f} s left,'
    return f'about {seconds / 60:.0f} min left,'


def _plain(out: Path) -> Watching:
    """Return what prints a line for every finished cell."""
    shares = Shares()

    def on_cell(done: int, total: int, cell: Cell | None) -> None:
        shares.finish(done, total, cell)
        if cell is not None:
            left = remaining(shares.seconds_left()).rstrip(',') if done < total else 'all done'
            print(f'{done}/{total} cells: {cell.key} done; {left}', file=sys.stderr, flush=True)
        elif done:
            rest = 'nothing to run' if done == total else f'{total - done} to run'
            print(f'{out}: {done} of {total} cells are there already, {rest}', file=sys.stderr)

    return Watching(on_cell)
