# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

HEADER = ('Copyright 2026 The thinking_policy authors', 'SPDX-License-Identifier: Apache-2.0')
WITH_HEADER = {'.py', '.sh', '.in', '.toml', '.cfg', '.yaml', '.xml', '.j2'}
NAMES_WITH_HEADER = {'CMakeLists.txt', 'Makefile', 'run'}
LONGEST_FUNCTION = 70
# The brackets keep this file from finding itself.
FORBIDDEN = {
    'a folder of one machine': r'(?<![\w.<}>~-])/(wor[k]|roo[t])/\w|/opt/(pyp[i]|wheel[s])',
    'the host of a package registry': r'py[p]i\.org|pythonhos[t]ed|deb\.deb[i]an|archive\.ubun[t]u'
    r'|npm[j]s\.(org|com)',
}


@pytest.fixture(scope='module')
def files(checkout: Path) -> list[Path]:
    listed = subprocess.run(
        ['git', 'ls-files', '--cached', '--others', '--exclude-standard', '-z'],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip('not a git checkout')
    return [checkout / name for name in listed.stdout.split('\0') if (checkout / name).is_file()]


def test_every_source_file_names_owner_and_licence(files):
    without = [
        str(path)
        for path in files
        if (path.suffix in WITH_HEADER or path.name in NAMES_WITH_HEADER)
        and not all(line in '\n'.join(path.read_text().splitlines()[:6]) for line in HEADER)
    ]
    assert without == []


def test_nothing_names_this_machine_or_a_registry(files):
    found = []
    for path in files:
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # a picture or a model
        for what, pattern in FORBIDDEN.items():
            found += [f'{path}: {what}: {match.group()}' for match in re.finditer(pattern, text)]
    assert found == []


def test_functions_fit_on_a_page(files):
    long = []
    for path in files:
        if path.suffix != '.py':
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                # A command's signature is its options with their help: not counted.
                lines = (node.end_lineno or 0) - node.body[0].lineno + 1
                if lines > LONGEST_FUNCTION:
                    long.append(f'{path}:{node.lineno}: {node.name} has {lines} lines')
    assert long == []
