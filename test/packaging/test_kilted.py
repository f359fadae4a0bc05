# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing leans on one ROS release: messages and package build, and think, on Kilted too.

The environment stays in `build/kilted`, so that only the first run pays for it (1.5 minutes).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kilted, pytest.mark.slow, pytest.mark.timeout(1200)]

UNREACHABLE = re.compile(
    r'No matching distribution found|Temporary failure in name resolution|NewConnectionError'
    r'|ConnectTimeout|ReadTimeout|Network is unreachable|ConnectionResetError'
)
# Marks and paths of the environment that runs the tests; they would lead the other one astray.
OURS = ('_ROS_WHEELS_BOOTSTRAP_COMPLETE', 'LD_LIBRARY_PATH', 'PYTHONPATH', 'AMENT_PREFIX_PATH')

ANNOUNCED_HASHES = """
import importlib, json, rclpy, sys
rclpy.init()
node = rclpy.create_node('type_hashes')
hashes = {}
for name in sys.argv[1:]:
    message_type = getattr(importlib.import_module('thinking_policy.msg'), name)
    publisher = node.create_publisher(message_type, '/frozen/' + name, 1)
    (endpoint,) = node.get_publishers_info_by_topic('/frozen/' + name)
    hashes[name] = str(endpoint.topic_type_hash)
print(json.dumps(hashes))
"""


@pytest.fixture(scope='module')
def kilted(checkout: Path) -> Path:
    """Return the folder of executables of an environment with ROS 2 Kilted."""
    venv = checkout / 'build' / 'kilted'
    done = subprocess.run(
        [
            checkout / 'scripts' / 'setup.sh',
            '--distro',
            'kilted',
            '--venv',
            venv,
            '--extras',
            'none',
        ],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip(f'KILTED WAS NOT TRIED, its wheels cannot be had here:\n{done.stderr}')
    assert done.returncode == 0, done.stderr
    return venv / 'bin'


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in OURS}


def test_messages_have_the_frozen_type_hashes_there_too(kilted):
    frozen = json.loads((Path(__file__).parent / 'type_hashes.json').read_text())
    done = subprocess.run(
        [kilted / 'python', '-c', ANNOUNCED_HASHES, *frozen],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == frozen


def test_a_simulated_robot_thinks_there_too(kilted):
    done = subprocess.run(
        [kilted / 'thinking-policy', 'run', '--duration', '6', '--json'],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert messages, done.stderr
    assert all(0 <= one['probability'] <= 1 for one in messages[-1]['activations'])
