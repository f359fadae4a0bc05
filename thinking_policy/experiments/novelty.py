# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Novelty on real data: does a robot that was calibrated on 400 s notice that something is wrong?

The protocol is SKAB's: of every table the first 400 rows are for fitting, each of the others is
alarm or no alarm, and rows are pooled over the tables that have labels. What judges is what runs
on a robot: every cell of a table is a message, the tracker makes situations of them, one a
second with the last ten samples; ranges and baseline come from the situations of the first 400
rows, as `calibrate` takes them; an alarm is a novelty above its threshold at the tick that a row
is first known. Nothing is drawn at random, and nothing is chosen by table or by label.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import (
    Cell,
    Experiment,
    Figures,
    Options,
    Results,
    Table,
    Tell,
)
from thinking_policy.experiments.labelled_table import (
    SECOND,
    LabelledTable,
    configuration,
    groups_of,
    read_table,
    situations,
    ticks_of_rows,
    without_gaps,
)
from thinking_policy.experiments.plotting import BLUE, ORANGE, PAPER_GREY
from thinking_policy.policy import (
    NOVELTY_THRESHOLD,
    Baseline,
    HealthyStretch,
    NoveltyHold,
    PolicyError,
    baseline_of,
    novelty,
    with_baseline,
)
from thinking_policy.policy.nominal import nominal_ranges
from thinking_policy.situation import Situation, SituationConfig

FIT_ROWS, WINDOW_LENGTH = 400, 10
# The Mahalanobis distance is fitted on the first rows and takes its threshold from the others.
MAHALANOBIS_ROWS, MAHALANOBIS_QUANTILE = 300, 0.99
QUICK_TABLES = 3  # of each group

OURS, MAHALANOBIS, ALL_ALARM = 'novelty', 'Mahalanobis, 10-row means', 'all alarm'
METHODS = (OURS, MAHALANOBIS, ALL_ALARM)
COUNTS = ('true_alarms', 'false_alarms', 'misses', 'true_silences')
# F1, false and missing alarm rate over all 34 tables, as the benchmark's leaderboard has them.
LEADERBOARD = {
    'Conv-AE': (0.78, 0.1355, 0.2802),
    'MSET': (0.78, 0.3973, 0.1413),
    'T-squared + Q': (0.76, 0.2662, 0.2492),
    'isolation forest': (0.29, None, None),
}

Flags = NDArray[np.bool_]


def alarms(table: LabelledTable) -> Flags:
    """Return whether a robot calls each row unusual, bool [N]; the fitted ones too.

    Raises:
        ExperimentError: The table is no longer than what is fitted.
        PolicyError: The first rows can't be learned from.
    """
    if len(table.stamp_ns) <= FIT_ROWS:
        raise ExperimentError(
            f'{table.name}: expected more than {FIT_ROWS} rows, found {len(table.stamp_ns)}'
        )
    config = configuration(table, WINDOW_LENGTH)
    end_ns = int(table.stamp_ns[FIT_ROWS - 1])
    first = list(
        itertools.takewhile(lambda s: s.stamp_ns - end_ns < SECOND, situations(table, config))
    )
    values = np.array([[reading.value for reading in s.readings] for s in first])
    config = nominal_ranges(config, values).config
    ticks = list(situations(table, config))
    held = novelties(ticks, baseline_from(ticks[: len(first)], config))
    stamps = np.array([situation.stamp_ns for situation in ticks])
    return (held > NOVELTY_THRESHOLD)[ticks_of_rows(table, stamps)]


def baseline_from(healthy: Sequence[Situation], config: SituationConfig) -> Baseline:
    """Return what is normal, as `calibrate` learns it from the same situations."""
    stretch = HealthyStretch(config)
    stretch.add(np.stack([s.window for s in healthy]), np.stack([s.valid for s in healthy]))
    return baseline_of(with_baseline(config, stretch.calibrate()))


def novelties(ticks: Iterable[Situation], baseline: Baseline) -> NDArray[np.float64]:
    """Return the novelty [N] that a node publishes at each tick."""
    hold = NoveltyHold(WINDOW_LENGTH)
    return np.array([hold.update(novelty(s.window, s.valid, baseline), s.episode) for s in ticks])


