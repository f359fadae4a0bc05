#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Messages a second from a bag to situations, beside `rosbags` that only deserialises them.

    .venv/bin/python benchmarks/bags.py --out results/
    .venv/bin/python benchmarks/bags.py --only speed --quick

(speed) the same bag by both, taking turns: opening it, every message of the configured topics,
and here also ticks, reductions, windows. (memory) the peak of a process that reads every message
of a large bag of images, scans and Imu, beside one that reads a small bag. Ratios are the result.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bag_writing import KINDS, LOADS, Load, write_bag, write_large_bag
from machine import heading, machine
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from thinking_policy.bags import open_bag, situations_of
from thinking_policy.situation import SituationConfig

PARTS = ('speed', 'memory')
# Every load in these; the other kinds of storage with one load.
COMMON = ('sqlite3', 'mcap')
STORE = get_typestore(Stores.ROS2_JAZZY)
# The command, and then what the kernel says of this process alone: the peak that `wait4` returns
# is at least that of the process that started it.
COMMAND_AND_PEAK = (
    'import sys; from thinking_policy.cli import main; status = main(sys.argv[1:]); '
    "print(*[line for line in open('/proc/self/status') if line.startswith('VmHWM')]); "
    'sys.exit(status)'
)


@dataclass(frozen=True)
class Speed:
    """What one bag gave.

    Attributes:
        load, kind: Which bag.
        messages: On the configured topics.
        ours, bare: Messages a second of each round.
        target: Least ratio that is wanted.
    """

    load: str
    kind: str
    messages: int
    ours: list[float]
    bare: list[float]
    target: float

    @property
    def ratios(self) -> list[float]:
        """Ours ÷ bare of each round, in order of size."""
        return sorted(a / b for a, b in zip(self.ours, self.bare, strict=True))

    @property
    def ratio(self) -> float:
        """The median."""
        return statistics.median(self.ratios)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--quick', action='store_true', help='seconds; judges no target')
    parser.add_argument('--only', nargs='+', choices=PARTS, default=PARTS, help='default: all')
    parser.add_argument('--size', type=float, default=2000.0, help='of the large bag, MB')
    parser.add_argument('--out', type=Path, help='folder for bags.json and bags.md')
    options = parser.parse_args()
    facts = machine()
    print(heading(facts), flush=True)
    content: dict = {'machine': facts, 'quick': options.quick}
    tables = []
    if 'speed' in options.only:
        speeds = measure_speeds(options.quick)
        content['speed'] = [vars(speed) | {'ratio': speed.ratio} for speed in speeds]
        tables.append(speed_table(speeds, options.quick))
        print(f'\n{tables[-1]}', flush=True)
    if 'memory' in options.only:
        content['memory'] = measure_memory(20.0 if options.quick else options.size)
        tables.append(memory_table(content['memory']))
        print(f'\n{tables[-1]}', flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / 'bags.json').write_text(json.dumps(content, indent=1) + '\n')
        (options.out / 'bags.md').write_text('\n\n'.join([heading(facts), *tables]) + '\n')


