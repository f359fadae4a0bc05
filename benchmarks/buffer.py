#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiences a second through the buffer, beside bare SQLite inserts of the same bytes.

    .venv/bin/python benchmarks/buffer.py --out results/
    .venv/bin/python benchmarks/buffer.py --only speed --quick

(speed) the same records by both, taking turns: ours from `put` until all are acknowledged, bare
one `executemany` into a table of one column, with the same durability (WAL, every commit synced)
and as many rows in a transaction. (memory) the peak of a process that opens a buffer with a
backlog and stores more, beside one whose file is empty. (upload) a backlog sent to a server
process on loopback, and the peak memory of both ends. Ratios are the result.
"""

from __future__ import annotations

import argparse
import gc
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from buffer_loads import LOADS, START_NS, Load, records
from machine import heading, machine
from uploading import measure_upload, peak_mb, upload_table

from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer
from thinking_policy.experience.record import Experience, to_line
from thinking_policy.experience.waiting import AT_ONCE, BYTES_AT_ONCE

PARTS = ('speed', 'memory', 'upload')
TARGET = 0.5


@dataclass
class Speed:
    """What one load gave: bytes of a record, rows in a transaction, records a second by round."""

    load: str
    count: int
    bytes: int
    rows: int
    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

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
    parser.add_argument('--backlog', type=int, default=100_000, help='records')
    parser.add_argument('--out', type=Path, help='folder for buffer.json and buffer.md')
    options = parser.parse_args()
    facts = machine()
    print(heading(facts), flush=True)
    content: dict = {'machine': facts, 'sqlite': sqlite3.sqlite_version, 'quick': options.quick}
    tables = []
    backlog = min(options.backlog, 2_000) if options.quick else options.backlog
    for part in options.only:
        if part == 'speed':
            speeds = measure_speeds(options.quick)
            content[part] = [vars(speed) | {'ratio': speed.ratio} for speed in speeds]
            tables.append(speed_table(speeds, options.quick))
        elif part == 'memory':
            content[part] = measure_memory(backlog)
            tables.append(memory_table(content[part]))
        else:
            content[part] = measure_upload(lambda path: fill(path, backlog), backlog)
            tables.append(upload_table(content[part]))
        print(f'\n{tables[-1]}', flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / 'buffer.json').write_text(json.dumps(content, indent=1) + '\n')
        (options.out / 'buffer.md').write_text('\n\n'.join([heading(facts), *tables]) + '\n')


def measure_speeds(quick: bool) -> list[Speed]:
    """Return the speed of every load, one after the other."""
    found = []
    for load in LOADS:
        print(f'  {load.name} …', file=sys.stderr, flush=True)
        found.append(measure_speed(load, load.count // 20 if quick else load.count, quick))
    return found


def measure_speed(load: Load, count: int, quick: bool) -> Speed:
    """Store the same records by both in turn; the first round, a warm-up, does not count."""
    made = list(records(load, count))
    lines = [to_line(record) for record in made]
    size = statistics.fmean(map(len, lines))
    speed = Speed(load.name, count, round(size), min(AT_ONCE, int(BYTES_AT_ONCE // size)))
    gc.collect()
    gc.freeze()  # what is measured is not how long it takes to look through the records
    for number in range(4 if quick else 10):
        # Who begins alternates, so that neither always finds the disk as the other left it.
        for mine in (True, False) if number % 2 else (False, True):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / 'experience.db'
                seconds = buffered(path, made) if mine else inserted(path, lines, speed.rows)
            if number:
                (speed.ours if mine else speed.bare).append(count / seconds)
    gc.unfreeze()
    return speed


def buffered(path: Path, made: list[Experience]) -> float:
    """Put all records; return the seconds until the last is acknowledged."""
    # No waiting for more to come at the end, and a queue that holds whatever comes.
    options = BufferOptions(gather_s=0.01, queue_records=len(made), queue_bytes=4 << 30)
    with ExperienceBuffer(path, options) as buffer:
        buffer.ask(lambda store: None).result()  # it is open
        begun = time.perf_counter()
        for record in made:
            receipt = buffer.put(record)
        receipt.result()  # they are stored in order
        seconds = time.perf_counter() - begun
        assert buffer.status().stored == len(made)
    return seconds


def inserted(path: Path, lines: list[bytes], rows: int) -> float:
    """Insert the same bytes; return the seconds until the last transaction is on the disk."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute('PRAGMA journal_mode=WAL')
    connection.execute('PRAGMA synchronous=FULL')
    connection.execute('CREATE TABLE record (body BLOB)')
    begun = time.perf_counter()
    for first in range(0, len(lines), rows):
        connection.execute('BEGIN')
        connection.executemany(
            'INSERT INTO record VALUES (?)', [(line,) for line in lines[first : first + rows]]
        )
        connection.execute('COMMIT')
    seconds = time.perf_counter() - begun
    connection.close()
    return seconds


