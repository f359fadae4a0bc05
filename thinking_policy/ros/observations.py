# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Actions, outcomes, feedback and reasoning: from messages to observations."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from thinking_policy import msg as messages
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.parts import checked
from thinking_policy.experience.record import Observation, ObservationKind
from thinking_policy.ros.conversions import stamp_ns
from thinking_policy.ros.experience_options import TopicSettings
from thinking_policy.situation.requests import TEXT_TYPE

FEEDBACK_TYPE = 'thinking_policy/msg/ThinkingFeedback'
REASONING_TYPE = 'thinking_policy/msg/Reasoning'
LONGEST_CODE, LONGEST_SOURCE, LONGEST_TEXT = 128, 256, 65_536  # characters, in records

_KINDS = {
    messages.ThinkingFeedback.ACTION: ObservationKind.ACTION,
    messages.ThinkingFeedback.OUTCOME: ObservationKind.OUTCOME,
    messages.ThinkingFeedback.FEEDBACK: ObservationKind.FEEDBACK,
}
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
    """Return the observation of a feedback message.

    Args:
        message: Its stamp is the time it refers to; 0: when it was received.
        received_ns: When that was.
        topic: The source where it names none.

    Raises:
        ExperienceError: Its kind is none, or it says more than a record holds.
    """
    kind = _KINDS.get(message.kind)
    if kind is None:
        raise ExperienceError(f'{topic}: kind: expected one of 0, 1, 2, found {message.kind}')
    observation = checked(
        Observation,
        topic,
        kind=kind,
        stamp_ns=stamp_ns(message.header) or received_ns,
        code=message.code,
        reward=None if math.isnan(message.reward) else message.reward,
        expected=tuple(message.expected),
        verified=message.verified,
        source=message.source or topic[:LONGEST_SOURCE],
        text=message.text,
    )
    return Heard(observation, message.experience_id, message.episode)


def from_text(text: str, kind: ObservationKind, received_ns: int, topic: str) -> Heard:
    """Return a text as an observation; one that is longer than a code is kept whole beside."""
    observation = checked(
        Observation,
        topic,
        kind=kind,
        stamp_ns=received_ns,
        code=text[:LONGEST_CODE],
        source=topic[:LONGEST_SOURCE],
        text=text if len(text) > LONGEST_CODE else '',
    )
    return Heard(observation)


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
