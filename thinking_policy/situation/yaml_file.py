# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the YAML files that people write: what they would not notice is refused, not guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from thinking_policy import ThinkingPolicyError

LARGEST_BYTES = 2**20
"""A mistyped path to a recording must not be parsed for minutes."""

_LONGEST_REASON = 300  # characters


class _StrictLoader(yaml.SafeLoader):
    """Refuses names that stand twice, of which YAML would keep the last, and aliases.

    ROS refuses aliases too; with a few lines of them a file unfolds to any size.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            parser: Any = self  # without annotations
            event = parser.peek_event()
            raise yaml.composer.ComposerError(
                None, None, f'aliases such as *{event.anchor} are not allowed', event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else id(key)
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'{key.value!r} stands there twice', key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, error: type[ThinkingPolicyError]) -> Any:
    """Return what a YAML file holds.

    Args:
        path: The file.
        error: What is raised.

    Raises:
        ThinkingPolicyError: As `error`: not readable, too large, not YAML, a name twice or an
            alias; one line with the file, the reason and the place.
    """
    try:
        if not path.is_file():
            raise ValueError('expected a file' if path.exists() else 'no such file')
        with path.open('rb') as file:
            data = file.read(LARGEST_BYTES + 1)
        if len(data) > LARGEST_BYTES:
            raise ValueError(f'larger than {LARGEST_BYTES // 2**20} MiB')
        return yaml.load(data.decode('utf-8'), _StrictLoader)  # a safe loader
    except RecursionError as cause:
        raise error(f'{path}: not a readable YAML file: nested too deep') from cause
    except (OSError, ValueError, yaml.YAMLError) as cause:
        text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        reason = ' '.join(text.replace('in "<unicode string>", ', 'in ').split())
        raise error(f'{path}: not a readable YAML file: {reason[:_LONGEST_REASON]}') from cause