def speed_table(speeds: list[Speed], quick: bool = False) -> str:
    """Return a row for each load; a quick run judges nothing."""
    lines = [
        'Experiences a second stored durably, beside bare inserts of the same bytes '
        '(median; least … greatest ratio of a round)',
        '',
        '| records of | bytes | count | rows at once | bare SQLite | ours | ratio | | wanted |',
        '|---|---:|---:|---:|---:|---:|---:|---|---|',
    ]
    for speed in speeds:
        reached = 'reached' if speed.ratio >= TARGET else 'MISSED'
        lines.append(
            f'| {speed.load} | {speed.bytes:,} | {speed.count:,} | {speed.rows:,} '
            f'| {statistics.median(speed.bare):,.0f} | {statistics.median(speed.ours):,.0f} '
            f'| {speed.ratio:.2f} | {speed.ratios[0]:.2f} … {speed.ratios[-1]:.2f} '
            f'| {TARGET}, {"too short to say" if quick else reached} |'
        )
    return '\n'.join(lines)


def measure_memory(backlog: int) -> list[dict]:
    """Return the peak of a process that keeps a buffer, by how much waits in its file."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (0, backlog):
            print(f'  a backlog of {count:,} …', file=sys.stderr, flush=True)
            path = Path(folder) / f'{count}.db'
            fill(path, count)
            begun = time.perf_counter()
            child = subprocess.run(
                [sys.executable, __file__, '--keep', str(path)],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            found.append(
                {
                    'backlog': count,
                    'file_mb': path.stat().st_size / 1e6,
                    'peak_mb': float(child.stdout),
                    'seconds': time.perf_counter() - begun,
                }
            )
    return found


def fill(path: Path, count: int) -> None:
    """Make a file with a backlog."""
    with ExperienceBuffer(path, BufferOptions(most_bytes=4 << 30)) as buffer:
        for record in records(LOADS[0], count):
            receipt = buffer.put(record)
            if record.situation.tick % 5000 == 4999:
                receipt.result()


def keep(path: Path) -> None:
    """Open a buffer, take what is to be uploaded next, and store some more: what a robot does."""
    with ExperienceBuffer(path) as buffer:
        pending = buffer.ask(lambda store: store.pending(1000, 1 << 20)).result()
        for record in records(LOADS[0], 1000, first=1 << 30):
            buffer.put(record)
        buffer.ask(lambda store: store.uploaded(pending, START_NS)).result()
    print(peak_mb())


def memory_table(found: list[dict]) -> str:
    """Return a row for each backlog."""
    lines = [
        'Peak memory of a process that opens a buffer, looks through its file, takes a batch and '
        'stores 1,000 more',
        '',
        '| backlog | file | peak | seconds |',
        '|---:|---:|---:|---:|',
    ]
    lines += [
        f'| {one["backlog"]:,} | {one["file_mb"]:,.0f} MB | {one["peak_mb"]:.0f} MB '
        f'| {one["seconds"]:.1f} |'
        for one in found
    ]
    return '\n'.join(lines)


if __name__ == '__main__':
    if sys.argv[1:2] == ['--keep']:
        keep(Path(sys.argv[2]))
    else:
        main()
