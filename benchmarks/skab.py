#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Whether activations tell a labelled anomaly from normal work, over live nodes.

    .venv/bin/python benchmarks/skab.py ../shared/data/series/SKAB/data/valve1/0.csv \\
        --picture docs/skab_valve1_0.png

CSV → bag → `thinking-policy run --bag --config skab --json` → AUROC of the novelty and of each
activity's probability for the label `anomaly`. The interval is a 95 % circular block bootstrap:
neighbouring seconds are alike, so whole minutes are drawn, not rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from machine import heading, machine

from thinking_policy.shipped import config_folder

BLOCK_S = 60
RESAMPLES = 2000
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
    parser.add_argument('table', type=Path, help='a CSV file of SKAB')
    parser.add_argument('--rate', type=float, default=60.0, help='times real time')
    parser.add_argument('--policy', type=Path, help='policy file; default: the bundled one')
    parser.add_argument('--picture', type=Path, help='write a PNG')
    parser.add_argument('--out', type=Path, help='write the figures as JSON')
    options = parser.parse_args()
    print(heading(machine()))
    times, columns, labels = read_table(options.table)
    messages = activations(options.table, options.rate, options.policy)
    stamps = np.array(
        [m['header']['stamp']['sec'] + m['header']['stamp']['nanosec'] * 1e-9 for m in messages]
    )
    rows = np.searchsorted(times, stamps, side='right') - 1  # the newest row of each tick
    use = rows >= 0
    scores = {'novelty': np.array([m['novelty'] for m in messages])[use]}
    for index, activity in enumerate(messages[0]['activations']):
        scores[activity['id']] = np.array(
            [m['activations'][index]['probability'] for m in messages]
        )[use]
    truth = labels[rows[use]] > 0
    period_s = float(np.median(np.diff(stamps)))
    figures = {
        name: (auroc(score, truth), *interval(score, truth, round(BLOCK_S / period_s)))
        for name, score in scores.items()
    }
    print(
        f'{len(truth)} ticks of {period_s:g} s, {truth.mean():.0%} labelled anomalous, policy '
        f'{messages[0]["policy_version"]}\n'
    )
    print('| | AUROC | 95 % interval |\n|---|---|---|')
    for name, (value, low, high) in sorted(figures.items(), key=lambda item: -item[1][0]):
        print(f'| {name} | {value:.3f} | {low:.3f} … {high:.3f} |')
    if options.out:
        options.out.write_text(
            json.dumps({'machine': machine(), 'ticks': len(truth), 'auroc': figures}, indent=1)
            + '\n'
        )
    if options.picture:
        draw(options.picture, times, columns, labels, stamps, messages, figures)


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


def activations(table: Path, rate: float, policy: Path | None) -> list[dict]:
    """Return every ThinkingActivations that the live node publishes over the table's bag."""
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / table.stem
        subprocess.run(
            [
                *COMMAND,
                'bag',
                'from-csv',
                str(table),
                '--map',
                str(config_folder() / 'csv' / 'skab.yaml'),
                '-o',
                str(bag),
            ],
            check=True,
        )
        extra = ['--policy', str(policy)] if policy else []
        done = subprocess.run(
            [
                *COMMAND,
                'run',
                '--bag',
                str(bag),
                '--rate',
                str(rate),
                '--config',
                'skab',
                '--json',
                *extra,
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


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


def draw(
    path: Path,
    times: np.ndarray,
    columns: dict[str, np.ndarray],
    labels: np.ndarray,
    stamps: np.ndarray,
    messages: list[dict],
    figures: dict,
) -> None:
    """Draw signals, label, novelty and activations over time."""
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    minutes, ticks = (times - times[0]) / 60, (stamps - times[0]) / 60
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
        f'novelty\nAUROC {figures["novelty"][0]:.2f}',
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
        [f'{id.replace("_", " ")}  {figures[id][0]:.2f}' for id in ids],
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
