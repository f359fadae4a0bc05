# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The experience node is killed while it writes: what it acknowledged is in the file, once.

`benchmarks/kill_experience_node.py` does it 200 times; the suite does it less often.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import time

import pytest
from experience_robot import PERIOD_S, SECOND

TIMES = int(os.environ.get('THINKING_POLICY_KILLS', '20'))
SEED = int(os.environ.get('THINKING_POLICY_SEED', '1'))
_STORED = re.compile(r'\[DEBUG\] \[[\d.]+\] \[[\w.]+\]: stored ([0-9a-f-]{36}) (\d+)\n')


def acknowledged(output):
    """Return id and revision of each record that the node said it has stored."""
    return [(name, int(revision)) for name, revision in _STORED.findall(output)]


def live(robot, until_s, episode):
    """Publish ticks and feedback to them, all of which are recorded, for a while."""
    deadline = time.monotonic() + until_s
    number = 0
    while time.monotonic() < deadline:
        is_odd = round(robot.next_ns / SECOND / PERIOD_S) % 2
        stamp = robot.tick(active=('trend',) if is_odd else ('hazard',), episode=episode)
        if number % 3 == 0:
            robot.give_feedback(stamp, episode=episode, kind=1, code=str(number))
        robot.observer.listen(0.003)
        number += 1


def check(database, said):
    """Hold the file as it lies there against what was said; return how many records it has."""
    connection = sqlite3.connect(database, isolation_level=None)
    try:
        assert connection.execute('PRAGMA integrity_check').fetchone()[0] == 'ok'
        rows = connection.execute('SELECT id, revision FROM record').fetchall()
    finally:
        connection.close()
    assert len(rows) == len(set(rows)), 'a record is there twice'
    missing = set(said) - set(rows)
    assert not missing, f'acknowledged, but not stored: {missing}'
    return len(rows)


@pytest.mark.slow
@pytest.mark.timeout(60 + 10 * TIMES)
def test_what_was_acknowledged_is_in_the_file_after_a_kill(start_experience, tmp_path):
    pick = random.Random(SEED)
    database, said, count = tmp_path / 'experiences.db', [], 0
    in_flight = 0
    for number in range(TIMES):
        robot = start_experience(
            database=database,
            name=f'/killed{number}',
            robot_id='killed',
            arguments=['--log-level', f'killed{number}.thinking_experience:=debug'],
            recording={'most_per_minute': 100_000.0},
            buffer={'gather_s': pick.choice([0.0, 0.01, 0.05])},
        )
        live(robot, pick.uniform(0.05, 0.8), f'e{number}')
        robot.process.send(signal.SIGKILL)
        robot.process.wait()
        assert 'corrupt' not in robot.output
        before, news = count, acknowledged(robot.output)
        assert len(news) == len(set(news))
        said += news
        count = check(database, said)
        in_flight += count - before - len(news)  # stored, and killed before it was said
        assert not list(tmp_path.glob('experiences.db.corrupt-*'))
    assert len(said) > 10 * TIMES
    print(f'{TIMES} kills: {len(said)} acknowledged, {count} stored, {in_flight} unsaid')
