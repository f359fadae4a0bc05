#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
r"""Whether activations tell a labelled anomaly from normal work, over live nodes.

    .venv/bin/python benchmarks/skab.py ../shared/data/series/SKAB/data/valve1/0.csv \
        --picture docs/skab_valve1_0.png

CSV → bag → `calibrate --keep-ranges` → `run --bag --json` → AUROC of the novelty and of each
activity's probability for the label `anomaly`. As SKAB's protocol has it, the first 400 rows are
for fitting: here only the baseline of the novelty, what is normal for this machine. The others
are scored; the whole recording is shown beside. The interval is a 95 % circular block bootstrap:
neighbouring seconds are alike, so whole minutes are drawn, not rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from machine import heading, machine

BLOCK_S = 60
RESAMPLES = 2000
FIT_ROWS = 400
SCORED, WHOLE = f'after row {FIT_ROWS}', 'whole recording'
COMMAND = [
    sys.executable,
    '-P',
    '-c',
    'from thinking_policy.cli import main; raise SystemExit(main())',
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('tables', type=Path, nargs='+', help='CSV files of SKAB')
    parser.add_argument('--rate', type=float, default=0.0, help='times real time; 0: in lockstep')
    parser.add_argument('--policy', type=Path, help='policy file; default: the bundled one')
    parser.add_argument('--picture', type=Path, help='write a PNG of the first table')
    options = parser.parse_args()
    print(heading(machine()))
    for number, table in enumerate(options.tables):
        found = measure(table, options.rate, options.policy)
        if len(options.tables) == 1:
            print(report(found))
        else:
            print(line(table, found, number == 0), flush=True)
        if options.picture and number == 0:
            draw(options.picture, found)


@dataclass
class Measured:
    """One recording: what was measured, what was labelled, what the live node published.

    `figures` holds AUROC, low and high end of its interval per (score, part of the recording).
    """

    times: np.ndarray
    columns: dict[str, np.ndarray]
    labels: np.ndarray
    stamps: np.ndarray
    messages: list[dict]
    figures: dict[tuple[str, str], tuple[float, float, float]]

    @property
    def names(self) -> list[str]:
        """The scores, best first after the fitted rows."""
        names = dict.fromkeys(name for name, _ in self.figures)
        return sorted(names, key=lambda name: -self.figures[name, SCORED][0])


def measure(table: Path, rate: float, policy: Path | None) -> Measured:
    """Play a table to the live node and compare what it publishes with the labels."""
    times, columns, labels = read_table(table)
    messages = activations(table, times[FIT_ROWS] - times[0], rate, policy)
    stamps = np.array([seconds(message) for message in messages])
    rows = np.searchsorted(times, stamps, side='right') - 1  # the newest row of each tick
    scores = {'novelty': np.array([m['novelty'] for m in messages])}
    for index, activity in enumerate(messages[0]['activations']):
        scores[activity['id']] = np.array(
            [m['activations'][index]['probability'] for m in messages]
        )
    truth = labels[np.maximum(rows, 0)] > 0
    block = round(BLOCK_S / float(np.median(np.diff(stamps))))
    figures = {}
    for name, score in scores.items():
        for part, use in ((SCORED, rows >= FIT_ROWS), (WHOLE, rows >= 0)):
            figures[name, part] = (
                auroc(score[use], truth[use]),
                *interval(score[use], truth[use], block),
            )
    return Measured(times, columns, labels, stamps, messages, figures)


def report(found: Measured) -> str:
    """Return all figures of one recording as a table."""
    lines = [
        f'{len(found.messages)} ticks, policy {found.messages[0]["policy_version"]}',
        '',
        f'| | AUROC, {SCORED} | AUROC, {WHOLE} |',
        '|---|---|---|',
    ]
    for name in found.names:
        cells = ' | '.join(cell(found.figures[name, part]) for part in (SCORED, WHOLE))
        lines.append(f'| {name} | {cells} |')
    return '\n'.join(lines)


def line(table: Path, found: Measured, first: bool) -> str:
    """Return one recording as a row: the novelty, and the activity that did best on it."""
    best = next(name for name in found.names if name != 'novelty')
    row = (
        f'| {table.parent.name}/{table.name} | {cell(found.figures["novelty", SCORED])} '
        f'| {best} | {cell(found.figures[best, SCORED])} |'
    )
    if not first:
        return row
    return (
        f'AUROC, {SCORED}\n\n| recording | novelty | best activity | its AUROC |\n'
        f'|---|---|---|---|\n{row}'
    )


def cell(figure: tuple[float, float, float]) -> str:
    """Return a figure with its interval."""
    return '{:.3f} [{:.3f}, {:.3f}]'.format(*figure)


def read_table(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Return seconds since 1970 (UTC), the measured columns and the label `anomaly`."""
    with path.open(newline='') as file:
        rows = list(csv.DictReader(file, delimiter=';'))
    times = np.array(
        [
            datetime.strptime(row['datetime'], '%Y-%m-%d %H:%M:%S')
            .replace(tzinfo=timezone.utc)
            .timestamp()
            for row in rows
        ]
    )
    names = [n for n in rows[0] if n not in ('datetime', 'anomaly', 'changepoint')]
    columns = {name: np.array([float(row[name]) for row in rows]) for name in names}
    return times, columns, np.array([float(row['anomaly']) for row in rows])


