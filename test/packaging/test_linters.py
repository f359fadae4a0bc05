# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The linters, as tests: one command runs everything, and a complaint fails it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint


def expect_silence(checkout: Path, *command: str) -> None:
    """Fail with what a linter says, unless it exits with 0."""
    program = Path(sys.executable).parent / command[0]
    done = subprocess.run(
        [program, *command[1:]],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f'{" ".join(command)}\n{done.stdout}{done.stderr}', pytrace=False)


def test_ruff_finds_nothing(checkout):
    expect_silence(checkout, 'ruff', 'check', '--output-format', 'concise', '.')


def test_the_code_is_formatted(checkout):
    """`make format` repairs it."""
    expect_silence(checkout, 'ruff', 'format', '--check', '--output-format', 'concise', '.')


def test_types_are_right(checkout):
    expect_silence(checkout, 'mypy')


def test_every_room_keeps_its_doors(checkout):
    expect_silence(checkout, 'lint-imports', '--no-cache')
