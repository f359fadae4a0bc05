# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The linters, as tests: one command runs everything, and a complaint fails it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint


def complaints(checkout: Path, *command: str) -> str:
    """Return what a linter prints when it fails, else nothing."""
    program = Path(sys.executable).parent / command[0]
    done = subprocess.run(
        [program, *command[1:]],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    return '' if done.returncode == 0 else f'{done.stdout}{done.stderr}' or 'failed, said nothing'


def test_ruff_finds_nothing(checkout):
    assert complaints(checkout, 'ruff', 'check', '--output-format', 'concise', '.') == ''


def test_the_code_is_formatted(checkout):
    """`make format` repairs it."""
    assert complaints(checkout, 'ruff', 'format', '--check', '.') == ''


def test_types_are_right(checkout):
    assert complaints(checkout, 'mypy') == ''


def test_every_room_keeps_its_doors(checkout):
    assert complaints(checkout, 'lint-imports', '--no-cache') == ''
