# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What messages say of an experience: the same of a live topic as of a bag."""

from __future__ import annotations

import math
from collections.abc import Sequence

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.parts import checked
from thinking_policy.experience.record import Observation, ObservationKind

FEEDBACK_TYPE = 'thinking_policy/msg/ThinkingFeedback'
LONGEST_CODE, LONGEST_SOURCE, LONGEST_TEXT = 128, 256, 65_536  # characters, in records

# By the numbers of ThinkingFeedback.msg.
KINDS = (ObservationKind.ACTION, ObservationKind.OUTCOME, ObservationKind.FEEDBACK)


def from_feedback(
    topic: str,
    received_ns: int,
    *,
    kind: int,
    stamp_ns: int,
    code: str,
    reward: float,
    expected: Sequence[str],
    verified: bool,
    source: str,
    text: str,
) -> Observation:
    """Return the observation of a ThinkingFeedback, given by its fields.

    Args:
        topic: The source where it names none.
        received_ns: When it was received; that is meant where `stamp_ns` is 0.
        kind: 0, 1 or 2.
        stamp_ns: The time it refers to, nanoseconds.
        code: What was done, came of it, or is said.
        reward: -1…1; NaN: none.
        expected: Ids of the activities that would have been right.
        verified: Whether a person confirmed it, or it was seen again.
        source: Who says so; empty: the topic.
        text: More about it.

    Raises:
        ExperienceError: Its kind is none, or it says more than a record holds.
    """
    if not 0 <= kind < len(KINDS):
        raise ExperienceError(f'{topic}: kind: expected one of 0, 1, 2, found {kind}')
    return checked(
        Observation,
        topic,
        kind=KINDS[kind],
        stamp_ns=stamp_ns or received_ns,
        code=code,
        reward=None if math.isnan(reward) else reward,
        expected=tuple(expected),
        verified=verified,
        source=source or topic[:LONGEST_SOURCE],
        text=text,
    )


def from_text(topic: str, received_ns: int, kind: ObservationKind, text: str) -> Observation:
    """Return a text as an observation; one that is longer than a code is kept whole beside."""
    return checked(
        Observation,
        topic,
        kind=kind,
        stamp_ns=received_ns,
        code=text[:LONGEST_CODE],
        source=topic[:LONGEST_SOURCE],
        text=text if len(text) > LONGEST_CODE else '',
    )
