# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Where a robot keeps its experiences unless it is told otherwise: for the node and for tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

NODE_NAME = '/thinking_experience'


def default_database(environment: Mapping[str, str], node_name: str = NODE_NAME) -> Path:
    """Return the file of an experience node, below ROS_HOME, by its name.

    Args:
        environment: Environment variables.
        node_name: Fully qualified, such as `/robot1/thinking_experience`.
    """
    given = environment.get('ROS_HOME')
    home = Path(given) if given else Path.home() / '.ros'
    name = node_name.strip('/').replace('/', '.')
    return home / 'thinking_policy' / f'{name}.db'
