# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the code imports is what setup.cfg requires, room by room."""

from __future__ import annotations

import ast
import configparser
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOMS_OF_EXTRA = {
    'bags': ('bags',),
    'parquet': ('bags', 'experience'),
    'fleet': ('experience',),
    'server': ('server',),
    'train': ('training',),
    'plots': ('bags', 'training'),
    'experiments': ('experiments',),
}
# From the ROS distribution; package.xml names them.
ROS = re.compile(r'rclpy|ament_index_python|builtin_interfaces|rcl_interfaces|\w+_msgs|std_srvs')


@pytest.fixture(scope='module')
def required(checkout: Path) -> dict[str, set[str]]:
    """Return the normalised distribution names of each extra; '' is the package itself."""
    setup = configparser.ConfigParser()
    setup.read(checkout / 'setup.cfg')
    texts = {'': setup['options']['install_requires'], **setup['options.extras_require']}
    return {
        extra: {
            normalised(re.split(r'[\s<>=!~;\[]', line, maxsplit=1)[0])
            for line in text.split('\n')
            if line
        }
        for extra, text in texts.items()
    }


def normalised(name: str) -> str:
    return re.sub(r'[-_.]+', '-', name).lower()


def third_party_imports(path: Path) -> set[str]:
    """Return the top-level packages that a file imports anywhere, not only at its top."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition('.')[0])
    return {
        name
        for name in names - set(sys.stdlib_module_names) - {'thinking_policy'}
        if not ROS.fullmatch(name)
    }


def test_each_room_imports_only_what_its_extra_requires(checkout, required):
    distributions = packages_distributions()
    undeclared = []
    for path in sorted((checkout / 'thinking_policy').rglob('*.py')):
        room = path.relative_to(checkout / 'thinking_policy').parts[0]
        allowed = set(required[''])
        for extra, rooms in ROOMS_OF_EXTRA.items():
            if room in rooms or room == 'cli':  # commands import lazily and name the extra
                allowed |= required[extra]
        for name in sorted(third_party_imports(path)):
            if not {normalised(found) for found in distributions.get(name, [name])} & allowed:
                undeclared.append(f'{path.relative_to(checkout)} imports {name}')
    assert undeclared == []


def test_nothing_is_required_that_no_code_imports(checkout, required):
    distributions = packages_distributions()
    imported = {
        normalised(distribution)
        for folder in ('thinking_policy', 'benchmarks', 'docs', 'examples')
        for path in (checkout / folder).rglob('*.py')
        for name in third_party_imports(path)
        for distribution in distributions.get(name, [name])
    }
    unused = {
        extra: sorted(names - imported) for extra, names in required.items() if extra != 'test'
    }
    assert not any(unused.values()), unused
