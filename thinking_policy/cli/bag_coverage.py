# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a bag holds of what a robot file asks for, known before the bag is played."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from pathlib import Path

from thinking_policy.bags import open_bag
from thinking_policy.situation.configuration import SituationConfig, load_configuration


@dataclass(frozen=True)
class Coverage:
    """A bag beside a configuration.

    Attributes:
        lines: The bag in a few lines, for the summary of a run.
        remarks: Signal name → why it will be missing; signals that can come are not in it.
    """

    lines: tuple[str, ...]
    remarks: dict[str, str]


def cover(bag_path: Path, config_path: Path) -> Coverage:
    """Open the bag, compare its topics with the configured signals and close it.

    Raises:
        BagError: The bag cannot be opened.
        SituationError: The configuration cannot be read.
    """
    config = load_configuration(config_path)
    with open_bag(bag_path) as bag:
        types = {topic.name: topic.type for topic in bag.topics if topic.count}
        unknown = collections.Counter({
            topic.type: topic.count for topic in bag.topics if topic.message_type is None})
        remarks = _remarks(config, types, set(unknown))
        used = {_absolute(signal.topic) for signal in config.signals if signal.topic} & set(types)
        lines = [f'bag      {bag_path.name}: {bag.message_count} messages on {len(types)} topics, '
                 f'{len(used)} used']
        lines += [f'         cannot be decoded: {kind} ({count} messages)'
                  for kind, count in sorted(unknown.items())]
        lines += [f'         {problem} ({count})' for problem, count in sorted(
            bag.problems.items())]
    return Coverage(tuple(lines), remarks)


def _remarks(config: SituationConfig, types: dict[str, str], unknown: set[str]) -> dict[str, str]:
    remarks = {}
    for signal in config.signals:
        topic = _absolute(signal.topic)
        if not signal.topic:
            remarks[signal.name] = 'the robot file names no topic'
        elif topic not in types:
            remarks[signal.name] = f'{topic} is not in the bag'
        elif types[topic] != signal.type:
            remarks[signal.name] = f'{topic} is {types[topic]} in the bag, not {signal.type}'
        elif types[topic] in unknown:
            remarks[signal.name] = f'nobody knows the type {types[topic]}'
    return remarks


def _absolute(topic: str) -> str:
    return topic if topic.startswith('/') else f'/{topic}'
