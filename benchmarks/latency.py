#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a tick costs, paired in one run on one machine. By hand, on a quiet machine:

    .venv/bin/python benchmarks/latency.py --out results/
    .venv/bin/python benchmarks/latency.py --only inference --out results/
    .venv/bin/python benchmarks/latency.py --quick

(inference) the policies beside retrieval and an identity graph, (receiving) CPU per message
beside an empty rclpy subscriber, (answering) newest message → activation beside a bare rclpy
timer. Ratios are the result; absolute times hold for the machine that is named.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# Before anything joins ROS: nobody else's messages in the figures, ours in nobody else's.
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_DOMAIN_ID', '97')
# Before anything computes: the libraries under FAISS, torch and NumPy read these once.
os.environ['OMP_NUM_THREADS'] = os.environ['OPENBLAS_NUM_THREADS'] = '1'
os.environ['MKL_NUM_THREADS'] = '1'

from machine import heading, machine

from thinking_policy.shipped import config_folder

PARTS = ('inference', 'receiving', 'answering')
TICKS_S = (0.5, 0.1)  # the shipped configurations' tick, and the 10 Hz of a busy node


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--quick', action='store_true', help='a minute or two instead of many')
    parser.add_argument('--only', nargs='+', choices=PARTS, default=PARTS, help='default: all')
    parser.add_argument('--out', type=Path, help='folder for latency.json and latency.md')
    parser.add_argument('--policy', type=Path, help='policy file; default: the bundled one')
    options = parser.parse_args()
    policy = options.policy or config_folder() / 'policy.onnx'
    results = {'machine': machine(), 'quick': options.quick}
    print(heading(results['machine']), flush=True)
    run = {'inference': time_inference, 'receiving': time_receiving, 'answering': time_answering}
    tables = []
    for part in PARTS:
        if part not in options.only:
            continue
        print(f'{part} …', file=sys.stderr, flush=True)
        results[part], table = run[part](policy, options.quick)
        tables.append(table)
        print(f'\n{table}', flush=True)
        # After each part, for the next may take minutes.
        if options.out:
            write(options.out, results, tables)


def write(folder: Path, results: dict, tables: list[str]) -> None:
    """Write latency.json and latency.md."""
    lines = [heading(results['machine'])]
    if results['quick']:
        lines.append('Quick run: few repetitions, not for comparing.')
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'latency.json').write_text(json.dumps(results, indent=1) + '\n')
    (folder / 'latency.md').write_text('\n\n'.join([*lines, *tables]) + '\n')


def time_inference(policy: Path, quick: bool) -> tuple[dict, str]:
    """Return figures and table of the policies beside retrieval."""
    import inference

    from thinking_policy.experiments.timing import Protocol

    protocol = Protocol(warm=20, slept=3, batched=2) if quick else Protocol()
    found = inference.measure_inference(policy, protocol, progress=tenths())
    return found, inference.table(found)


def time_receiving(policy: Path, quick: bool) -> tuple[list, str]:
    """Return figures and table of the CPU per message."""
    import receiving

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for load in receiving.LOADS:
            for tick_s in TICKS_S:
                print(f'  {load}, tick {tick_s} s …', file=sys.stderr, flush=True)
                seconds = 5.0 if quick else 20.0
                found.append(
                    receiving.measure_receiving(Path(folder), policy, load, seconds, tick_s)
                )
    return found, receiving.table(found)


def time_answering(policy: Path, quick: bool) -> tuple[dict, str]:
    """Return figures and table of the way from the newest message to the answer."""
    import answering
    import receiving

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        topics = next(iter(receiving.LOADS.values()))
        for tick_s in TICKS_S:
            print(f'  tick {tick_s} s …', file=sys.stderr, flush=True)
            parameters = receiving.write_parameters(Path(folder), policy, topics, tick_s)
            answers = 15 if quick else 120
            found[str(tick_s)] = answering.measure_answering(parameters, answers, tick_s)
    return found, answering.table(found)


def tenths() -> Callable[[int, int], None]:
    """Return what prints a line for every tenth of a work."""
    said = [0]

    def progress(done: int, total: int) -> None:
        if 10 * done // total > said[0]:
            said[0] = 10 * done // total
            print(f'  {done} of {total} rounds', file=sys.stderr, flush=True)

    return progress


if __name__ == '__main__':
    main()
