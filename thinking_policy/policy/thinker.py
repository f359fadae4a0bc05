# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of one situation after the other: by a node, and by a replay without ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.activation import DEFAULT_HOLD_S, ActivationFilter
from thinking_policy.policy.activities import ThinkingActivity
from thinking_policy.policy.novelty import NOVELTY_THRESHOLD, NoveltyHold
from thinking_policy.policy.runtime import Inference, PolicyRuntime
from thinking_policy.situation.checked_values import check_value
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.situation import Situation

Thresholds = Mapping[str, tuple[float, float]]

SHARE = {'low': 0.0, 'high': 1.0}
HOLD_S = {'low': 0.0, 'high': 3600.0}
NOVELTY = {'low': 0.0, 'high': 1000.0}

_AS_READ = (('on', 'True'), ('off', 'False'))


class Thinker:
    """A policy with what lies between its probabilities and the active set.

    Attributes:
        runtime: The policy.
        ids: Activities in the policy's order.
    """

    def __init__(
        self, runtime: PolicyRuntime, window_length: int, minimum_hold_s: float = DEFAULT_HOLD_S
    ) -> None:
        """Start with nothing active and the policy's own thresholds.

        Args:
            runtime: The policy.
            window_length: T; for so many ticks a novelty is held.
            minimum_hold_s: Shortest time an activity stays active; seconds.

        Raises:
            PolicyError: A hold out of range.
        """
        self.runtime = runtime
        activities = runtime.manifest.activities
        self.ids = tuple(activity.id for activity in activities)
        self._hold = NoveltyHold(window_length)
        self._filter = ActivationFilter(
            [activity.threshold for activity in activities],
            [activity.threshold_off for activity in activities],
            minimum_hold_s,
        )

    def set_thresholds(self, thresholds: Thresholds, minimum_hold_s: float) -> None:
        """Let other thresholds and another hold be in force from the next situation on."""
        self._filter.configure(
            [thresholds[name][0] for name in self.ids],
            [thresholds[name][1] for name in self.ids],
            minimum_hold_s,
        )

    def think(self, situation: Situation) -> tuple[Inference, NDArray[np.bool_]]:
        """Return what the policy says and what is active after it, bool [G].

        The novelty is held for the length of a window.

        Raises:
            PolicyError: The inference failed.
        """
        inference = self.runtime.infer(situation)
        novelty = self._hold.update(inference.novelty, situation.episode)
        return inference._replace(novelty=novelty), self._filter.update(
            inference.probability, situation.stamp_ns, situation.episode
        )


@dataclass(frozen=True)
class ThinkingSettings:
    """What a robot file may say of how a policy is run, as a node takes it.

    Attributes:
        thresholds: On and off per activity id.
        minimum_hold_s: Shortest time an activity stays active; seconds.
        novelty_threshold: Novelty above this is unusual.
    """

    thresholds: Thresholds
    minimum_hold_s: float = DEFAULT_HOLD_S
    novelty_threshold: float = NOVELTY_THRESHOLD


def thinking_settings(
    activities: tuple[ThinkingActivity, ...], values: Mapping[str, Any], source: str
) -> ThinkingSettings:
    """Read the settings out of a robot file's parameters.

    Args:
        activities: The policy's.
        values: Nested names and values; what is not asked for is left alone.
        source: File named in errors.

    Raises:
        SituationError: No number, one out of range, or off above on.
    """
    given = values.get('thresholds', {})
    if not isinstance(given, Mapping):
        raise SituationError(f'{source}: thresholds: expected names and values, found {given!r}')
    numbers = {
        name: check_value(f'{source}: {name}', values.get(name, default), float, bounds)
        for name, default, bounds in (
            ('minimum_hold_s', DEFAULT_HOLD_S, HOLD_S),
            ('novelty_threshold', NOVELTY_THRESHOLD, NOVELTY),
        )
    }
    thresholds = {}
    for activity in activities:
        where, pair = f'{source}: thresholds.{activity.id}', given.get(activity.id, {})
        if not isinstance(pair, Mapping):
            raise SituationError(f'{where}: expected on and off, found {pair!r}')
        own = activity.threshold, activity.threshold_off
        # YAML reads on and off as yes and no, ROS does not.
        on, off = (pair.get(word, pair.get(read)) for word, read in _AS_READ)
        thresholds[activity.id] = thresholds_of(where, own, on, off)
    return ThinkingSettings(thresholds, **numbers)


def thresholds_of(
    where: str, own: tuple[float, float], on: Any = None, off: Any = None
) -> tuple[float, float]:
    """Return on- and off-threshold: the policy's own, except where others are set.

    Where only the on-threshold is set, the off-threshold keeps its distance below it.

    Args:
        where: Begins the names of settings in errors.
        own: On and off, as the policy has them.
        on: As set; None: not set.
        off: As set; None: not set.

    Raises:
        SituationError: No number in 0...1, or off above on.
    """
    on = check_value(f'{where}.on', own[0] if on is None else on, float, SHARE)
    off = max(0.0, on - (own[0] - own[1])) if off is None else off
    off = check_value(f'{where}.off', off, float, SHARE)
    if off > on:
        raise SituationError(disorder(where, on, off))
    return on, off


def disorder(where: str, on: float, off: float) -> str:
    """Return the words for an off-threshold above the on-threshold."""
    return f'{where}: expected off <= on, found on {on} and off {off}'


def alike(warnings: Sequence[str]) -> tuple[str, ...]:
    """Return warnings of the form `signal: what` with the signals of the same in one line."""
    signals: dict[str, list[str]] = {}
    for warning in warnings:
        signal, _, what = warning.partition(': ')
        signals.setdefault(what, []).append(signal)
    return tuple(f'{", ".join(names)}: {what}' for what, names in signals.items())
