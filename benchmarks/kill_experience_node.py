#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Kills the experience node 200 times while it writes and looks into its file after each:

    .venv/bin/python benchmarks/kill_experience_node.py [--times 200] [--seed 1]

It is the suite's own test (test/ros/test_experience_kill.py), only more often. Ends with 1 where
an acknowledged record is missing, one is there twice, or the file doesn't open clean.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

TEST = Path(__file__).resolve().parent.parent / 'test' / 'ros' / 'test_experience_kill.py'


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--times', type=int, default=200, help='how often')
    parser.add_argument('--seed', type=int, default=1, help='of the moments at which it is killed')
    options = parser.parse_args()
    environment = {
        **os.environ,
        'THINKING_POLICY_KILLS': str(options.times),
        'THINKING_POLICY_SEED': str(options.seed),
    }
    return subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-s', '-p', 'no:cacheprovider', str(TEST)],
        env=environment,
        cwd=TEST.parents[2],
        check=False,
    ).returncode


if __name__ == '__main__':
    raise SystemExit(main())