def activations(table: Path, fit_s: float, rate: float, policy: Path | None) -> list[dict]:
    """Return every ThinkingActivations that the live node publishes over the table's bag.

    Args:
        table: The CSV file.
        fit_s: Length of the stretch to learn from, seconds.
        rate: Times real time; 0: in lockstep.
        policy: Policy file; None: the bundled one.
    """
    with tempfile.TemporaryDirectory() as folder:
        bag, robot = Path(folder) / table.stem, Path(folder) / 'robot.yaml'
        call('bag', 'from-csv', str(table), '--map', 'skab', '-o', str(bag))
        call(
            *('calibrate', str(bag), '--config', 'skab', '--until', f'{fit_s:g}'),
            *('--keep-ranges', '-o', str(robot)),
        )
        extra = ['--policy', str(policy)] if policy else []
        done = call(
            *('run', '--bag', str(bag), '--rate', str(rate), '--config', str(robot)),
            *('--json', *extra),
        )
    return [json.loads(line) for line in done.splitlines()]


def call(*words: str) -> str:
    """Run a command of `thinking-policy` and return what it prints."""
    return subprocess.run([*COMMAND, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def seconds(message: dict) -> float:
    """Return the stamp of a message."""
    return message['header']['stamp']['sec'] + message['header']['stamp']['nanosec'] * 1e-9


def auroc(score: np.ndarray, truth: np.ndarray) -> float:
    """Return the probability that an anomalous tick scores higher than a normal one."""
    if truth.all() or not truth.any():
        return float('nan')
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[inverse]  # ties share their mean rank
    positive = int(truth.sum())
    return float(
        (rank[truth].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive))
    )


def interval(score: np.ndarray, truth: np.ndarray, block: int) -> tuple[float, float]:
    """Return the 95 % interval of the AUROC by a circular block bootstrap."""
    random = np.random.default_rng(0)
    count = len(truth)
    starts = random.integers(0, count, (RESAMPLES, -(-count // block)))
    index = (starts[:, :, None] + np.arange(block)) % count
    index = index.reshape(RESAMPLES, -1)[:, :count]
    low, high = np.nanpercentile([auroc(score[i], truth[i]) for i in index], [2.5, 97.5])
    return float(low), float(high)


def draw(path: Path, found: Measured) -> None:
    """Draw signals, label, novelty and activations over time."""
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    times, columns, labels, messages = found.times, found.columns, found.labels, found.messages
    minutes, ticks = (times - times[0]) / 60, (found.stamps - times[0]) / 60
    ids = [activity['id'] for activity in messages[0]['activations']]
    probability = np.array([[a['probability'] for a in m['activations']] for m in messages]).T
    figure, axes = plt.subplots(
        len(columns) + 2,
        1,
        sharex=True,
        figsize=(9, 10),
        layout='constrained',
        height_ratios=[1] * len(columns) + [1.6, 3.2],
    )
    for axis, (name, values) in zip(axes, columns.items(), strict=False):
        axis.plot(minutes, values, linewidth=0.7, color='#33658a')
        axis.set_ylabel(
            name.replace('RMS', '')
            .replace('Accelerometer', 'Accel. ')
            .replace('Volume Flow Rate', 'Flow'),
            rotation=0,
            ha='right',
            va='center',
            fontsize=8,
        )
    axes[-2].plot(ticks, [m['novelty'] for m in messages], linewidth=0.8, color='#7b2d8b')
    axes[-2].axhline(messages[0]['novelty_threshold'], color='#7b2d8b', linestyle=':')
    axes[-2].set_ylabel(
        f'novelty\nAUROC {found.figures["novelty", SCORED][0]:.2f}',
        rotation=0,
        ha='right',
        va='center',
        fontsize=8,
    )
    axes[-1].pcolormesh(
        ticks, np.arange(len(ids)), probability, cmap='magma_r', vmin=0, vmax=1, shading='nearest'
    )
    axes[-1].set_yticks(
        range(len(ids)),
        [f'{id.replace("_", " ")}  {found.figures[id, SCORED][0]:.2f}' for id in ids],
        fontsize=7,
    )
    axes[-1].invert_yaxis()
    axes[-1].set_xlabel(
        'minutes (shaded: labelled anomalous; dark: probability near 1; numbers: AUROC)'
    )
    edges = np.flatnonzero(np.diff(np.concatenate(([0], labels > 0, [0]))))
    for axis in axes[:-1]:
        axis.tick_params(labelsize=7)
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            axis.axvspan(
                minutes[start],
                minutes[min(end, len(minutes) - 1)],
                color='#f6ae2d',
                alpha=0.3,
                linewidth=0,
            )
    figure.savefig(path, dpi=100)


if __name__ == '__main__':
    main()
