# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: which plan it belongs to and what its cells gave, each file whole."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Cell, CellResult, Experiment, Options
from thinking_policy.whole_file import whole_file

PLAN, CELLS = 'plan.json', 'cells'
# What a run writes beside cells and a figure; --fresh removes these and nothing else.
_OURS = (PLAN, 'results.json', 'table.md')


class RunFolder:
    """Keeps the results of one plan, so that an interrupted run goes on.

    The plan is the experiment with its version, whether it is quick, its data and the versions
    of the libraries. Seeds are not part of it: more may be added later.

    Attributes:
        elapsed_s: Wall time of all runs that worked on it, in seconds.
    """

    def __init__(
        self, path: Path, experiment: Experiment, options: Options, versions: Mapping[str, str]
    ) -> None:
        """Describe the plan; `open` touches the disk."""
        self.path = path
        self._plan: dict[str, Any] = {
            'experiment': experiment.name,
            'version': experiment.version,
            'quick': options.quick,
            'data': str(options.data) if options.data else '',
            'versions': dict(versions),
        }
        self.elapsed_s = 0.0

    def open(self, fresh: bool = False) -> None:
        """Make the folder, or check that the one that is there belongs to this plan.

        Args:
            fresh: Begin anew; what earlier runs wrote is removed, other files are not.

        Raises:
            ExperimentError: It belongs to another plan, holds something else, or can't be made.
        """
        try:
            if (self.path / PLAN).exists():
                if fresh:
                    self._clear()
                else:
                    self._check()
            elif self.path.exists() and not all(map(_begun, self.path.iterdir())):
                raise ExperimentError(
                    f'{self.path}: expected an empty folder or one of an earlier run, found '
                    f'other files and no {PLAN}; choose another --out'
                )
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_plan()  # first: by it a folder is known for ours
            (self.path / CELLS).mkdir(exist_ok=True)
        except OSError as error:
            raise ExperimentError(
                f'{self.path}: cannot be used for results: {error.strerror or error}'
            ) from error

    def finished(self, cells: Sequence[Cell]) -> dict[str, CellResult]:
        """Return the results that are there, by the cell's key; others count as not done.

        A cell whose settings have changed, or whose file is damaged, is run again.
        """
        results = {}
        for cell in cells:
            try:
                stored = json.loads((self.path / CELLS / f'{cell.key}.json').read_text('utf-8'))
                if stored['fingerprint'] == cell.fingerprint:
                    results[cell.key] = CellResult(
                        cell,
                        _figures(stored['figures']),
                        float(stored['wall_s']),
                        stored['machine'],
                        stored['versions'],
                    )
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue
        return results

    def keep(self, result: CellResult) -> None:
        """Write what a cell gave."""
        content = {
            **dataclasses.asdict(result.cell),
            'fingerprint': result.cell.fingerprint,
            'figures': result.figures,
            'wall_s': result.wall_s,
            'machine': result.machine,
            'versions': result.versions,
        }
        write_text(self.path / CELLS / f'{result.cell.key}.json', as_json(content))

    def add_time(self, seconds: float) -> None:
        """Note that a run has worked on it for so long, whether it was finished or not."""
        self.elapsed_s += seconds
        self._write_plan()

    def _write_plan(self) -> None:
        content = {**self._plan, 'elapsed_s': round(self.elapsed_s, 3)}
        write_text(self.path / PLAN, as_json(content))

    def _check(self) -> None:
        try:
            found = json.loads((self.path / PLAN).read_text('utf-8'))
            self.elapsed_s = float(found.get('elapsed_s', 0.0))
        except (ValueError, AttributeError, TypeError):
            found = {}
        if 'experiment' not in found:
            raise ExperimentError(
                f'{self.path / PLAN}: is damaged, so nobody knows whose cells these are; choose '
                f'another --out, or replace them with --fresh'
            )
        other = []
        for name, wanted in self._plan.items():
            there = found.get(name)
            if there != wanted:
                other.append(f'{name} {_short(there, wanted)} instead of {_short(wanted, there)}')
        if other:
            raise ExperimentError(
                f'{self.path}: holds the results of another plan ({"; ".join(other)}); choose '
                f'another --out, or replace them with --fresh'
            )

    def _clear(self) -> None:
        try:
            name = str(json.loads((self.path / PLAN).read_text('utf-8'))['experiment'])
        except (ValueError, KeyError, TypeError):
            name = str(self._plan['experiment'])
        cells = (self.path / CELLS).glob('*-seed*.json')
        for file in (*cells, *(self.path / ours for ours in (f'{Path(name).name}.png', *_OURS))):
            file.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all.

    Raises:
        ExperimentError: It can't be written.
    """
    with whole_file(path, ExperimentError) as draft:
        draft.write_text(text, encoding='utf-8')


def as_json(content: Any) -> str:
    """Return readable JSON; NaN, which JSON lacks, becomes null."""
    return json.dumps(_without_nan(content), indent=1, allow_nan=False) + '\n'


def _begun(entry: Path) -> bool:
    """Return whether it may be left of a run that was killed before its plan was written."""
    return entry.name.startswith(f'.{PLAN}.') and entry.suffix == '.partial'


def _figures(stored: Any) -> dict[str, dict[str, float]]:
    """Return figures as the cell gave them; null was NaN."""
    return {
        method: {
            metric: math.nan if value is None else float(value)
            for metric, value in metrics.items()
        }
        for method, metrics in stored.items()
    }


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(entry) for entry in value]
    if isinstance(value, float) and value - value != 0:  # NaN or infinite
        return None
    return value


def _short(value: Any, other: Any) -> str:
    """Return a value for people; of two mappings only what differs."""
    if isinstance(value, dict):
        before = other if isinstance(other, dict) else {}
        return ', '.join(f'{k} {v}' for k, v in value.items() if before.get(k) != v) or 'less'
    return str(value)
