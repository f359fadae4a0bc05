# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""That benchmarks/bags.py measures what it says; not how fast anything is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip('rosbags')
BENCHMARKS = Path(__file__).parents[2] / 'benchmarks'


@pytest.fixture(scope='module')
def bags():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import bags

        yield bags
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_both_sides_read_the_same_messages_of_every_kind_of_bag(bags, tmp_path):
    for number, kind in enumerate(bags.KINDS):
        load = bags.LOADS[-1]
        folder = tmp_path / str(number)
        folder.mkdir()
        found = bags.measure_speed(bags.write_bag(folder, kind, load, 40), kind, load, rounds=2)
        # 0.2 s of Imu at 200 Hz, Temperature at 100, a scan at 10, joints at 50.
        assert found.messages == 40 + 20 + 2 + 10
        assert len(found.ours) == len(found.bare) == 2
        assert found.ratios == sorted(found.ratios)


def test_what_is_missed_is_said(bags):
    speed = bags.Speed('Imu', 'mcap', 10, [3.0, 1.0, 2.0], [2.0, 2.0, 2.0], 1.1)
    assert speed.ratio == 1.0
    assert '| 1.00 | 0.50 … 1.50 | 1.1, MISSED |' in bags.speed_table([speed])


def test_a_quick_run_judges_no_target(bags):
    fast = bags.Speed('Imu', 'mcap', 10, [3.0], [1.0], 1.0)
    assert '| 1.0, reached |' in bags.speed_table([fast])
    assert '| 1.0, too short to say |' in bags.speed_table([fast], quick=True)


def test_the_peak_of_a_replay_is_that_of_a_process_of_its_own(bags, tmp_path):
    bag, config = bags.write_large_bag(tmp_path, 'mcap', 3e6)
    ballast = bytearray(b'1') * 600_000_000  # of this process, not of that one
    found = bags.run_apart(bag, config)
    assert len(ballast) > 500e6
    assert 'situations of 10 x 3' in found['said']
    assert 20 < found['peak_mb'] < 500


def test_a_bag_that_does_not_fit_is_refused_before_it_is_written(bags):
    with pytest.raises(SystemExit, match='MB are free, 2,500,000,000,000 are needed'):
        bags.check_disk(1e12)
