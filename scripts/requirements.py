# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What setup.cfg requires: the one list of what is needed for what."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

SETUP_CFG = Path(__file__).resolve().parent.parent / 'setup.cfg'


def read_extras() -> dict[str, list[str]]:
    """Return the extras of setup.cfg, in its order."""
    parser = configparser.ConfigParser()
    parser.read(SETUP_CFG)
    section = parser['options.extras_require']
    return {name: requirement_lines(section[name]) for name in section}


def read_requirements(extras: tuple[str, ...]) -> list[str]:
    """Return what setup.cfg requires for the package with these extras, without repeats."""
    parser = configparser.ConfigParser()
    parser.read(SETUP_CFG)
    lines = requirement_lines(parser['options']['install_requires'])
    known = read_extras()
    for extra in extras:
        lines += known[extra]
    return list(dict.fromkeys(lines))


def requirement_lines(text: str) -> list[str]:
    """Return the non-empty lines of a list in setup.cfg."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def distribution_name(requirement: str) -> str:
    """Return the normalised name of a requirement such as `PyYAML >= 6`."""
    return normalise(re.split(r'[^A-Za-z0-9._-]', requirement, maxsplit=1)[0])


def normalise(name: str) -> str:
    """Return a distribution name as PEP 503 compares it."""
    return re.sub(r'[-_.]+', '-', name).lower()
