#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the policy costs a robot: disk, memory, start. By hand, after `make robot`:

    .venv-robot/bin/python benchmarks/robot_budget.py

Installs the package with pip into a throwaway environment to weigh it (needs a package index;
--no-install leaves that out), starts the node a few times on its shipped configuration with the
simulated robot beside it, and reads its memory from /proc. Budgets: DESIGN, *On the robot*.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_DOMAIN_ID', '96')

from children import Child, policy_node, wait_until
from machine import heading, machine

from thinking_policy.shipped import config_folder

BUDGET_MB = {'install': 200, 'memory': 150}
BUDGET_START_S = 3.0
SETTLE_S = 20.0  # until every signal has filled its window and caches are warm
UNWANTED = ('libtorch', 'site-packages/torch/', 'site-packages/onnx/', 'site-packages/scipy/')
BROUGHT_BY_ROS = ('numpy', 'numpy.libs', 'yaml')  # rclpy and the messages need them anyway
ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--no-install', action='store_true', help='do not weigh the installation')
    parser.add_argument('--starts', type=int, default=5, help='how often the node is started')
    parser.add_argument('--out', type=Path, help='folder for robot_budget.json')
    options = parser.parse_args()
    facts = machine()
    print(heading(facts), flush=True)
    result: dict[str, object] = {'machine': facts}
    if not options.no_install:
        result['install_mb'] = install_sizes_mb()
    result |= measure_node(options.starts)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / 'robot_budget.json').write_text(json.dumps(result, indent=2) + '\n')
    return report(result)


def install_sizes_mb() -> dict[str, float]:
    """Return what `pip install .` brings beside ROS, and its largest parts, in MB."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, symlinks=True)
        pip = [sys.executable, '-m', 'pip', '--python', f'{folder}/bin/python']
        subprocess.run([*pip, 'install', '--quiet', str(ROOT)], check=True)
        (site_packages,) = Path(folder).glob('lib/python3*/site-packages')
        sizes = {
            entry.name: size_mb(entry)
            for entry in site_packages.iterdir()
            if not entry.name.endswith('.dist-info')
        }
        brought = sum(sizes.get(name, 0.0) for name in BROUGHT_BY_ROS)
        return {
            'beside_ros': round(size_mb(Path(folder)) - brought, 1),
            **dict(sorted(sizes.items(), key=lambda item: -item[1])[:8]),
        }


def size_mb(path: Path) -> float:
    """Return what a file or folder takes, without following links; MB of a million bytes."""
    files = (
        [path]
        if path.is_file()
        else [Path(parent) / name for parent, _, names in os.walk(path) for name in names]
    )
    return round(sum(file.lstat().st_size for file in files) / 1e6, 1)


def measure_node(starts: int) -> dict[str, object]:
    """Return start times (process begun → first activations published, s) and memory (MB)."""
    import rclpy

    from thinking_policy.msg import ThinkingActivations

    rclpy.init()
    observer = rclpy.create_node('robot_budget')
    heard: list[float] = []
    observer.create_subscription(
        ThinkingActivations, 'thinking/activations', lambda _: heard.append(time.monotonic()), 10
    )
    start_s, memory = [], {}
    robot = Child(
        [
            sys.executable,
            '-P',
            '-c',
            'from thinking_policy.ros.simulated_robot import main; main()',
        ]
    )

    def spun_until_heard() -> bool:
        rclpy.spin_once(observer, timeout_sec=0.01)
        return bool(heard)

    with robot:
        for number in range(starts):
            heard.clear()
            begun = time.monotonic()
            with policy_node(config_folder() / 'policy.yaml') as node:
                wait_until(spun_until_heard, 30.0)
                start_s.append(round(heard[0] - begun, 2))
                if number == starts - 1:
                    time.sleep(SETTLE_S)
                    memory = memory_of(node.pid)
    observer.destroy_node()
    rclpy.shutdown()
    return {'start_s': start_s, **memory}


def memory_of(pid: int) -> dict[str, object]:
    """Return resident and proportional memory of a process in MB, and what it should not map."""
    status = dict(
        line.split(':', 1) for line in Path(f'/proc/{pid}/status').read_text().splitlines()
    )
    rollup = Path(f'/proc/{pid}/smaps_rollup').read_text()
    pss_kb = next(line for line in rollup.splitlines() if line.startswith('Pss:')).split()[1]
    maps = Path(f'/proc/{pid}/maps').read_text()
    return {
        'rss_mb': round(int(status['VmRSS'].split()[0]) * 1024 / 1e6, 1),
        'pss_mb': round(int(pss_kb) * 1024 / 1e6, 1),
        'threads': int(status['Threads']),
        'unwanted': [name for name in UNWANTED if name in maps],
    }


def report(result: dict[str, object]) -> int:
    """Print each figure beside its budget; return 1 if one is exceeded."""
    start_s = statistics.median(result['start_s'])
    rows = [
        ('start to first activations, median', start_s, 's', BUDGET_START_S),
        ('resident memory', result['rss_mb'], 'MB', BUDGET_MB['memory']),
    ]
    if 'install_mb' in result:
        sizes = result['install_mb']
        rows.append(('installed beside ROS', sizes['beside_ros'], 'MB', BUDGET_MB['install']))
        print(
            '  largest: '
            + ', '.join(f'{name} {size}' for name, size in sizes.items() if name != 'beside_ros')
        )
    for what, value, unit, budget in rows:
        print(f'  {what}: {value} {unit} of {budget} {unit}')
    print(
        f'  starts: {result["start_s"]} s; PSS {result["pss_mb"]} MB; '
        f'{result["threads"]} threads; mapped needlessly: {result["unwanted"] or "nothing"}'
    )
    return int(any(value > budget for _, value, _, budget in rows) or bool(result['unwanted']))


if __name__ == '__main__':
    raise SystemExit(main())
