# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which parameter file `--config` means; imports nothing heavy, since every command asks."""

from __future__ import annotations

import os
from pathlib import Path

from thinking_policy import ThinkingPolicyError
from thinking_policy.shipped import config_folder

BUNDLED = 'bundled'
"""What names the policy that comes with the package where a policy file may stand."""


def find_configuration(name: str) -> Path:
    """Return the parameter file for `--config`.

    Args:
        name: A path, the name of a shipped robot such as `turtlebot3`, or empty for the default.

    Raises:
        ThinkingPolicyError: No such file; the message lists the shipped ones.
    """
    if name and (os.sep in name or Path(name).is_file()):
        path = Path(name)
    else:
        path = config_folder() / (
            f'robots/{name.removesuffix(".yaml")}.yaml' if name else 'policy.yaml'
        )
    try:
        found = path.is_file()
    except OSError as error:
        raise ThinkingPolicyError(f'--config {name}: {error.strerror}') from error
    if not found:
        shipped = ', '.join(robots()) or 'none'
        raise ThinkingPolicyError(f'--config {name}: no such file; shipped robots: {shipped}')
    return path.absolute()


def robots() -> list[str]:
    """Return the names of the shipped robot files."""
    return sorted(path.stem for path in (config_folder() / 'robots').glob('*.yaml'))
