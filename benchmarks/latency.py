#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a tick costs, paired in one run on one machine. By hand, on a quiet machine:

    .venv/bin/python benchmarks/latency.py --out results/
    .venv/bin/python benchmarks/latency.py --quick

(a) one inference beside an identity graph, (b) CPU per message beside an empty rclpy subscriber,
(c) newest message → activation beside a bare rclpy timer. Ratios are the result; absolute times
hold for the machine that is named.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

# Before anything joins ROS: nobody else's messages in the figures, ours in nobody else's.
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_DOMAIN_ID', '97')

from answering import measure_answering
from inference import measure_inference
from machine import heading, machine
from receiving import LOADS, measure_receiving, write_parameters

from thinking_policy.shipped import config_folder

TICKS_S = (0.5, 0.1)  # the shipped configurations' tick, and the 10 Hz of a busy node


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--quick', action='store_true', help='a minute instead of several')
    parser.add_argument('--out', type=Path, help='folder for latency.json and latency.md')
    parser.add_argument('--policy', type=Path, help='policy file; default: the bundled one')
    options = parser.parse_args()
    policy = options.policy or config_folder() / 'policy.onnx'
    facts = machine()
    print(heading(facts), flush=True)
    warm, slept, seconds, answers = (500, 10, 5.0, 15) if options.quick else (5000, 200, 20.0, 120)
    results = {
        'machine': facts,
        'quick': options.quick,
        'inference': {},
        'receiving': [],
        'answering': {},
    }
    results['inference'] = measure_inference(policy, warm, slept)
    with tempfile.TemporaryDirectory() as folder:
        for load in LOADS:
            for tick_s in TICKS_S:
                print(f'  {load}, tick {tick_s} s …', flush=True)
                results['receiving'].append(
                    measure_receiving(Path(folder), policy, load, seconds, tick_s)
                )
        for tick_s in TICKS_S:
            parameters = write_parameters(Path(folder), policy, LOADS[next(iter(LOADS))], tick_s)
            results['answering'][str(tick_s)] = measure_answering(parameters, answers, tick_s)
    table = report(results)
    print('\n' + table)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / 'latency.json').write_text(json.dumps(results, indent=1) + '\n')
        (options.out / 'latency.md').write_text(table + '\n')


def report(results: dict) -> str:
    """Return the results as Markdown tables."""
    lines = [heading(results['machine']), '']
    if results['quick']:
        lines += ['Quick run: few repetitions, not for comparing.', '']
    columns = list(next(iter(results['inference'].values())))
    lines += [
        'One inference, one thread, µs (ratio to the identity graph)',
        '',
        f'| | {" | ".join(columns)} |',
        f'|---|{"---|" * len(columns)}',
    ]
    floor = results['inference']['identity graph']
    for name, row in results['inference'].items():
        cells = [f'{row[c]:.1f} ({row[c] / floor[c]:.2f})' for c in columns]
        lines.append(f'| {name} | {" | ".join(cells)} |')
    lines += [
        '',
        'CPU per message, whole node beside an empty subscriber',
        '',
        '| load | tick | sent | received: empty, node | CPU: empty, node '
        '| µs a message: empty, node | ratio |',
        '|---|---|---|---|---|---|---|',
    ]
    for row in results['receiving']:
        lines.append(
            f'| {row["load"]} | {row["tick_s"]} s | {row["sent"]} '
            f'| {row["received_empty"]}, {row["received_node"]} '
            f'| {row["cpu_empty_percent"]:.1f} %, {row["cpu_node_percent"]:.1f} % '
            f'| {row["us_per_message_empty"]:.0f}, {row["us_per_message_node"]:.0f} '
            f'| {row["ratio"]:.3f} |'
        )
    lines += [
        '',
        'Newest message → answer heard, ms',
        '',
        '| tick | | answers | p50 | p99 |',
        '|---|---|---|---|---|',
    ]
    for tick_s, rows in results['answering'].items():
        lines += [
            f'| {tick_s} s | {name} | {row["answers"]} | {row["ms p50"]:.2f} '
            f'| {row["ms p99"]:.2f} |'
            for name, row in rows.items()
        ]
    return '\n'.join(lines)


if __name__ == '__main__':
    main()
