# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""That benchmarks/buffer.py measures what it says; not how fast anything is."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / 'benchmarks'


@pytest.fixture(scope='module')
def benchmark():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import buffer

        yield buffer
    finally:
        sys.path.remove(str(BENCHMARKS))


def bodies(path):
    with sqlite3.connect(path) as connection:
        found = [bytes(body) for (body,) in connection.execute('SELECT body FROM record')]
    connection.close()
    return found


def test_both_sides_store_the_same_bytes(benchmark, tmp_path):
    made = list(benchmark.records(benchmark.LOADS[0], 40))
    lines = [benchmark.to_line(record) for record in made]
    assert len(set(lines)) == 40
    benchmark.buffered(tmp_path / 'ours.db', made)
    benchmark.inserted(tmp_path / 'bare.db', lines, rows=15)
    assert bodies(tmp_path / 'ours.db') == bodies(tmp_path / 'bare.db') == lines


def test_what_is_missed_is_said(benchmark):
    speed = benchmark.Speed('a load', 10, 100, 5, [1.0, 3.0, 2.0], [4.0, 4.0, 4.0])
    assert speed.ratios == [0.25, 0.5, 0.75]
    assert '| 0.50 | 0.25 … 0.75 | 0.5, reached |' in benchmark.speed_table([speed])
    speed.ours = [1.0, 1.0, 1.0]
    assert '| 0.5, MISSED |' in benchmark.speed_table([speed])
    assert 'too short to say' in benchmark.speed_table([speed], quick=True)


def test_the_peak_is_that_of_the_process(benchmark):
    assert 10.0 < benchmark.peak_mb() < 10_000.0