def measure_speeds(quick: bool) -> list[Speed]:
    """Return the speed of every bag, one after the other."""
    rounds = 3 if quick else 9
    found = []
    for kind in KINDS:
        for load in LOADS:
            if kind not in COMMON and load.name != 'Temperature':
                continue
            print(f'  {load.name}, {kind} …', file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                count = load.count // 20 if quick else load.count
                bag = write_bag(Path(folder), kind, load, count)
                found.append(measure_speed(bag, kind, load, rounds))
    return found


def measure_speed(bag: Path, kind: str, load: Load, rounds: int) -> Speed:
    """Read one bag by both in turn; the first time, which warms caches up, does not count."""
    ours, bare = [], []
    counted = 0
    for number in range(rounds + 1):
        # Who begins alternates, so that neither always finds the processor as the other left it.
        for mine in (True, False) if number % 2 else (False, True):
            begun = time.perf_counter()
            count = replay(bag, load.config) if mine else deserialise(bag, load)
            speed = count / (time.perf_counter() - begun)
            assert counted in (0, count), 'both have to read the same messages'
            counted = count
            if number:
                (ours if mine else bare).append(speed)
    # What ROS 1 wrote has to be turned into CDR first.
    target = min(load.target, 0.7) if kind == 'ROS 1' else load.target
    return Speed(load.name, kind, counted, ours, bare, target)


def replay(bag: Path, config: SituationConfig) -> int:
    """Make all situations of a bag, as `bag situations` does; return how many messages it took."""
    with open_bag(bag) as opened:
        replaying = situations_of(opened, config)
        for _ in replaying:
            pass
        assert not opened.problems, opened.problems
        return replaying.played


def deserialise(bag: Path, load: Load) -> int:
    """Read the same messages by `rosbags` alone."""
    count = 0
    with AnyReader([bag], default_typestore=STORE) as reader:
        chosen = [c for c in reader.connections if c.topic in load.topics]
        for connection, _, raw in reader.messages(chosen):
            reader.deserialize(raw, connection.msgtype)
            count += 1
    return count


def speed_table(speeds: list[Speed], quick: bool = False) -> str:
    """Return a row for each bag.

    A quick run judges nothing: in a short bag the opening counts most, which costs rosbags more.
    """
    lines = [
        'Messages a second from bag to situations, beside bare deserialisation by rosbags '
        '(median; least … greatest ratio of a round)',
        '',
        '| messages | storage | count | rosbags | ours | ratio | | wanted |',
        '|---|---|---:|---:|---:|---:|---|---|',
    ]
    for speed in speeds:
        reached = 'reached' if speed.ratio >= speed.target else 'MISSED'
        verdict = 'too short to say' if quick else reached
        lines.append(
            f'| {speed.load} | {speed.kind} | {speed.messages:,} '
            f'| {statistics.median(speed.bare):,.0f} | {statistics.median(speed.ours):,.0f} '
            f'| {speed.ratio:.2f} | {speed.ratios[0]:.2f} … {speed.ratios[-1]:.2f} '
            f'| {speed.target:.1f}, {verdict} |'
        )
    return '\n'.join(lines)


def measure_memory(large_mb: float) -> list[dict]:
    """Return the peak memory of a process that replays a small and a large bag, each storage."""
    check_disk(large_mb)
    found = []
    for kind in KINDS:
        for size_mb in (large_mb / 10, large_mb):
            print(f'  {size_mb:.0f} MB, {kind} …', file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory() as folder:
                bag, config = write_large_bag(Path(folder), kind, size_mb * 1e6)
                found.append({'kind': kind, 'size_mb': size_mb, **run_apart(bag, config)})
    return found


def check_disk(large_mb: float) -> None:
    """Refuse a bag that does not fit, with its copy where a file has to be unpacked first.

    Raises:
        SystemExit: It does not.
    """
    free_mb = shutil.disk_usage(tempfile.gettempdir()).free / 1e6
    if free_mb < 2.5 * large_mb:
        raise SystemExit(
            f'{tempfile.gettempdir()}: {free_mb:,.0f} MB are free, {2.5 * large_mb:,.0f} are '
            'needed; set TMPDIR to a larger disk or choose a smaller --size'
        )


def run_apart(bag: Path, config: Path) -> dict:
    """Replay a bag in a process of its own, by the command itself."""
    words = ['bag', 'situations', str(bag), '--config', str(config), '-o', f'{bag}.npz']
    begun = time.perf_counter()
    child = subprocess.run(
        [sys.executable, '-c', COMMAND_AND_PEAK, *words], stdout=subprocess.PIPE, text=True
    )
    seconds = time.perf_counter() - begun
    if child.returncode:
        raise SystemExit(f'the command ended with status {child.returncode}: {child.stdout}')
    said, *_, peak = child.stdout.strip().split('\n')
    return {
        'peak_mb': int(peak.split()[1]) * 1024 / 1e6,
        'seconds': seconds,
        'said': said.rpartition('/')[2],
    }


def memory_table(found: list[dict]) -> str:
    """Return a row for each storage."""
    small, large = found[::2], found[1::2]
    lines = [
        'Peak memory of `bag situations` that reads every message: images, scans, Imu',
        '',
        f'| storage | peak at {small[0]["size_mb"]:,.0f} MB | at {large[0]["size_mb"]:,.0f} MB '
        '| seconds |',
        '|---|---:|---:|---:|',
    ]
    lines += [
        f'| {few["kind"]} | {few["peak_mb"]:.0f} MB | {many["peak_mb"]:.0f} MB '
        f'| {many["seconds"]:.1f} |'
        for few, many in zip(small, large, strict=True)
    ]
    return '\n'.join(lines)


if __name__ == '__main__':
    main()
