# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What comes along when a room is imported: a robot must not load what it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    'cryptography',
    'faiss',
    'httpx',
    'matplotlib',
    'numpy',
    'onnx',
    'onnxruntime',
    'pydantic',
    'rclpy',
    'rich',
    'rosbags',
    'scipy',
    'sklearn',
    'torch',
    'typer',
    'yaml',
}
NEVER_ON_A_ROBOT = {'faiss', 'matplotlib', 'onnx', 'pydantic', 'scipy', 'sklearn', 'torch'}


def loaded_by(statement: str) -> set[str]:
    """Return the heavy packages that a fresh interpreter holds after `statement`."""
    code = f'import sys\n{statement}\nprint(*sorted(set(sys.modules) & {HEAVY!r}))'
    done = subprocess.run(
        [sys.executable, '-c', code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_heavy():
    assert loaded_by('import thinking_policy') == set()


def test_perceiving_needs_numpy_and_yaml_only():
    assert loaded_by('import thinking_policy.situation') <= {'numpy', 'yaml'}


def test_judging_needs_onnx_runtime_besides():
    assert loaded_by('import thinking_policy.policy.runtime') <= {'numpy', 'yaml', 'onnxruntime'}


def test_the_node_loads_nothing_that_a_robot_lacks():
    pytest.importorskip('rclpy')
    loaded = loaded_by(
        'import rclpy\n'
        'from thinking_policy.ros.policy_node import PolicyNode\n'
        'rclpy.init()\n'
        'node = PolicyNode()\n'
        'node.start()  # configured and active: policy loaded, topics subscribed\n'
        'node.close()'
    )
    assert {'rclpy', 'onnxruntime'} <= loaded
    assert loaded & (NEVER_ON_A_ROBOT | {'rosbags', 'rich', 'typer'}) == set()


def test_the_simulated_robot_loads_no_torch():
    pytest.importorskip('rclpy')
    assert loaded_by('import thinking_policy.ros.simulated_robot') & NEVER_ON_A_ROBOT == set()


def test_the_command_line_answers_without_loading_ros_or_torch():
    statement = (
        'sys.argv = ["thinking-policy", "--help"]\n'
        'import contextlib, io\n'
        'from thinking_policy.cli import main\n'
        'with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n'
        '    main()'
    )
    assert loaded_by(statement) & {'rclpy', 'torch', 'onnx', 'onnxruntime', 'rosbags'} == set()
