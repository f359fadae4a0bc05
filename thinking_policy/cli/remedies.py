# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What to do where something is not installed."""

from __future__ import annotations

import os

EXTRA_OF = {
    'rosbags': 'bags',
    'mcap': 'bags',
    'zstandard': 'bags',
    'lz4': 'bags',
    'jinja2': 'bags',
    'pyarrow': 'parquet',
    'httpx': 'fleet',
    'tenacity': 'fleet',
    'fastapi': 'server',
    'starlette': 'server',
    'uvicorn': 'server',
    'prometheus_client': 'server',
    'torch': 'train',
    'onnx': 'train',
    'matplotlib': 'plots',
    'faiss': 'experiments',
    'sklearn': 'experiments',
}

# Where a package to install is called otherwise than the module to import.
DISTRIBUTION_OF = {
    'faiss': 'faiss-cpu',
    'sklearn': 'scikit-learn',
    'prometheus_client': 'prometheus-client',
}

ROS_REMEDY = (
    'on a machine with ROS 2: source /opt/ros/<distro>/setup.bash and install/setup.bash; '
    'elsewhere: `make setup` in a checkout, then .venv/bin/thinking-policy'
)
MESSAGES_REMEDY = (
    'build them: `colcon build --packages-select thinking_policy` and source '
    'install/setup.bash; without ROS 2: `make setup` in a checkout'
)


def remedy_for_import(error: ImportError) -> str | None:
    """Return one line that says what is missing and how to get it.

    Returns:
        None where the import is not one that an extra, ROS 2 or the build brings: a fault here.
    """
    name = error.name or ''
    root = name.partition('.')[0]
    if root in EXTRA_OF:
        return f'{root} is not installed; {extra_remedy(EXTRA_OF[root])}'
    if name.startswith('thinking_policy.msg'):
        return f'the messages of thinking_policy are not built; {MESSAGES_REMEDY}'
    if root in ROS_PACKAGES or root.endswith('_msgs') or 'librmw' in str(error):
        return f'{root or "ROS 2"} cannot be imported ({error}); {ROS_REMEDY}'
    return None


def package_remedy(package: str) -> str:
    """Return how to install a ROS message package."""
    name = package.replace('_', '-')
    distro = os.environ.get('ROS_DISTRO')
    if distro:
        return f'sudo apt install ros-{distro}-{name}, or build it in your workspace'
    return (
        f'with ROS 2: sudo apt install ros-<distro>-{name}, or build it in your workspace; '
        f'without: pip install ros-jazzy-{name}, for the packages of ROS 2 itself'
    )


def extra_remedy(extra: str) -> str:
    """Return how to install an extra."""
    return f"install the extra: pip install 'thinking_policy[{extra}]'"


ROS_PACKAGES = frozenset(
    ('rclpy', 'rosidl_runtime_py', 'rosidl_parser', 'rpyutils', 'std_srvs', 'builtin_interfaces')
)
