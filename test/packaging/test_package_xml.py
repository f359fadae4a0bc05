# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What ROS reads: a manifest that does not validate is built as plain Python, silently."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest
from catkin_pkg.package import Package, parse_package

import thinking_policy

# What pip calls it: its rosdep key. `-pip` keys have no Debian package.
ROSDEP_KEYS = {
    'cryptography': 'python3-cryptography',
    'numpy': 'python3-numpy',
    'onnxruntime': 'python3-onnxruntime-pip',
    'pydantic': 'python3-pydantic',
    'PyYAML': 'python3-yaml',
    'rich': 'python3-rich',
    'typer': 'python3-typer',
}
NO_ROSDEP_KEY = {'sqlite-utils'}  # docs/install.md has pip install it


@pytest.fixture(scope='module')
def package(checkout: Path) -> Package:
    return parse_package(str(checkout / 'package.xml'))


def test_the_manifest_validates_without_a_warning(package):
    warnings: list[str] = []
    package.validate(warnings)
    assert warnings == []


def test_colcon_sees_an_ament_cmake_package(checkout):
    colcon = Path(sys.executable).parent / 'colcon'
    if not colcon.exists():
        pytest.skip('colcon is not installed')
    listed = subprocess.run(
        [colcon, '--log-base', '/dev/null', 'list', '--base-paths', checkout],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r'thinking_policy\t\S+\t\(ros\.ament_cmake\)\n', listed.stdout)


def test_the_version_is_the_same_everywhere(package):
    assert package.version == thinking_policy.__version__


def test_what_pip_requires_rosdep_installs_too(checkout, package):
    setup = configparser.ConfigParser()
    setup.read(checkout / 'setup.cfg')
    required = {
        re.split(r'[\s<>=!~;\[]', line, maxsplit=1)[0]
        for line in setup['options']['install_requires'].split('\n')
        if line
    }
    assert required == set(ROSDEP_KEYS) | NO_ROSDEP_KEY
    keys = {depend.name for depend in package.exec_depends}
    assert set(ROSDEP_KEYS.values()) <= keys


def test_every_ros_package_that_the_code_imports_is_declared(checkout, package):
    declared = {depend.name for depend in [*package.exec_depends, *package.build_depends]}
    declared |= {package.name}
    ros = re.compile(
        r'^\s*(?:from|import) (rclpy|ament_index_python|builtin_interfaces|rcl_interfaces'
        r'|rosidl_runtime_py|rosidl_parser|launch|launch_ros|lifecycle|\w+_msgs|std_srvs)\b',
        re.M,
    )
    sources = [*(checkout / 'thinking_policy').rglob('*.py'), *(checkout / 'launch').rglob('*.py')]
    imported = {name for path in sources for name in ros.findall(path.read_text())}
    assert imported - declared == set()
