# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Robot files with sections for several robots, told apart by namespace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thinking_policy import ThinkingPolicyError
from thinking_policy.shipped import config_folder
from thinking_policy.situation import (
    NODE_NAME,
    SituationConfig,
    SituationError,
    load_configuration,
    load_parameters,
    situation_keys,
)
from thinking_policy.situation.checked_values import did_you_mean
from thinking_policy.situation.robot_file import is_for_the_node
from thinking_policy.situation.yaml_file import read_yaml

# Of ROS itself, and what only some robot files have.
_BESIDE = ('thresholds', 'use_sim_time', 'qos_overrides', 'start_type_description_service')


def configuration_of(path: Path, namespace: str = '') -> SituationConfig:
    """Read a robot file that may have sections for several robots.

    Args:
        path: The file.
        namespace: The robot's; empty: the file is for one robot.

    Raises:
        ThinkingPolicyError: As `sections_for` and `load_configuration`.
    """
    return load_configuration(path, sections_for(path, namespace))


def sections_for(path: Path, namespace: str = '') -> str | None:
    """Return the namespace whose sections of a robot file count; None: all that there are.

    Raises:
        ThinkingPolicyError: Sections of several robots and no namespace; the message names them.
    """
    named = _namespaces(path)
    if namespace.strip('/') and named:
        return namespace
    if len(named) > 1:
        raise ThinkingPolicyError(
            f'{path}: has sections for several robots: {", ".join(named)}; '
            'say which one with --namespace'
        )
    return None


def unread_names(path: Path, section: str | None) -> list[str]:
    """Return a line for each top-level name of a robot file that no node reads.

    A node ignores such names with a warning. The shipped policy.yaml explains every one.
    """
    known = {
        *load_parameters(config_folder() / 'policy.yaml'),
        *situation_keys(),
        *_BESIDE,
    }
    return [
        f'unknown parameter {name!r} is ignored{_closest(name, sorted(known))}'
        for name in sorted(load_parameters(path, section))
        if name not in known
    ]


def _closest(name: str, known: Sequence[str]) -> str:
    """Return which parameter may be meant; one that the name is an end of comes first."""
    longer = [one for one in known if one.endswith(f'_{name}')]
    return did_you_mean(name, known) if len(longer) != 1 else f'; did you mean {longer[0]!r}?'


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
