# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A backlog of experiences sent by a robot's process to a server's, as `buffer.py` measures it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

COMMAND = 'import sys; from thinking_policy.cli import main; sys.exit(main(sys.argv[1:]))'
TENANT, ROBOT = 'benchmark', 'robot_1'


def measure_upload(fill: Callable[[Path], None], backlog: int) -> dict:
    """Return records a second from one process to the other, and the peak memory of both.

    Args:
        fill: Makes the robot's file with its backlog.
        backlog: How many records that are.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f'  a backlog of {backlog:,} to a server …', file=sys.stderr, flush=True)
        fill(folder / 'robot.db')
        token = run(
            'token', 'new', '--tenant', TENANT, '--robot', ROBOT, '--db', folder / 'server.db'
        )
        words = ['serve', '--port', '0', '--db', folder / 'server.db']
        with subprocess.Popen(
            [sys.executable, '-c', COMMAND, *words], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                address = server.stdout.readline().split(': serving')[0]
                sender = subprocess.run(
                    [sys.executable, __file__, folder / 'robot.db', address],
                    env=os.environ | {'THINKING_POLICY_TOKEN': token},
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                seconds, robot_mb = map(float, sender.stdout.split())
                server_mb = peak_mb(server.pid)
            finally:
                server.terminate()
        with sqlite3.connect(folder / 'server.db') as connection:
            (stored,) = connection.execute('SELECT COUNT(*) FROM record').fetchone()
        connection.close()
        assert stored == backlog, f'{stored} of {backlog} have arrived'
    return {
        'backlog': backlog,
        'seconds': seconds,
        'records_per_s': backlog / seconds,
        'robot_mb': robot_mb,
        'server_mb': server_mb,
    }


def run(*words: object) -> str:
    """Run the command; return what it prints."""
    done = subprocess.run(
        [sys.executable, '-c', COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def peak_mb(pid: int | str = 'self') -> float:
    """Return the most memory that a process has had, as the kernel says."""
    for line in Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('VmHWM'):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError(f'process {pid}: the kernel says nothing of its memory')


def send(path: Path, address: str) -> None:
    """Send everything that a file holds; print the seconds and the peak memory."""
    from thinking_policy.experience.buffer import ExperienceBuffer
    from thinking_policy.experience.link_options import LinkOptions
    from thinking_policy.experience.server_link import ServerLink
    from thinking_policy.experience.uplink import Uplink

    with ExperienceBuffer(path) as buffer:
        buffer.ask(lambda store: None).result()
        begun = time.perf_counter()
        with Uplink(buffer.ask, ServerLink(LinkOptions(url=address)), robot=ROBOT) as uplink:
            uplink.start()
            while buffer.ask(lambda store: store.pending(1, 1)).result():
                time.sleep(0.05)
                status = uplink.status()
                assert status.state != 'refused', status.reason
                assert not status.quarantined, 'the server has refused a record'
        print(time.perf_counter() - begun, peak_mb())


def upload_table(found: dict) -> str:
    """Return what was measured as a table."""
    return '\n'.join(
        [
            'A backlog sent to a server process on loopback, until all of it is committed there',
            '',
            '| backlog | seconds | records a second | peak of the robot | of the server |',
            '|---:|---:|---:|---:|---:|',
            f'| {found["backlog"]:,} | {found["seconds"]:.1f} | {found["records_per_s"]:,.0f} '
            f'| {found["robot_mb"]:.0f} MB | {found["server_mb"]:.0f} MB |',
        ]
    )


if __name__ == '__main__':
    send(Path(sys.argv[1]), sys.argv[2])
