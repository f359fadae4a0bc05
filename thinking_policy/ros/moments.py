# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Joins `thinking/situation` and `thinking/activations` to moments: same stamp, episode, tick."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

from thinking_policy import msg as messages
from thinking_policy.experience.record import Activation
from thinking_policy.experience.recorder import Moment
from thinking_policy.ros.conversions import situation_from_message, stamp_ns
from thinking_policy.situation import Reading, SignalState, Situation, SituationError

MOST_PENDING = 100  # of each kind; a tick's two messages come milliseconds apart

Key = tuple[int, str, int]  # stamp, episode, tick


class MomentJoin:
    """Takes messages in the order in which they were published. One thread uses it.

    Attributes:
        counts: `joined` moments, `unjoined_activations` and `unjoined_situations`, whose other
            half never came.
    """

    def __init__(self) -> None:
        """Begin with nothing pending."""
        self.counts: Counter[str] = Counter()
        self._activations: dict[Key, messages.ThinkingActivations] = {}
        self._situations: dict[Key, Situation] = {}

    def take_activations(self, message: messages.ThinkingActivations) -> Moment | None:
        """Return the moment that is complete with this, if it is."""
        key = (stamp_ns(message.header), message.episode, message.tick)
        self._activations[key] = message
        return self._joined(key)

    def take_situation(self, message: messages.Situation) -> Moment | None:
        """Return the moment that is complete with this, if it is.

        Raises:
            SituationError: The message's arrays don't fit one another.
        """
        situation = situation_from_message(message)
        key = (situation.stamp_ns, situation.episode, situation.tick)
        self._situations[key] = situation
        return self._joined(key)

    def _joined(self, key: Key) -> Moment | None:
        if key not in self._activations or key not in self._situations:
            self._bound()
            return None
        situation = self._situations[key]
        # Both come in order: what is older has lost its other half.
        self._drop_before(key)
        message = self._activations.pop(key)
        del self._situations[key]
        self.counts['joined'] += 1
        return moment_of(message, situation)

    def _drop_before(self, key: Key) -> None:
        for name, pending in self._pending():
            for other in list(pending):
                if other == key:
                    break
                del pending[other]
                self.counts[name] += 1

    def _bound(self) -> None:
        for name, pending in self._pending():
            while len(pending) > MOST_PENDING:
                del pending[next(iter(pending))]
                self.counts[name] += 1

    def _pending(self) -> tuple[tuple[str, dict], ...]:
        return (
            ('unjoined_activations', self._activations),
            ('unjoined_situations', self._situations),
        )


def moment_of(message: messages.ThinkingActivations, situation: Situation) -> Moment:
    """Return the moment of one tick.

    Args:
        message: What the policy said.
        situation: What it saw, as the message holds it.

    Raises:
        SituationError: The two are of different signals.
    """
    names = tuple(status.name for status in message.signals)
    if names != situation.signals:
        raise SituationError(
            f'tick {message.tick}: expected activations of the signals '
            f'{", ".join(situation.signals)}, found {", ".join(names)}'
        )
    return Moment(
        situation=dataclasses.replace(
            situation,
            readings=tuple(
                Reading(status.name, SignalState(status.state), status.value, status.age)
                for status in message.signals
            ),
        ),
        policy_version=message.policy_version,
        activations=tuple(
            Activation(id=a.id, probability=a.probability, threshold=a.threshold, active=a.active)
            for a in message.activations
        ),
        novelty=_or_none(message.novelty),
        novelty_threshold=_or_none(message.novelty_threshold),
    )


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
