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
    'fastapi',
    'httpx',
    'matplotlib',
    'numpy',
    'onnx',
    'onnxruntime',
    'prometheus_client',
    'pydantic',
    'rclpy',
    'rich',
    'rosbags',
    'scipy',
    'sklearn',
    'sqlite_utils',
    'tenacity',
    'torch',
    'typer',
    'uvicorn',
    'yaml',
}
NEVER_ON_A_ROBOT = {
    'faiss',
    'fastapi',
    'matplotlib',
    'onnx',
    'prometheus_client',
    'scipy',
    'sklearn',
    'torch',
    'uvicorn',
}


# What only the node that keeps experiences takes.
FOR_EXPERIENCES = {'httpx', 'pydantic', 'sqlite_utils', 'tenacity'}


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
    assert loaded & (NEVER_ON_A_ROBOT | FOR_EXPERIENCES | {'rosbags', 'rich', 'typer'}) == set()


@pytest.mark.parametrize('missing', ['httpx', 'tenacity'])
def test_without_a_server_the_experience_node_needs_no_network_client(tmp_path, missing):
    pytest.importorskip('rclpy')
    loaded = loaded_by(
        f'sys.modules[{missing!r}] = None  # as where the extra is not installed\n'
        'import rclpy\n'
        'from thinking_policy.ros.experience_node import ExperienceNode\n'
        f'rclpy.init(args=["--ros-args", "-p", "database_path:={tmp_path}/x.db"])\n'
        'node = ExperienceNode()\n'
        'node.start()\n'
        'assert node._loop is not None, "it records"\n'
        'node.close()'
    )
    assert {'rclpy', 'pydantic', 'sqlite_utils'} <= loaded
    assert loaded & (NEVER_ON_A_ROBOT | {'httpx', 'tenacity', 'onnxruntime', 'rich'}) <= {missing}


@pytest.mark.parametrize('missing', ['httpx', 'tenacity'])
def test_a_server_without_its_extra_is_refused_with_the_remedy(missing):
    code = (
        f'import sys\nsys.modules[{missing!r}] = None\n'
        'from thinking_policy.experience.link_options import LinkOptions\n'
        'LinkOptions()\n'
        'try:\n    LinkOptions("https://fleet")\n'
        'except Exception as error:\n    print(type(error).__name__, error)'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        f'ExperienceError url: {missing} is not installed, which a server needs; install the '
        "extra: pip install 'thinking_policy[fleet]'\n"
    )


def test_the_simulated_robot_loads_no_torch():
    pytest.importorskip('rclpy')
    loaded = loaded_by('import thinking_policy.ros.simulated_robot')
    assert loaded & (NEVER_ON_A_ROBOT | FOR_EXPERIENCES) == set()


def test_the_command_line_answers_without_loading_ros_or_torch():
    statement = (
        'sys.argv = ["thinking-policy", "--help"]\n'
        'import contextlib, io\n'
        'from thinking_policy.cli import main\n'
        'with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n'
        '    main()'
    )
    assert loaded_by(statement) & {'rclpy', 'torch', 'onnx', 'onnxruntime', 'rosbags'} == set()
