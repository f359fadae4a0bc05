# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Set-up does what is missing or changed, once, and says what went wrong."""

from __future__ import annotations

import importlib
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def scripts(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(checkout / 'scripts'))
    monkeypatch.setattr(sys, 'dont_write_bytecode', True)
    return checkout / 'scripts'


@pytest.fixture
def environment(scripts: Path) -> ModuleType:
    return importlib.import_module('setup_environment')


@pytest.fixture
def setup(environment, tmp_path):
    return environment.Setup(tmp_path / 'venv', 'jazzy', ('bags',))


def test_a_stage_is_done_once_and_again_when_its_inputs_change(setup):
    done = []

    def stage(inputs):
        setup.stage('packages', 'trial', inputs, lambda: done.append(inputs), lambda: True)

    for inputs in ('a', 'a', 'b', 'b', 'a'):
        stage(inputs)
    assert done == ['a', 'b', 'a']


def test_a_stage_is_repeated_when_its_result_is_gone(setup):
    done = []
    for intact in (True, True, False):
        setup.stage('packages', 'trial', 'x', lambda: done.append(1), lambda intact=intact: intact)
    assert len(done) == 2


def test_a_stage_that_failed_leaves_no_stamp(environment, setup):
    done = []

    def fail():
        raise environment.SetupError('no network')

    setup.stage('packages', 'trial', 'x', lambda: done.append(1), lambda: True)
    with pytest.raises(environment.SetupError):
        setup.stage('packages', 'trial', 'y', fail, lambda: True)
    setup.stage('packages', 'trial', 'x', lambda: done.append(1), lambda: True)
    assert len(done) == 2


def test_new_wheels_void_the_build(setup):
    done = []
    for name, inputs in (('ros', 1), ('build', 1), ('ros', 2), ('build', 1)):
        setup.stage(name, 'trial', inputs, lambda name=name: done.append(name), lambda: True)
    assert done == ['ros', 'build', 'ros', 'build']


def test_a_failing_command_shows_the_end_of_its_log_and_where_it_is(environment, setup):
    code = 'print(*range(100), sep="\\n"); raise SystemExit(3)'
    with pytest.raises(environment.SetupError) as error:
        setup.call('trial', [sys.executable, '-c', code])
    message = str(error.value)
    assert 'exit code 3' in message
    assert '| 99' in message
    assert '| 12\n' not in message
    assert str(setup.state / 'trial.log') in message


def test_somebody_elses_environment_is_not_removed(environment, setup):
    setup.venv.mkdir()
    (setup.venv / 'precious').write_text('')
    with pytest.raises(environment.SetupError, match='was not made by this set-up'):
        setup.make_venv()
    assert (setup.venv / 'precious').exists()


def test_children_see_nothing_of_a_sourced_ros(setup, monkeypatch):
    monkeypatch.setenv('PYTHONPATH', '/opt/ros/jazzy/lib/python3.12/site-packages')
    monkeypatch.setenv('AMENT_PREFIX_PATH', '/opt/ros/jazzy')
    variables = setup.environment()
    assert 'PYTHONPATH' not in variables
    assert 'AMENT_PREFIX_PATH' not in variables
    assert variables['PATH'].startswith(f'{setup.venv}/bin:')


def test_new_sources_are_linked_and_removed_ones_go(scripts, tmp_path):
    sources = importlib.import_module('sources')
    root, site_packages, share = tmp_path / 'checkout', tmp_path / 'site', tmp_path / 'share'
    module = root / 'thinking_policy' / 'room' / 'new.py'
    module.parent.mkdir(parents=True)
    module.write_text('')
    (root / 'config').mkdir()
    (root / 'config' / 'robot.yaml').write_text('')
    sources.link_sources(root, site_packages, share)
    link = site_packages / 'thinking_policy' / 'room' / 'new.py'
    assert link.resolve() == module
    assert (share / 'config' / 'robot.yaml').is_symlink()
    module.unlink()
    sources.link_sources(root, site_packages, share)
    assert not link.is_symlink()


def test_wheels_cmake_targets_get_the_include_folders_of_this_machine(scripts, tmp_path):
    import numpy as np

    built = '/opt/python/cp312-cp312'
    (tmp_path / 'a.cmake').write_text(
        f'set("{built}/include/python3.12;'
        f'{built}/lib/python3.12/site-packages/numpy/_core/include")'
    )
    ros_wheels = importlib.import_module('ros_wheels')
    for _ in range(2):
        ros_wheels.repair_cmake_targets(tmp_path, Path(sys.executable))
        assert (tmp_path / 'a.cmake').read_text() == (
            f'set("{sysconfig.get_path("include")};{np.get_include()}")'
        )


def test_requirements_come_from_setup_cfg_without_repeats(scripts):
    requirements = importlib.import_module('requirements')
    everything = requirements.read_requirements(tuple(requirements.read_extras()))
    assert len(everything) == len(set(everything))
    assert any(line.startswith('torch') for line in everything)
    assert not any(line.startswith('torch') for line in requirements.read_requirements(()))


@pytest.mark.parametrize(
    ('requirement', 'name'),
    [
        ('PyYAML >= 6.0', 'pyyaml'),
        ('ros-jazzy-rclpy', 'ros-jazzy-rclpy'),
        ('a_b.c[x]~=1', 'a-b-c'),
    ],
)
def test_a_requirement_is_known_by_its_normalised_name(scripts, requirement, name):
    assert importlib.import_module('requirements').distribution_name(requirement) == name
