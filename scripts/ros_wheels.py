# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The wheels that bring ROS 2 to a machine without it, and the repair that they need."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from reporting import SetupError

# rclpy pulls no RMW of its own. `std-msgs` and the like are interfaces of the nodes.
RUNTIME_WHEELS = """
    rclpy rmw-fastrtps-cpp std-msgs std-srvs sensor-msgs geometry-msgs nav-msgs diagnostic-msgs
    lifecycle-msgs rosgraph-msgs
""".split()
BUILD_WHEELS = """
    ament-cmake ament-cmake-python ament-cmake-pytest ament-package
    ament-cmake-export-dependencies ament-cmake-export-include-directories
    ament-cmake-export-interfaces ament-cmake-export-link-flags ament-cmake-export-targets
    ament-cmake-include-directories ament-cmake-gen-version-h ament-cmake-gtest ament-cmake-gmock
    ament-cmake-ros rosidl-default-generators rosidl-core-generators
    rosidl-typesupport-introspection-c rosidl-typesupport-introspection-cpp
    rosidl-typesupport-fastrtps-c rosidl-typesupport-fastrtps-cpp
""".split()
BUILD_WHEELS_OF_DISTRO = {
    'jazzy': ('python-cmake-module', 'domain-coordinator'),  # the latter for the tests
    'kilted': ('ament-cmake-ros-core',),
}


def ros_wheels(distro: str) -> list[str]:
    """Return the names of the wheels that make `distro` run and build messages."""
    names = (*RUNTIME_WHEELS, *BUILD_WHEELS, *BUILD_WHEELS_OF_DISTRO[distro])
    return [f'ros-{distro}-{name}' for name in names] + ['colcon-common-extensions']


def repair_cmake_targets(share: Path, python: Path) -> None:
    """Make the wheels' exported CMake targets name this machine's include folders.

    They were exported with those of the machine that built the wheels; CMake refuses targets
    whose include folders do not exist.
    """
    code = (
        'import numpy, sysconfig; print(sysconfig.get_path("include")); print(numpy.get_include())'
    )
    result = subprocess.run([python, '-c', code], capture_output=True, text=True, check=False)
    if result.returncode:
        raise SetupError(f'numpy of the new environment does not import:\n{result.stderr}')
    python_include, numpy_include = result.stdout.split('\n')[:2]
    built_with = r'/opt/python/cp3\d+-cp3\d+/'
    numpy_folder = re.compile(built_with + r'lib/python3\.\d+/site-packages/numpy/_?core/include')
    python_folder = re.compile(built_with + r'include/python3\.\d+')
    for path in share.rglob('*.cmake'):
        text = path.read_text()
        repaired = numpy_folder.sub(lambda _: numpy_include, text)
        repaired = python_folder.sub(lambda _: python_include, repaired)
        if repaired != text:
            path.write_text(repaired)
