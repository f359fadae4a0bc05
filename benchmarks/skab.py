#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
r"""Whether activations tell a labelled anomaly from normal work, over live nodes.

    .venv/bin/python benchmarks/skab.py ../shared/data/series/SKAB/data/valve1/0.csv \
        --picture docs/skab_valve1_0.png

CSV → bag → `thinking-policy run --bag --config skab --json` → AUROC of the novelty and of each
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
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from machine import heading, machine

from thinking_policy.policy import Baseline, fit_baseline

BLOCK_S = 60
RESAMPLES = 2000
FIT_ROWS = 400
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
    messages = activations(options.table, times[FIT_ROWS], options.rate, options.policy)
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
        for part, use in (('scored', rows >= FIT_ROWS), ('whole', rows >= 0)):
            one, two = score[use], truth[use]
            figures[f'{name} {part}'] = auroc(one, two), *interval(one, two, block)
    print(
        f'{len(truth)} ticks, {truth.mean():.0%} labelled anomalous, policy '
        f'{messages[0]["policy_version"]}\n'
    )
    print(f'| | AUROC after row {FIT_ROWS} | AUROC, whole recording |\n|---|---|---|')
    for name in sorted(scores, key=lambda name: -figures[f'{name} scored'][0]):
        cells = ' | '.join(
            '{:.3f} [{:.3f}, {:.3f}]'.format(*figures[f'{name} {part}'])
            for part in ('scored', 'whole')
        )
        print(f'| {name} | {cells} |')
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


def activations(table: Path, fit_until: float, rate: float, policy: Path | None) -> list[dict]:
    """Return every ThinkingActivations that the live node publishes over the table's bag."""
    with tempfile.TemporaryDirectory() as folder:
        bag, tensors = Path(folder) / table.stem, Path(folder) / 'situations.npz'
        call('bag', 'from-csv', str(table), '--map', 'skab', '-o', str(bag))
        call('bag', 'situations', str(bag), '--config', 'skab', '-o', str(tensors))
        baseline = Path(folder) / 'baseline.json'
        baseline.write_text(json.dumps(fitted(tensors, fit_until).to_dict()))
        extra = ['--policy', str(policy)] if policy else []
        done = call(
            *('run', '--bag', str(bag), '--rate', str(rate), '--config', 'skab', '--json', *extra),
            *('--ros-args', '-p', f'baseline_path:={baseline}'),
        )
    return [json.loads(line) for line in done.splitlines()]


def call(*words: str) -> str:
    """Run a command of `thinking-policy` and return what it prints."""
    return subprocess.run([*COMMAND, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def fitted(tensors: Path, until: float) -> Baseline:
    """Return the baseline of the situations before a time."""
    found = np.load(tensors)
    use = found['stamp_ns'] < until * 1e9
    return fit_baseline(found['window'][use], found['valid'][use], found['signals'].tolist())


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
        f'novelty\nAUROC {figures["novelty scored"][0]:.2f}',
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
        [f'{id.replace("_", " ")}  {figures[f"{id} scored"][0]:.2f}' for id in ids],
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
