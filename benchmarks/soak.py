#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Policy node and experience node for half an hour at ten times the rate of a robot. By hand:

    .venv/bin/python benchmarks/soak.py [--minutes 30] [--out FOLDER]

A simulated robot lives ten times as fast, ticks come at 20 Hz, ten times as much is recorded,
outcomes come every second, and the file is bounded so tightly that it evicts for most of the
time. Reads resident memory from /proc, sizes from the disk, counts from /diagnostics. Ends with 1
where memory grows by 5 % or more after the first tenth of the time, the log outgrows its bound,
a tick is missing, or a record is lost.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_DOMAIN_ID', '95')

import yaml
from children import Child, cpu_s
from machine import heading, machine

from thinking_policy.shipped import config_folder

FASTER = 10
TICK_S = 0.5 / FASTER
MOST_GROWTH = 0.05
MOST_LOG_BYTES = 16 << 20  # it is carried over at 4 MB and cut to 8 MB
MOST_BYTES = 16 << 20  # of the file: it is full after some minutes
LOOK_S = 5.0
NODES = ('policy_node', 'experience_node')


@dataclass
class Observed:
    """What was seen meanwhile.

    Attributes:
        rss_mb: Resident memory of each node over time.
        log_bytes: Of the file's log over time.
        ticks, gaps: Activations heard, and ticks missing between them.
        diagnostics: Newest values of the experience node by subject.
        levels: How often a status was above OK, by subject and message.
    """

    rss_mb: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NODES})
    log_bytes: list[int] = field(default_factory=list)
    ticks: int = 0
    gaps: int = 0
    last_tick: int = 0
    episode: str = ''
    diagnostics: dict[str, dict[str, str]] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--minutes', type=float, default=30.0, help='how long')
    parser.add_argument('--out', type=Path, help='folder for soak.json')
    options = parser.parse_args()
    facts = machine()
    print(heading(facts), flush=True)
    with tempfile.TemporaryDirectory(prefix='soak-') as folder:
        result = soak(Path(folder), options.minutes)
    result['machine'] = facts
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / 'soak.json').write_text(json.dumps(result, indent=2) + '\n')
    return report(result)


