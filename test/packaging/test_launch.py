# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The launch file through the real launch API, where ROS 2 brings it (the wheels do not)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# Not `launch`: a checkout's folder of that name would do.
pytest.importorskip('launch_ros', reason='the package launch_ros is not installed here')
rclpy = pytest.importorskip('rclpy')

PATIENCE_S = 30.0
ARGUMENTS = (
    'params_file', 'policy', 'experience', 'experience_file', 'namespace', 'robot_id',
    'use_sim_time', 'log_level',
)  # fmt: skip

LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *arguments = sys.argv[1:]
service = LaunchService(argv=arguments)
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(path),
    launch_arguments=[tuple(one.split(':=', 1)) for one in arguments])]))
sys.exit(service.run())
"""


@pytest.fixture
def launch_file(checkout: Path) -> Path:
    return checkout / 'launch' / 'policy.launch.py'


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let launch find the package as a sourced workspace would."""
    others = os.environ.get('AMENT_PREFIX_PATH', '')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{sys.prefix}{os.pathsep}{others}')
    monkeypatch.setenv('RCUTILS_LOGGING_BUFFERED_STREAM', '0')


@pytest.fixture
def node() -> Iterator[object]:
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('launch_observer', context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_every_argument_is_declared_and_described(launch_file, environment):
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    description = get_launch_description_from_python_launch_file(str(launch_file))
    described = {
        argument.name: argument.description for argument in description.get_launch_arguments()
    }
    assert set(ARGUMENTS) <= set(described)
    assert all(len(text) > 10 and text != 'no description given' for text in described.values())


def test_launched_in_a_namespace_it_thinks_and_ends_on_one_interrupt(
    launch_file,
    environment,
    node,
    tmp_path,
):
    from rclpy.executors import SingleThreadedExecutor

    from thinking_policy.msg import ThinkingActivations

    heard: list[ThinkingActivations] = []
    node.create_subscription(ThinkingActivations, '/alpha/thinking/activations', heard.append, 10)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    log = tmp_path / 'launch.log'
    with log.open('w') as output:
        launched = subprocess.Popen(
            [sys.executable, '-c', LAUNCH, launch_file, 'namespace:=alpha', 'robot_id:=r1'],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not heard and launched.poll() is None and time.monotonic() < deadline:
                executor.spin_once(timeout_sec=0.1)
            assert heard, log.read_text()
            assert heard[0].episode.startswith('r1-')
            # As a terminal does: to launch and to the node, and launch passes it on once more.
            os.killpg(launched.pid, signal.SIGINT)
            launched.wait(timeout=PATIENCE_S)
        finally:
            if launched.poll() is None:
                os.killpg(launched.pid, signal.SIGKILL)
    said = log.read_text()
    assert 'Traceback' not in said
    assert 'process has finished cleanly' in said, said


def test_a_parameter_file_that_is_not_there_stops_the_launch(launch_file, environment, tmp_path):
    done = subprocess.run(
        [sys.executable, '-c', LAUNCH, launch_file, f'params_file:={tmp_path}/none.yaml'],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert f'{tmp_path}/none.yaml: no such file' in done.stdout + done.stderr
