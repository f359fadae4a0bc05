# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an experiment: what is missing is computed, what is there is kept."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Cell, CellResult, Experiment, Options, Results
from thinking_policy.experiments.folder import RunFolder
from thinking_policy.experiments.provenance import machine, versions
from thinking_policy.experiments.workers import OnProgress, run_cells

# Cells done, cells in all, the cell that has just been finished (None: those found at the start).
OnCell = Callable[[int, int, Cell | None], None]


@dataclass(frozen=True)
class Watching:
    """What is told while an experiment runs.

    Attributes:
        cell: Called at the start and after every finished cell.
        progress: Called as cells go on.
    """

    cell: OnCell = lambda done, total, cell: None
    progress: OnProgress = lambda cell, what, share: None


def run(
    experiment: Experiment,
    options: Options,
    out: Path,
    *,
    jobs: int = 1,
    fresh: bool = False,
    watching: Watching | None = None,
) -> Results:
    """Run what is missing in a folder and return everything.

    The figures don't depend on the number of jobs, nor on whether the run was interrupted.

    Args:
        experiment: Defined as `EXPERIMENT` in its module.
        options: Seeds, quick or not, data.
        out: Folder for the results; every finished cell is kept there at once.
        jobs: Processes, of one thread each.
        fresh: Throw away what an earlier run left there.
        watching: Whom to tell.

    Raises:
        ExperimentError: No seed, data missing, the folder belongs to another plan, or a cell
            failed.
    """
    watching = watching or Watching()
    check_options(experiment, options)
    cells = list(experiment.plan(options))
    keys = [cell.key for cell in cells]
    if len(set(keys)) < len(keys):
        raise ExperimentError(f'{experiment.name}: two cells have the same name and seed: {keys}')
    here, now = machine(), versions()
    folder = RunFolder(out, experiment, options, now)
    folder.open(fresh)
    results = folder.finished(cells)
    watching.cell(len(results), len(cells), None)
    missing = [cell for cell in cells if cell.key not in results]
    module = experiment.run_cell.__module__
    since = time.monotonic()
    try:
        # Closed at once, and not when memory is tidied up: its end ends the processes.
        with contextlib.closing(run_cells(module, missing, jobs, watching.progress)) as running:
            for done in running:
                # As it is kept, so that a later run reports the very same.
                wall_s = round(done.wall_s, 3)
                result = CellResult(done.cell, done.figures, wall_s, here, now)
                folder.keep(result)
                now_s = time.monotonic()
                folder.add_time(now_s - since)  # with each: a run that is killed counts, too
                since = now_s
                results[done.cell.key] = result
                watching.cell(len(results), len(cells), done.cell)
    finally:
        if missing:
            folder.add_time(time.monotonic() - since)
    return Results(options, [results[cell.key] for cell in cells], folder.elapsed_s)


def check_options(experiment: Experiment, options: Options) -> None:
    """Refuse what an experiment can't be run with.

    Raises:
        ExperimentError: No seed or a repeated one; measured data missing or not wanted.
    """
    if not options.seeds or len(set(options.seeds)) < len(options.seeds):
        raise ExperimentError(
            f'--seeds: expected at least one seed, each once; found {list(options.seeds)}'
        )
    if experiment.needs_data and options.data is None:
        raise ExperimentError(
            f'{experiment.name}: works on measured data: name it with --data DIR'
        )
    if options.data is not None and not experiment.needs_data:
        raise ExperimentError(
            f'--data: {experiment.name} makes its own data; --data is for experiments on measured '
            f'data'
        )
