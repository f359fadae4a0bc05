# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Real nodes as processes over real DDS, in a ROS domain of this test process's own."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import sys
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))  # for the modules beside; pytest's importlib mode doesn't look here

# The rooms without ROS are tested on machines without it.
collect_ignore_glob = [] if importlib.util.find_spec('rclpy') else ['test_*.py']

_numbers = itertools.count(1)
_running: list = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.sections += [
            (f'what {process.name} said', process.output[-6000:]) for process in _running
        ]
    return report


@pytest.fixture(scope='session')
def ros_context():
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    with pytest.MonkeyPatch.context() as patch:  # for Fast DDS, in this process and its nodes
        patch.setenv('FASTRTPS_DEFAULT_PROFILES_FILE', str(HERE / 'quick_discovery.xml'))
        context = rclpy.Context()
        rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
        yield context
        context.try_shutdown()


@pytest.fixture
def observer(ros_context):
    from observer import Observer

    result = Observer(ros_context, f'observer{next(_numbers)}')
    yield result
    result.close()


@contextlib.contextmanager
def _starting():
    """Give a function that starts a node; end all of them afterwards."""
    from node_processes import NodeProcess

    started = []

    def start(module, arguments, folder, environment=None):
        process = NodeProcess(module, arguments, folder, environment)
        started.append(process)
        _running.append(process)
        return process

    try:
        yield start
    finally:
        for process in started:
            process.stop()
            _running.remove(process)


@pytest.fixture
def start_node():
    """Return a function (module, ROS arguments, folder) → NodeProcess."""
    with _starting() as start:
        yield start


@pytest.fixture
def namespace():
    """Return a namespace that no other test uses."""
    return f'/robot{next(_numbers)}'


@pytest.fixture
def params_file(tmp_path):
    """Return a function that writes parameters for the policy node: quick, with one signal."""
    from policy_files import write_policy
    from robot import TICK_S, signal

    def write(signals=None, **parameters):
        signals = {'temperature': signal()} if signals is None else signals
        length = parameters.setdefault('window_length', 3)
        if 'policy_path' not in parameters:
            path = tmp_path / f'policy{next(_numbers)}.onnx'
            parameters['policy_path'] = str(
                write_policy(path, signals=tuple(signals), length=length)
            )
        values = {
            'signal_names': list(signals),
            'signals': signals,
            'tick_period_s': TICK_S,
            'diagnostics_period_s': 0.1,
            'grace_period_s': 0.5,
            'minimum_hold_s': 0.0,
            'state_path': 'off',
            **parameters,
        }
        path = tmp_path / f'robot{next(_numbers)}.yaml'
        path.write_text(yaml.safe_dump({'/**': {'ros__parameters': values}}))
        return path

    return write


@pytest.fixture
def start_robot(observer, start_node, params_file, namespace, tmp_path):
    """Return a function that starts a policy node with some parameters and listens to it."""
    from robot import Robot

    def start(signals=None, *, active=True, name=namespace, arguments=(), file=None, **parameters):
        file = params_file(signals, **parameters) if file is None else file
        ros_arguments = ['--params-file', str(file), '-r', f'__ns:={name or "/"}', *arguments]
        robot = Robot(observer, name, start_node('policy_node', ros_arguments, tmp_path))
        if active:
            robot.wait_until_active()
        return robot

    return start


@pytest.fixture
def start_experience(observer, start_node, namespace, tmp_path):
    """Return a function that starts an experience node, quick, and hears it."""
    from experience_robot import ExperienceRobot

    def start(
        *, active=True, name=namespace, database=None, arguments=(), environment=None, **parameters
    ):
        database = tmp_path / f'{name.strip("/")}.db' if database is None else database
        values = {
            'database_path': str(database),
            'drain_period_s': 0.02,
            'diagnostics_period_s': 0.1,
            **parameters,
        }
        values['buffer'] = {'gather_s': 0.02, 'busy_s': 0.2, **parameters.get('buffer', {})}
        values['recording'] = {'sample_s': 0.0, **parameters.get('recording', {})}
        file = tmp_path / f'experience{next(_numbers)}.yaml'
        file.write_text(yaml.safe_dump({'/**': {'ros__parameters': values}}))
        ros_arguments = ['--params-file', str(file), '-r', f'__ns:={name or "/"}', *arguments]
        process = start_node('experience_node', ros_arguments, tmp_path, environment)
        robot = ExperienceRobot(observer, name, process, database)
        if active:
            robot.wait_until_heard()
        return robot

    return start