def mahalanobis_alarms(values: NDArray[np.float64]) -> Flags:
    """Return alarms [N] by the Mahalanobis distance of the mean over the last ten rows.

    A missing value is the last one before it. Mean and covariance are the plain ones of the
    first 300 rows; the threshold is the 99 % quantile of the next 100.
    """
    values = without_gaps(values)
    sums = np.cumsum(np.vstack([np.zeros(values.shape[1]), values]), axis=0)
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - WINDOW_LENGTH)
    means = (sums[ends] - sums[starts]) / (ends - starts)[:, None]
    fitted = means[WINDOW_LENGTH - 1 : MAHALANOBIS_ROWS]
    away = means - fitted.mean(axis=0)
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(fitted.T)))
    distance = np.einsum('ni,ij,nj->n', away, inverse, away)
    threshold = float(np.quantile(distance[MAHALANOBIS_ROWS:FIT_ROWS], MAHALANOBIS_QUANTILE))
    return np.asarray(distance > threshold)


def counted(flags: Flags, anomaly: Flags) -> dict[str, float]:
    """Return how often alarm and label agree on the rows, and the rates that come of it."""
    numbers = (
        np.sum(flags & anomaly),
        np.sum(flags & ~anomaly),
        np.sum(~flags & anomaly),
        np.sum(~flags & ~anomaly),
    )
    counts = dict(zip(COUNTS, map(float, numbers), strict=True))
    return {**counts, **rates(counts)}


def rates(counts: Mapping[str, float]) -> dict[str, float]:
    """Return F1, false and missing alarm rate; those of nothing are 0."""
    hit, false, missed, silent = (counts[name] for name in COUNTS)
    return {
        'f1': 2 * hit / max(2 * hit + false + missed, 1),
        'false_alarm_rate': false / max(false + silent, 1),
        'missing_alarm_rate': missed / max(hit + missed, 1),
    }


