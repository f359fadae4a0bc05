# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Runs cells in several processes of one thread each; stops them all when one is stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Cell

# Cell, what it is doing, share done.
OnProgress = Callable[[Cell, str, float], None]

# The path comes from here: the folder that one happens to be in must not shadow the package.
_START = (
    'import json, sys; sys.path[:] = json.loads(sys.argv[1]); '
    'from thinking_policy.experiments.worker import main; main(sys.argv[2])'
)
# One thread each: sums depend on how work is split, and two processes would fight for cores.
_ONE_THREAD = dict.fromkeys(
    (
        'OMP_NUM_THREADS',
        'OPENBLAS_NUM_THREADS',
        'MKL_NUM_THREADS',
        'NUMEXPR_NUM_THREADS',
    ),
    '1',
)
_LAST_WORDS = 2000  # characters of a dead worker's stderr that are shown
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Done:
    """A finished cell: figures as the worker gave them, and seconds."""

    cell: Cell
    figures: dict[str, dict[str, float]]
    wall_s: float


@dataclass
class _Worker:
    process: subprocess.Popen[str]
    errors: IO[str]
    cell: Cell | None = None
    unread: str = field(default='')


def run_cells(
    module: str, cells: Sequence[Cell], jobs: int, progress: OnProgress
) -> Generator[Done, None, None]:
    """Run cells and give each as it is finished; those marked `alone` last, one by one.

    Closing the iterator, or an exception in the caller (Ctrl-C), ends the processes.

    Args:
        module: Name of the module that holds `EXPERIMENT`.
        cells: What to run.
        jobs: Number of processes.
        progress: Called as cells go on.

    Raises:
        ExperimentError: A cell failed or its process died; names the cell.
    """
    for waiting, count in (
        ([cell for cell in cells if not cell.alone], jobs),
        ([cell for cell in cells if cell.alone], 1),
    ):
        if waiting:
            yield from _run(module, waiting, min(count, len(waiting)), progress)


def _run(
    module: str, cells: Sequence[Cell], count: int, progress: OnProgress
) -> Generator[Done, None, None]:
    waiting = list(cells)
    workers = [_start(module) for _ in range(count)]
    try:
        with selectors.DefaultSelector() as selector:
            for worker in workers:
                selector.register(_pipe(worker.process.stdout), selectors.EVENT_READ, worker)
                _give(worker, waiting)
            while any(worker.cell for worker in workers):
                for key, _ in selector.select():
                    worker = key.data
                    for message in _messages(worker):
                        cell = worker.cell
                        if 'doing' in message:
                            progress(cell, message['doing'], float(message['share']))
                            continue
                        if 'error' in message:
                            raise ExperimentError(
                                f'{cell.key}: {message["error"]}'
                            ) from RuntimeError(message['trace'])
                        _give(worker, waiting)
                        if worker.cell is None:
                            selector.unregister(key.fileobj)
                        yield Done(cell, message['figures'], float(message['wall_s']))
    finally:
        for worker in workers:
            _end(worker)


def _start(module: str) -> _Worker:
    errors = tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace')  # noqa: SIM115
    process = subprocess.Popen(
        [sys.executable, '-c', _START, json.dumps(sys.path), module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        encoding='utf-8',
        env={**os.environ, **_ONE_THREAD},
        start_new_session=True,  # Ctrl-C is for the parent, which decides
    )
    return _Worker(process, errors)


def _give(worker: _Worker, waiting: list[Cell]) -> None:
    worker.cell = waiting.pop(0) if waiting else None
    if worker.cell is None:
        return
    try:
        pipe = _pipe(worker.process.stdin)
        pipe.write(json.dumps(dataclasses.asdict(worker.cell)) + '\n')
        pipe.flush()
    except BrokenPipeError:
        pass  # it has died: its stdout says so at once


def _messages(worker: _Worker) -> Iterator[dict[str, Any]]:
    """Return the whole lines that have come.

    Raises:
        ExperimentError: The process has ended.
    """
    data = os.read(_pipe(worker.process.stdout).fileno(), 65536)
    if not data:
        assert worker.cell is not None  # idle ones are not listened to
        code = worker.process.wait()
        worker.errors.seek(0)
        words = worker.errors.read()[-_LAST_WORDS:].strip()
        how = f'killed by signal {-code}' if code < 0 else f'exit code {code}'
        hint = '; perhaps memory ran out: try --jobs 1' if code == -9 else ''
        raise ExperimentError(
            f'{worker.cell.key}: its process ended ({how}){hint}'
            + (f'; {words.splitlines()[-1]}' if words else '')
        ) from RuntimeError(words)
    *lines, worker.unread = (worker.unread + data.decode('utf-8')).split('\n')
    for line in lines:
        yield json.loads(line)


def _end(worker: _Worker) -> None:
    with contextlib.suppress(BrokenPipeError):
        _pipe(worker.process.stdin).close()  # which it takes for the end, whatever it is doing
    try:
        worker.process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        worker.process.kill()
        worker.process.wait()
    _pipe(worker.process.stdout).close()
    worker.errors.close()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None  # all three were asked for
    return stream
