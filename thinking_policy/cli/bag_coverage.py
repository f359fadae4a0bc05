# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a bag holds of what a robot file asks for, known before the bag is played."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from pathlib import Path

from thinking_policy.bags import open_bag
from thinking_policy.bags.info import inspect_signals
from thinking_policy.cli.robot_sections import configuration_of


@dataclass(frozen=True)
class Coverage:
    """A bag beside a configuration.

    Attributes:
        lines: The bag in a few lines, for the summary of a run.
        remarks: Signal name → why it will be missing; signals that can come are not in it.
    """

    lines: tuple[str, ...]
    remarks: dict[str, str]


def cover(bag_path: Path, config_path: Path, namespace: str = '') -> Coverage:
    """Open the bag, compare its topics with the configured signals and close it.

    Raises:
        BagError: The bag cannot be opened.
        SituationError: The configuration cannot be read.
    """
    config = configuration_of(config_path, namespace)
    with open_bag(bag_path) as bag:
        signals = inspect_signals(bag, config, namespace)
        unknown = collections.Counter(
            {topic.type: topic.count for topic in bag.topics if topic.message_type is None}
        )
        used = {signal.source for signal in signals if signal.source and not signal.problem}
        lines = [
            f'bag      {bag.path.resolve().name}: {bag.message_count} messages on '
            f'{sum(topic.count > 0 for topic in bag.topics)} topics, {len(used)} used'
        ]
        lines += [
            f'         cannot be decoded: {kind} ({count} messages)'
            for kind, count in sorted(unknown.items())
            if count
        ]
        lines += [
            f'         {problem} ({count})' for problem, count in sorted(bag.problems.items())
        ]
    return Coverage(tuple(lines), {s.name: s.problem for s in signals if s.problem})
