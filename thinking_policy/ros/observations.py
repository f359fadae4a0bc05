# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Actions, outcomes, feedback and reasoning: from messages to observations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from thinking_policy import msg as messages
from thinking_policy.experience import observing
from thinking_policy.experience.observing import (
    FEEDBACK_TYPE,
    LONGEST_SOURCE,
)
from thinking_policy.experience.parts import checked
from thinking_policy.experience.record import Observation, ObservationKind
from thinking_policy.ros.conversions import stamp_ns
from thinking_policy.ros.experience_options import TopicSettings
from thinking_policy.situation.requests import TEXT_TYPE

REASONING_TYPE = 'thinking_policy/msg/Reasoning'

_STATUSES = {
    messages.Reasoning.OK: 'ok',
    messages.Reasoning.TIMEOUT: 'timeout',
    messages.Reasoning.INVALID_REPLY: 'invalid_reply',
    messages.Reasoning.BUDGET: 'budget',
    messages.Reasoning.UNREACHABLE: 'unreachable',
}


@dataclass(frozen=True)
class Heard:
    """An observation and what it belongs to, as far as it was said.

    Attributes:
        observation: What was observed.
        experience: Id; empty: found by time and episode.
        episode: Empty: whatever episode was then.
    """

    observation: Observation
    experience: str = ''
    episode: str = ''


@dataclass(frozen=True)
class Source:
    """A topic: its type, and what makes an observation of a serialized message.

    `read` is given the message and its receive time in nanoseconds.
    """

    topic: str
    type: str
    read: Callable[[bytes, int], Heard]


def sources(topics: TopicSettings) -> tuple[Source, ...]:
    """Return where observations come from."""
    found = [Source(topic, FEEDBACK_TYPE, _feedback_reader(topic)) for topic in topics.feedback]
    for kind, names in (
        (ObservationKind.ACTION, topics.action_texts),
        (ObservationKind.OUTCOME, topics.outcome_texts),
        (ObservationKind.FEEDBACK, topics.feedback_texts),
    ):
        found += [Source(topic, TEXT_TYPE, _text_reader(topic, kind)) for topic in names]
    if topics.reasoning:
        found.append(Source(topics.reasoning, REASONING_TYPE, _reasoning))
    return tuple(found)


def from_feedback(message: messages.ThinkingFeedback, received_ns: int, topic: str) -> Heard:
    """Return what a feedback message says; arguments and errors as `observing` has them."""
    observation = observing.from_feedback(
        topic,
        received_ns,
        kind=message.kind,
        stamp_ns=stamp_ns(message.header),
        code=message.code,
        reward=message.reward,
        expected=message.expected,
        verified=message.verified,
        source=message.source,
        text=message.text,
    )
    return Heard(observation, message.experience_id, message.episode)


def from_text(text: str, kind: ObservationKind, received_ns: int, topic: str) -> Heard:
    """Return what a text says: it is the code."""
    return Heard(observing.from_text(topic, received_ns, kind, text))


def from_reasoning(message: messages.Reasoning, received_ns: int) -> Heard:
    """Return a language model's answer as a trace: its status as code, all of it as JSON."""
    text = json.dumps(
        {
            name: list(value) if not isinstance(value, (str, int, float)) else value
            for name, value in (
                (name, getattr(message, name))
                for name in message.get_fields_and_field_types()
                if name not in ('header', 'episode', 'status', 'model')
            )
            if value or isinstance(value, float)
        },
        ensure_ascii=False,
    )
    observation = checked(
        Observation,
        'reasoning',
        kind=ObservationKind.TRACE,
        stamp_ns=stamp_ns(message.header) or received_ns,
        code=_STATUSES.get(message.status, str(message.status)),
        source=message.model[:LONGEST_SOURCE],
        text=text,
    )
    return Heard(observation, episode=message.episode)


def _feedback_reader(topic: str) -> Callable[[bytes, int], Heard]:
    return lambda raw, received_ns: from_feedback(
        deserialize_message(raw, messages.ThinkingFeedback), received_ns, topic
    )


def _text_reader(topic: str, kind: ObservationKind) -> Callable[[bytes, int], Heard]:
    return lambda raw, received_ns: from_text(
        deserialize_message(raw, String).data, kind, received_ns, topic
    )


def _reasoning(raw: bytes, received_ns: int) -> Heard:
    return from_reasoning(deserialize_message(raw, messages.Reasoning), received_ns)