def soak(folder: Path, minutes: float) -> dict[str, Any]:
    """Run both nodes and return the figures."""
    parameters, database = folder / 'soak.yaml', folder / 'experiences.db'
    write_parameters(parameters, database)
    os.environ['ROS_HOME'] = str(folder)
    robot, *nodes = (Child(command(name, parameters)) for name in ('simulated_robot', *NODES))
    with robot, nodes[0] as policy, nodes[1] as experience:
        children = dict(zip(NODES, (policy, experience), strict=True))
        observed, cpu = watch(children, database, minutes * 60.0)
        ended = {name: child.process.poll() for name, child in children.items()}
    connection = sqlite3.connect(database)
    verdict = connection.execute('PRAGMA integrity_check').fetchone()[0]
    (stored,) = connection.execute('SELECT COUNT(*) FROM record').fetchone()
    connection.close()
    warm_up = {name: len(values) // 10 for name, values in observed.rss_mb.items()}
    return {
        'minutes': minutes,
        'rss_mb': {
            name: summary(values[warm_up[name] :]) for name, values in observed.rss_mb.items()
        },
        'cpu_percent': cpu,
        'log_bytes_most': max(observed.log_bytes, default=0),
        'file_bytes': database.stat().st_size,
        'ticks': observed.ticks,
        'gaps': observed.gaps,
        'recording': observed.diagnostics.get('recording', {}),
        'buffer': observed.diagnostics.get('buffer', {}),
        'above_ok': observed.levels,
        'stored_at_end': stored,
        'integrity': verdict,
        'ended_early': {name: code for name, code in ended.items() if code is not None},
    }


def summary(values: list[float]) -> dict[str, float]:
    """Return memory at the beginning and at the end of a time, each the median of a tenth."""
    part = max(1, len(values) // 10)
    first, last = statistics.median(values[:part]), statistics.median(values[-part:])
    return {
        'first': round(first, 2),
        'last': round(last, 2),
        'most': round(max(values), 2),
        'growth_percent': round(100.0 * (last / first - 1.0), 2),
    }


def write_parameters(path: Path, database: Path) -> None:
    """Write one file for all three nodes."""
    shipped = yaml.safe_load((config_folder() / 'policy.yaml').read_text())
    policy = shipped['/**/thinking_policy']['ros__parameters']
    policy |= {'tick_period_s': TICK_S, 'minimum_hold_s': 2.0 / FASTER, 'robot_id': 'soak'}
    policy['episode'] = {**policy['episode'], 'max_length_s': 3600.0 / FASTER}
    sections = {
        'thinking_policy': policy,
        'simulated_robot': {'speed': float(FASTER)},
        'thinking_experience': {
            'robot_id': 'soak',
            'database_path': str(database),
            'recording': {'sample_s': 60.0 / FASTER, 'most_per_minute': 60.0 * FASTER},
            'buffer': {'most_bytes': MOST_BYTES},
        },
    }
    path.write_text(
        yaml.safe_dump({f'/**/{name}': {'ros__parameters': s} for name, s in sections.items()})
    )


def command(module: str, parameters: Path) -> list[str]:
    run = f'from thinking_policy.ros.{module} import main; raise SystemExit(main())'
    logging = ['--log-level', 'error', '--params-file', str(parameters)]
    return [sys.executable, '-P', '-c', run, '--ros-args', *logging]


def watch(
    children: dict[str, Child], database: Path, duration_s: float
) -> tuple[Observed, dict[str, float]]:
    """Hear both nodes, speak outcomes, and look at memory and sizes; return CPU in percent."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.qos import QoSProfile

    from thinking_policy.msg import ThinkingActivations, ThinkingFeedback

    rclpy.init()
    node = rclpy.create_node('soak')
    observed = Observed()
    node.create_subscription(
        ThinkingActivations,
        'thinking/activations',
        lambda message: hear_tick(observed, message),
        QoSProfile(depth=1000),
    )
    node.create_subscription(
        DiagnosticArray, '/diagnostics', lambda message: hear_status(observed, message), 100
    )
    feedback = node.create_publisher(ThinkingFeedback, 'thinking/feedback', 10)
    number = itertools.count()

    def speak() -> None:
        message = ThinkingFeedback(
            kind=1, code=f'outcome {next(number) % 5}', reward=0.5, episode=observed.episode
        )
        message.header.stamp = node.get_clock().now().to_msg()
        feedback.publish(message)

    node.create_timer(1.0, speak)
    begun = looked = said = time.monotonic()
    began_cpu = {name: cpu_s(child.pid) for name, child in children.items()}
    while (now := time.monotonic()) - begun < duration_s:
        rclpy.spin_once(node, timeout_sec=0.1)
        if now - looked >= LOOK_S:
            looked = now
            look(observed, children, database)
        if now - said >= 60.0:
            said = now
            print(line(observed, (now - begun) / 60.0), flush=True)
    cpu = {
        name: round(100.0 * (cpu_s(child.pid) - began_cpu[name]) / duration_s, 1)
        for name, child in children.items()
    }
    node.destroy_node()
    rclpy.shutdown()
    return observed, cpu


def hear_tick(observed: Observed, message: Any) -> None:
    if observed.episode == message.episode and observed.last_tick:
        observed.gaps += message.tick - observed.last_tick - 1
    observed.last_tick, observed.episode = message.tick, message.episode
    observed.ticks += 1


def hear_status(observed: Observed, message: Any) -> None:
    for status in message.status:
        if not status.name.startswith('thinking_experience: '):
            continue
        subject = status.name.partition(': ')[2]
        observed.diagnostics[subject] = {pair.key: pair.value for pair in status.values}
        if status.level != b'\x00':
            kind = f'{subject}: {"".join(c for c in status.message if not c.isdigit())}'
            observed.levels[kind] = observed.levels.get(kind, 0) + 1


def look(observed: Observed, children: dict[str, Child], database: Path) -> None:
    for name, child in children.items():
        status = Path(f'/proc/{child.pid}/status').read_text()
        kb = next(row for row in status.splitlines() if row.startswith('VmRSS:')).split()[1]
        observed.rss_mb[name].append(int(kb) * 1024 / 1e6)
    log = database.with_name(f'{database.name}-wal')
    observed.log_bytes.append(log.stat().st_size if log.exists() else 0)


def line(observed: Observed, minutes: float) -> str:
    """Return how it stands in one line."""
    memory = ', '.join(f'{name} {values[-1]:.1f} MB' for name, values in observed.rss_mb.items())
    buffer = observed.diagnostics.get('buffer', {})
    counts = ', '.join(
        f'{name} {buffer.get(name, "?")}' for name in ('stored', 'evicted_unlabelled', 'dropped')
    )
    log_mb = observed.log_bytes[-1] / 1e6
    return f'{minutes:4.0f} min: {memory}; log {log_mb:.1f} MB; ticks {observed.ticks}; {counts}'


def report(result: dict[str, Any]) -> int:
    """Print each figure beside its bound; return 1 where one is passed."""
    problems = []
    for name, memory in result['rss_mb'].items():
        print(
            f'  {name}: {memory["first"]} MB at first, {memory["last"]} MB at last, '
            f'{memory["growth_percent"]:+} % (less than {MOST_GROWTH:.0%} allowed); '
            f'CPU {result["cpu_percent"][name]} % of one core'
        )
        if memory['growth_percent'] >= 100 * MOST_GROWTH:
            problems.append(f'{name} grows')
    print(
        f'  log at most {result["log_bytes_most"] / 1e6:.1f} MB of {MOST_LOG_BYTES / 1e6:.1f} MB; '
        f'file {result["file_bytes"] / 1e6:.1f} MB of {MOST_BYTES / 1e6:.1f} MB'
    )
    print(f'  ticks {result["ticks"]}, missing {result["gaps"]}')
    print(f'  recording: {result["recording"]}')
    print(f'  buffer: {result["buffer"]}')
    print(f'  above OK: {result["above_ok"] or "never"}')
    print(f'  {result["stored_at_end"]} records at the end, integrity {result["integrity"]}')
    lost = sum(int(result['buffer'].get(name, 0)) for name in ('dropped', 'refused'))
    checks = {
        'the log outgrows its bound': result['log_bytes_most'] > MOST_LOG_BYTES,
        'ticks are missing': result['gaps'] > 0,
        'records were lost': lost > 0,
        'the file is broken': result['integrity'] != 'ok',
        'a node ended': bool(result['ended_early']),
    }
    problems += [problem for problem, holds in checks.items() if holds]
    print(f'  {"; ".join(problems) or "all within their bounds"}')
    return int(bool(problems))


if __name__ == '__main__':
    raise SystemExit(main())
