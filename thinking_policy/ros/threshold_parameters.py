# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters `thresholds.<activity>.on` and `.off`: the policy's own, unless the user sets others.

They exist once a policy is loaded, since only that knows its activities.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from thinking_policy.policy.thinker import SHARE, disorder, thresholds_of
from thinking_policy.ros.declaring import descriptor, unknown_names
from thinking_policy.situation.checked_values import check_value
from thinking_policy.situation.errors import SituationError

PREFIX = 'thresholds.'
_WORDS = ('on', 'off')
_MEANINGS = {'on': 'becomes active', 'off': 'may end'}


class ThresholdParameters:
    """On- and off-threshold of each activity of the policy."""

    def __init__(self, node: Node, given: Mapping[str, Any]) -> None:
        """Prepare; nothing is declared before `follow`.

        Args:
            node: Node that holds the parameters.
            given: What the user has set, by full name.
        """
        self._node = node
        self._given = {n: v for n, v in given.items() if n.startswith(PREFIX)}
        self._of_policy: dict[str, tuple[float, float]] = {}
        node.add_on_set_parameters_callback(self._check)

    def follow(self, thresholds: Mapping[str, tuple[float, float]]) -> list[str]:
        """Take over the thresholds of a policy, except where the user has set others.

        Where only the on-threshold is set, the off-threshold keeps its distance below it.

        Args:
            thresholds: On and off per activity id, as the policy has them.

        Returns:
            Lines for the log about settings for activities that the policy doesn't know.

        Raises:
            SituationError: A setting that is no number in 0...1, or off above on.
        """
        for activity, own in thresholds.items():
            if self._node.has_parameter(f'{PREFIX}{activity}.on'):
                self._update(activity, own)
            else:
                self._declare(activity, own)
        self._of_policy = dict(thresholds)
        known = [f'{PREFIX}{activity}.{word}' for activity in thresholds for word in _WORDS]
        return unknown_names((name for name in self._given if name not in known), known)

    def in_force(self) -> dict[str, tuple[float, float]]:
        """Return on and off per activity id of the policy."""
        return {activity: self._standing(activity) for activity in self._of_policy}

    def _declare(self, activity: str, own: tuple[float, float]) -> None:
        names = [f'{PREFIX}{activity}.{word}' for word in _WORDS]
        on, off = thresholds_of(
            f'{PREFIX}{activity}', own, self._given.get(names[0]), self._given.get(names[1])
        )
        for name, word, value in zip(names, _WORDS, (on, off), strict=True):
            meta = {
                **SHARE,
                'text': f'probability at which {activity} {_MEANINGS[word]}',
                'dynamic': True,
            }
            try:
                self._node.declare_parameter(
                    name, value, descriptor(meta, float), ignore_override=True
                )
            except InvalidParameterValueException as error:
                raise SituationError(str(error)) from error

    def _update(self, activity: str, own: tuple[float, float]) -> None:
        if self._standing(activity) == self._of_policy.get(activity) != own:
            self._node.set_parameters_atomically(
                [
                    Parameter(f'{PREFIX}{activity}.{word}', value=value)
                    for word, value in zip(_WORDS, own, strict=True)
                ]
            )

    def _standing(self, activity: str) -> tuple[float, float]:
        on, off = (
            float(self._node.get_parameter(f'{PREFIX}{activity}.{word}').value) for word in _WORDS
        )
        return on, off

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        changes = {p.name: p.value for p in parameters if p.name.startswith(PREFIX)}
        try:
            for name, value in changes.items():
                check_value(name, value, float, SHARE)
            for activity in {name.split('.')[1] for name in changes}:
                self._check_order(activity, changes)
        except SituationError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _check_order(self, activity: str, changes: Mapping[str, Any]) -> None:
        names = [f'{PREFIX}{activity}.{word}' for word in _WORDS]
        if not all(self._node.has_parameter(name) for name in names):
            return  # they are being declared
        on, off = (changes.get(name, self._node.get_parameter(name).value) for name in names)
        if off > on:
            raise SituationError(disorder(f'{PREFIX}{activity}', on, off))
