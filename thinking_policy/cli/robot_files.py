# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which parameter file `--config` means, and which robot's sections of it."""

from __future__ import annotations

import os
from pathlib import Path

from thinking_policy import ThinkingPolicyError
from thinking_policy.shipped import config_folder
from thinking_policy.situation import (
    NODE_NAME,
    SituationConfig,
    SituationError,
    load_configuration,
)
from thinking_policy.situation.robot_file import is_for_the_node
from thinking_policy.situation.yaml_file import read_yaml


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


def configuration_of(path: Path, namespace: str = '') -> SituationConfig:
    """Read a robot file that may have sections for several robots, told apart by namespace.

    Args:
        path: The file.
        namespace: The robot's; empty: the file is for one robot.

    Raises:
        ThinkingPolicyError: Sections of several robots and no namespace, or none of that one; the
            message names those that there are.
    """
    named = _namespaces(path)
    if not namespace.strip('/') or not named:
        if len(named) > 1:
            raise ThinkingPolicyError(
                f'{path}: has sections for several robots: {", ".join(named)}; '
                'say which one with --namespace'
            )
        return load_configuration(path)
    return load_configuration(path, namespace)


def _namespaces(path: Path) -> list[str]:
    """Return the namespaces that sections for the node name, without those for any robot."""
    document = read_yaml(path, SituationError)
    sections = [str(name) for name in document] if isinstance(document, dict) else []
    found = []
    for section in sections:
        *above, last = section.strip('/').split('/')
        if not is_for_the_node(section, None) or last == '':
            continue
        if above and not any('*' in part for part in above) and last == NODE_NAME:
            found.append('/' + '/'.join(above))
    return list(dict.fromkeys(found))
