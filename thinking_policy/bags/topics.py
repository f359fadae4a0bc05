# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which topic of a bag feeds which topic of a configuration."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from thinking_policy.bags.reader import Bag, BagTopic

ABSENT = ', nor any other topic'
"""Said where the bag has nothing of a type, so that a topic is not to be corrected."""


@dataclass(frozen=True)
class Feed:
    """One topic that a configuration asks for.

    Attributes:
        topic: Name in the configuration.
        type: Message type in the configuration.
        source: The bag's topic, or None where the bag has none.
        problem: Why nothing can be fed, with what to do; empty where it can.
    """

    topic: str
    type: str
    source: BagTopic | None
    problem: str


def match_topics(
    bag: Bag,
    requests: Iterable[tuple[str, str]],
    namespace: str = '',
) -> tuple[Feed, ...]:
    """Find the bag's topic for each topic that is asked for.

    A relative name is looked up in the namespace only, as a node in that namespace would.

    Args:
        bag: An opened bag.
        requests: Topic and message type.
        namespace: The robot's namespace in the bag, with or without slashes.
    """
    return tuple(_match(bag, topic, kind, namespace.strip('/')) for topic, kind in requests)


def _match(bag: Bag, topic: str, kind: str, namespace: str) -> Feed:
    source = _find(bag, topic, namespace)
    if source is None:
        return Feed(topic, kind, None, f'not in the bag{_proposal(bag, topic, kind, namespace)}')
    if source.type != kind:
        return Feed(
            topic,
            kind,
            source,
            f'expected {kind}, the bag has {source.type or "no type"}{_alike(bag, topic, kind)}',
        )
    if source.message_type is None:
        return Feed(
            topic,
            kind,
            source,
            f'{kind} is unknown here and its definition is not stored in the bag; '
            'record it with a newer ros2 bag, or convert it with the definition',
        )
    if source.count == 0:
        return Feed(topic, kind, source, f'no messages in the bag{_alike(bag, topic, kind)}')
    return Feed(topic, kind, source, '')


def _find(bag: Bag, topic: str, namespace: str) -> BagTopic | None:
    if topic.startswith('/'):
        return bag.topic(topic)
    # Bags that no node recorded may hold names without a slash.
    return (
        bag.topic(f'/{namespace}/{topic}')
        if namespace
        else (bag.topic(f'/{topic}') or bag.topic(topic))
    )


def _proposal(bag: Bag, topic: str, kind: str, namespace: str) -> str:
    """Name what the bag has of the same type."""
    if not topic.startswith('/') and not namespace:
        inside = [
            t.name.removesuffix(f'/{topic}')
            for t in bag.topics
            if t.name.endswith(f'/{topic}') and t.type == kind and t.count
        ]
        if inside:
            return f', but {inside[0]}/{topic} is: give --namespace {inside[0].strip("/")}'
    return _alike(bag, topic, kind) or f'{ABSENT} of type {kind}'


def _alike(bag: Bag, topic: str, kind: str) -> str:
    """Name other topics of a type, those first that are called alike."""
    fitting = [t.name for t in bag.topics if t.type == kind and t.count]
    if not fitting:
        return ''
    close = difflib.get_close_matches(topic, fitting, n=len(fitting), cutoff=0.0)
    return f'; of this type it has {", ".join(close[:4])}{" ..." if close[4:] else ""}'
