# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A small form of benchmarks/fuzz_bags.py: damaged files are read or refused, never worse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('rosbags')
pytest.importorskip('torch')  # one of the commands is `train`

SCRIPT = Path(__file__).parents[2] / 'benchmarks' / 'fuzz_bags.py'


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs fork')
def test_damaged_bags_and_configurations_are_read_or_refused(tmp_path):
    words = ['--count', '60', '--seed', '100', '--keep', str(tmp_path / 'failures')]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith('60 cases: ')
    assert 'read ' in done.stdout
    assert 'refused ' in done.stdout


def test_a_command_that_raises_or_runs_out_of_time_is_told_from_one_that_refuses(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import fuzz_bags

    assert fuzz_bags.verdict(0, 'fine') == 'read'
    assert fuzz_bags.verdict(2 << 8, 'thinking-policy: error: x: no such file') == 'refused'
    assert fuzz_bags.verdict(2 << 8, '') == 'silent, status 2'
    assert fuzz_bags.verdict(70 << 8, '') == 'traceback'
    assert fuzz_bags.verdict(0, 'Traceback (most recent call last)') == 'traceback'
    assert fuzz_bags.verdict(14, '') == 'too slow'
    assert fuzz_bags.verdict(0, 'fine', fuzz_bags.MEMORY_MB) == 'read'
    assert fuzz_bags.verdict(0, 'fine', fuzz_bags.MEMORY_MB + 1) == 'too large'
    assert fuzz_bags.verdict(9, '') == 'killed by SIGKILL'
