# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A smaller form of benchmarks/kill_uploading.py: robot and server die while they upload."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('uvicorn')
pytest.importorskip('fastapi')

SCRIPT = Path(__file__).parents[3] / 'benchmarks' / 'kill_uploading.py'
KILLS = int(os.environ.get('THINKING_POLICY_KILLS', '60'))


@pytest.mark.slow
@pytest.mark.timeout(60 + 10 * KILLS)
def test_whoever_is_killed_whenever_nothing_is_lost_and_nothing_counts_twice(tmp_path):
    words = ['--kills', str(KILLS), '--seed', '1', '--keep', str(tmp_path / 'failed')]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f'{KILLS} kills (')


def test_a_loss_a_duplicate_or_a_wrong_mark_would_be_seen(tmp_path, monkeypatch):
    import sqlite3
    from types import SimpleNamespace

    monkeypatch.syspath_prepend(SCRIPT.parent)
    import kill_uploading

    def make(name, records):
        with sqlite3.connect(tmp_path / name) as database:
            database.execute('CREATE TABLE record (id, revision, body, uploaded_ns, quarantined)')
            database.execute('CREATE TABLE counter (name, value)')
            database.executemany('INSERT INTO record VALUES (?, 0, ?, ?, NULL)', records)
        database.close()
        return tmp_path / name

    (tmp_path / 'acknowledged.txt').write_text('a 0\nb 0\nlost 0\n')
    both = SimpleNamespace(
        folder=tmp_path,
        robot_db=make('robot.db', [('a', b'1', 1), ('b', b'2', 1), ('c', b'3', 1)]),
        server_db=make('server.db', [('a', b'1', 1), ('b', b'other', 1), ('a', b'1', 1)]),
    )
    figures = kill_uploading.Figures()
    kill_uploading.count(both, figures)
    kill_uploading.check_uploaded(both, figures)
    assert figures.faults == [
        '1 acknowledged, not stored',
        '1 stored, not received',
        'received with another content',
        '1 duplicates',
        '1 held for uploaded that the server does not have',
    ]