def plan(options: Options) -> list[Cell]:
    """Return a cell for each table; seeds make no difference."""
    assert options.data is not None
    cells = []
    for group, paths in groups_of(options.data).items():
        for path in paths[:QUICK_TABLES] if options.quick else paths:
            settings = {
                'data': str(options.data),
                'table': f'{group}/{path.name}',
                'sha256': hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            cells.append(Cell(group, 0, path.stem, settings))
    return cells


def run_cell(cell: Cell, tell: Tell) -> Figures:
    """Return counts and rates of every method on one table."""
    table = read_table(Path(cell.settings['data']) / cell.settings['table'])
    tell('perceiving', 0.1)
    labelled = bool(len(table.anomaly))
    anomaly = table.anomaly if labelled else np.zeros(len(table.stamp_ns), bool)
    try:
        ours = alarms(table)
    except PolicyError as error:
        raise ExperimentError(f'{table.name}: {error}') from error
    flags = {
        OURS: ours,
        MAHALANOBIS: mahalanobis_alarms(table.values),
        ALL_ALARM: np.ones(len(anomaly), bool),
    }
    return {
        method: {**counted(found[FIT_ROWS:], anomaly[FIT_ROWS:]), 'labelled': float(labelled)}
        for method, found in flags.items()
    }


def pooled(results: Results, method: str, group: str = '') -> dict[str, float]:
    """Return counts and rates over all labelled tables, or those of a group."""
    chosen = [
        result.figures[method]
        for result in results.cells
        if result.figures[method]['labelled'] and group in ('', result.cell.name)
    ]
    counts = {name: sum(figures[name] for figures in chosen) for name in COUNTS}
    return {**counts, **rates(counts), 'tables': float(len(chosen))}


def tables(results: Results) -> list[Table]:
    """Return all rows pooled beside the leaderboard, then groups and single tables."""
    groups = dict.fromkeys(result.cell.name for result in results.cells)
    labelled = [group for group in groups if pooled(results, OURS, group)['tables']]
    count = pooled(results, OURS)['tables']
    heading = ('F1', 'false alarms', 'missing alarms')
    rows: list[tuple[str, ...]] = []
    rows += [(method, *_cells(pooled(results, method))) for method in METHODS]
    rows += [(f'{name} (leaderboard)', *map(_cell, board)) for name, board in LEADERBOARD.items()]
    by_group = [
        (group, method, *_cells(pooled(results, method, group)))
        for group in labelled
        for method in METHODS
    ]
    by_table = [
        (f'{result.cell.name}/{result.cell.part}', *_cells(result.figures[OURS]))
        for result in results.cells
        if result.figures[OURS]['labelled']
    ]
    by_table += [
        (f'{result.cell.name}/{result.cell.part}, no labels', '–',
         _cell(result.figures[OURS]['false_alarm_rate']), '–')
        for result in results.cells
        if not result.figures[OURS]['labelled']
    ]  # fmt: skip
    note = (
        f'Rows after the {FIT_ROWS}th of {count:.0f} tables, pooled. The leaderboard is over the '
        "benchmark's 34 tables. A table without labels is taken for normal and is not pooled."
    )
    return [
        Table('Alarms on labelled rows', ('method', *heading), rows, (note,)),
        Table('By group', ('group', 'method', *heading), by_group),
        Table(f'By table: {OURS}', ('table', *heading), by_table),
    ]


def draw(results: Results, figure: Figure) -> None:
    """Draw F1 and false-alarm rate, pooled beside the leaderboard and for each table."""
    above, below = figure.subplots(2, 1)
    names = [*METHODS, *LEADERBOARD]
    found = [pooled(results, method) for method in METHODS]
    f1 = [entry['f1'] for entry in found] + [entry[0] for entry in LEADERBOARD.values()]
    false = [entry['false_alarm_rate'] for entry in found]
    false += [entry[1] or 0.0 for entry in LEADERBOARD.values()]
    colours = [BLUE] * len(METHODS) + [PAPER_GREY] * len(LEADERBOARD)
    _bars(above, [name.replace(', ', ',\n') for name in names], f1, false, colours)
    above.legend(ncols=2, loc='upper right', fontsize=7)
    above.set_title('rows of all tables; grey: the leaderboard', fontsize=9)
    single = [r for r in results.cells if r.figures[OURS]['labelled']]
    labels = [f'{r.cell.name}/{r.cell.part}' for r in single]
    each = [r.figures[OURS] for r in single]
    _bars(
        below,
        labels,
        [figures['f1'] for figures in each],
        [figures['false_alarm_rate'] for figures in each],
        [BLUE] * len(each),
    )
    below.set_title(f'each table: {OURS}', fontsize=9)
    below.tick_params(axis='x', labelrotation=90)


def _bars(
    axes: Any,
    labels: Sequence[str],
    f1: Sequence[float],
    false: Sequence[float],
    colours: Sequence[str],
) -> None:
    places = np.arange(len(labels))
    axes.bar(places - 0.2, f1, 0.4, color=colours, label='F1')
    axes.bar(places + 0.2, false, 0.4, color=ORANGE, hatch='//', label='false-alarm rate')
    axes.set_xticks(places, labels, fontsize=7)
    axes.set_ylim(0, 1)
    axes.grid(axis='x', visible=False)


def _cells(figures: Mapping[str, float]) -> tuple[str, str, str]:
    if figures.get('tables') == 0.0:
        return '–', '–', '–'
    f1, false, missing = (
        _cell(figures[name]) for name in ('f1', 'false_alarm_rate', 'missing_alarm_rate')
    )
    return f1, false, missing


def _cell(value: float | None) -> str:
    return '–' if value is None else f'{value:.3f}'


EXPERIMENT = Experiment(
    name='novelty',
    version=1,
    title='Novelty on labelled recordings of a machine',
    plan=plan,
    run_cell=run_cell,
    tables=tables,
    draw=draw,
    paper={name: list(figures) for name, figures in LEADERBOARD.items()},
    quick_note=f'{QUICK_TABLES} tables of each group',
    needs_data=True,
    seeded=False,
)
