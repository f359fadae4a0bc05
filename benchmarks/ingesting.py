# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How fast a server takes experiences in, and what memory that takes: a real one, as a process.

python benchmarks/ingesting.py --records 100000 --robots 2
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
from machine import heading, machine

from thinking_policy.experience.record import (
    Experience,
    StoredSituation,
    time_ordered_id,
    to_line,
)
from thinking_policy.server.database import ServerDatabase
from thinking_policy.server.tokens import Role, new_token

LENGTH, SIGNALS = 10, 7  # of the bundled policy's window
IN_A_BATCH = 500
STARTS_S = 30.0
_SERVE = 'import sys; from thinking_policy.cli import main; sys.exit(main())'


@contextmanager
def running_server(database: Path) -> Iterator[tuple[str, int]]:
    """Run `thinking-policy serve` on a free port; yield its address and process id."""
    process = subprocess.Popen(
        [sys.executable, '-c', _SERVE, 'serve', '--port', '0', '--db', str(database)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], STARTS_S)[0]:
            raise RuntimeError(f'no server within {STARTS_S:g} s')
        yield process.stdout.readline().partition(': ')[0], process.pid
    finally:
        process.terminate()
        process.wait(10)


def batches(first: int, stop: int) -> Iterator[bytes]:
    """Yield packed bodies of experiences by number, each with a window of its own."""
    numbers = np.random.default_rng(first)
    for begin in range(first, stop, IN_A_BATCH):
        lines = [_line(k, numbers) for k in range(begin, min(begin + IN_A_BATCH, stop))]
        yield gzip.compress(b''.join(line + b'\n' for line in lines), 6, mtime=0)


def upload(url: str, token: str, bodies: list[bytes]) -> int:
    """Send bodies one after the other; return how many records were new."""
    headers = {
        'Authorization': f'Bearer {token}',
        'Content-Type': 'application/x-ndjson',
        'Content-Encoding': 'gzip',
    }
    accepted = 0
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        for body in bodies:
            accepted += (
                client.post('/v1/experiences', content=body).raise_for_status().json()['accepted']
            )
    return accepted


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has held, in MB."""
    status = Path(f'/proc/{pid}/status').read_text()
    return int(status.partition('VmHWM:')[2].split()[0]) / 1000


def measure(records: int, robots: int) -> dict[str, float]:
    """Upload a backlog twice: as new records, and as known ones, where every answer was lost."""
    share = -(-records // robots)
    bodies = [list(batches(k * share, min((k + 1) * share, records))) for k in range(robots)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'server.db'
        with ServerDatabase(path) as database, database.writing() as writer:
            token = new_token(writer, 'benchmark', None, Role.ROBOT, time.time_ns())[1]
        with running_server(path) as (url, pid):
            idle = peak_mb(pid)
            new_s = _seconds(url, token, bodies, records)
            known_s = _seconds(url, token, bodies, 0)
            return {
                'records': records,
                'robots': robots,
                'sent_bytes_a_record': sum(len(b) for part in bodies for b in part) / records,
                'new_per_s': records / new_s,
                'known_per_s': records / known_s,
                'idle_mb': idle,
                'peak_mb': peak_mb(pid),
                'file_mb': path.stat().st_size / 1e6,
            }


def _seconds(url: str, token: str, bodies: list[list[bytes]], expected: int) -> float:
    accepted = [0] * len(bodies)

    def send(k: int) -> None:
        accepted[k] = upload(url, token, bodies[k])

    threads = [threading.Thread(target=send, args=(k,)) for k in range(len(bodies))]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if sum(accepted) != expected:
        raise RuntimeError(f'expected {expected} new records, found {sum(accepted)}')
    return seconds


def _line(number: int, numbers: np.random.Generator) -> bytes:
    window = numbers.random((LENGTH, SIGNALS), np.float32).astype('<f4')
    stamp_ns = 1_766_000_000_000_000_000 + number * 500_000_000
    return to_line(
        Experience(
            id=time_ordered_id(stamp_ns, number.to_bytes(10, 'big')),
            robot='benchmark',
            reasons=('sample',),
            policy_version='0123456789abcdef',
            situation=StoredSituation(
                stamp_ns=stamp_ns,
                tick=number,
                episode='benchmark',
                period_s=0.5,
                signals=tuple(f'signal_{k}' for k in range(SIGNALS)),
                length=LENGTH,
                window=base64.b64encode(window.tobytes()).decode(),
                valid=base64.b64encode(np.packbits(np.ones(window.shape, bool))).decode(),
            ),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--records', type=int, default=100_000)
    parser.add_argument('--robots', type=int, default=2, help='that upload at a time')
    parser.add_argument('--json', action='store_true')
    given = parser.parse_args()
    found = measure(given.records, given.robots)
    if given.json:
        print(json.dumps({'machine': machine(), **found}))
        return
    print(heading(machine()))
    print(f'{found["records"]:,} records from {given.robots} robots at a time')
    print(f'  new:   {found["new_per_s"]:,.0f}/s, each batch of {IN_A_BATCH} synced to the disk')
    print(f'  known: {found["known_per_s"]:,.0f}/s, as after lost answers')
    print(f'  sent:  {found["sent_bytes_a_record"]:,.0f} bytes a record, packed')
    print(f'  server: {found["idle_mb"]:.0f} MB idle, {found["peak_mb"]:.0f} MB at most')
    print(f'  file:  {found["file_mb"]:,.0f} MB')


if __name__ == '__main__':
    main()
