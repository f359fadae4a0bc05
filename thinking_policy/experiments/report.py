# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a run leaves: the table beside the paper's, results.json and the figure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinking_policy.experiments.experiment import Experiment, Options, Results, Stat, Table
from thinking_policy.experiments.folder import as_json, write_text

RESULTS, TABLE = 'results.json', 'table.md'
MATCHES = '✓'
# Both figures are written with three digits: a smaller difference is none.
_ROUNDING = 0.0005


def heading(experiment: Experiment, options: Options) -> str:
    """Return the line above the tables; it says when the form is the quick one."""
    seeds = ', '.join(str(seed) for seed in options.seeds)
    what = f'{experiment.title}; seed{"s" if len(options.seeds) > 1 else ""} {seeds}'
    if not experiment.seeded:
        what = experiment.title
    if options.quick:
        return f'QUICK FORM, not the experiment itself ({experiment.quick_note}): {what}'
    return what


def plus_minus(stat: Stat, digits: int = 3) -> str:
    """Return `0.711 ± 0.044`; without deviation for one seed; `–` where nothing was measured."""
    if not stat.n:
        return '–'
    if stat.n == 1:
        return f'{stat.mean:.{digits}f}'
    return f'{stat.mean:.{digits}f} ± {stat.sd:.{digits}f}'


def verdict(ours: Stat, paper: Stat) -> str:
    """Return ✓ within one standard deviation of the paper, else how far ours is above or below."""
    if not ours.n:
        return '–'
    difference = ours.mean - paper.mean
    if abs(difference) <= max(paper.sd, _ROUNDING):
        return MATCHES
    return f'{difference:+.3f}'


def beside(ours: Stat, paper: Stat | None, digits: int = 3) -> tuple[str, str, str]:
    """Return three cells: ours, the paper's, and whether they agree; `–` where it has none."""
    if paper is None:
        return plus_minus(ours, digits), '–', ''
    return plus_minus(ours, digits), plus_minus(paper, digits), verdict(ours, paper)


def comparison(
    results: Results, name: str, methods: Sequence[str], paper: Mapping[str, Stat]
) -> list[list[str]]:
    """Return a row for each method: micro-F1 beside the paper's, mean precision and recall."""
    return [
        [
            method,
            *beside(results.stat(name, method), paper.get(method)),
            *(f'{results.stat(name, method, metric).mean:.3f}' for metric in _BESIDES),
        ]
        for method in methods
    ]


_BESIDES = ('precision', 'recall')
COMPARISON_COLUMNS = ('method', 'micro-F1', 'paper', 'agrees', *_BESIDES)


def write_report(experiment: Experiment, results: Results, out: Path, plots: bool) -> list[Path]:
    """Write results.json, table.md and, if wanted, the figure; each appears whole or not at all.

    Returns:
        What was written.

    Raises:
        ExperimentError: A file can't be written.
    """
    tables = experiment.tables(results)
    text = '\n'.join((f'# {heading(experiment, results.options)}', '', *map(markdown, tables)))
    write_text(out / RESULTS, as_json(results_content(experiment, results)))
    write_text(out / TABLE, text)
    written = [out / RESULTS, out / TABLE]
    if plots:
        from thinking_policy.experiments.plotting import write_figure

        path = out / f'{experiment.name}.png'
        title = heading(experiment, results.options) if results.options.quick else ''
        write_figure(lambda figure: experiment.draw(results, figure), path, title)
        written.append(path)
    return written


def results_content(experiment: Experiment, results: Results) -> dict[str, Any]:
    """Return what results.json holds: every seed's figures and all that decided them.

    Where measured data lay on this machine is nobody's business; their hashes are among the
    settings.
    """
    cells = results.cells
    return {
        'experiment': experiment.name,
        'version': experiment.version,
        'title': experiment.title,
        'quick': results.options.quick,
        'quick_note': experiment.quick_note if results.options.quick else '',
        'options': {
            'seeds': list(results.options.seeds),
            'data': results.options.data.name if results.options.data else '',
        },
        'aggregates': _aggregates(results),
        'paper': experiment.paper,
        'cells': [
            {
                'name': result.cell.name,
                'part': result.cell.part,
                'seed': result.cell.seed,
                'settings': {k: v for k, v in result.cell.settings.items() if k != 'data'},
                'figures': result.figures,
                'wall_s': round(result.wall_s, 3),
            }
            for result in cells
        ],
        'wall_s': {
            'elapsed': round(results.elapsed_s, 3),
            'sum of cells': round(sum(result.wall_s for result in cells), 3),
        },
        'versions': _distinct([result.versions for result in cells]),
        'machine': _distinct([result.machine for result in cells]),
    }


def markdown(table: Table) -> str:
    """Return a table as Markdown, its notes below."""
    rule = ['---'] + ['---:'] * (len(table.columns) - 1)
    rows = [table.columns, rule, *table.rows]
    lines = ['| ' + ' | '.join(row) + ' |' for row in rows]
    notes = [f'\n{note}' for note in table.notes]
    return '\n'.join((f'**{table.title}**', '', *lines, *notes, ''))


def _aggregates(results: Results) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for result in results.cells:
        name = result.cell.name
        for method, metrics in result.figures.items():
            for metric in metrics:
                found.setdefault(name, {}).setdefault(method, {}).setdefault(
                    metric, dataclasses.asdict(results.stat(name, method, metric))
                )
    return found


def _distinct(facts: Sequence[Mapping[str, Any]]) -> Any:
    """Return the one mapping, or a list where cells ran on several machines."""
    different: list[Mapping[str, Any]] = []
    for entry in facts:
        if entry not in different:
            different.append(entry)
    return different[0] if len(different) == 1 else different
