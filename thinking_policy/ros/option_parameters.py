# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""ROS parameters of a node from a dataclass of dataclasses, one for each group of names.

They are declared with text and range, a change is checked in the on-set callback, against all
settings that would result, and applied in the post-set one.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from thinking_policy import ThinkingPolicyError
from thinking_policy.ros.declaring import (
    declare_fields,
    given_parameters,
    is_of_the_policy_node,
    nested,
    options_from_mapping,
    unknown_names,
)
from thinking_policy.situation.errors import SituationError

Settings = TypeVar('Settings')

UNGROUPED = 'node'  # the field whose names have no prefix
_QOS = 'qos_overrides.'


class OptionParameters(Generic[Settings]):
    """A node's parameters: declared at start, checked when set, read as dataclasses.

    Attributes:
        settings: As the parameters stand.
        overridden: Names that the user has set, in the parameter file or on the command line.
        warnings: Lines for the log: unknown names with close matches.
    """

    settings: Settings

    def __init__(
        self,
        node: Node,
        kind: type[Settings],
        *,
        is_active: Callable[[], bool],
        changed: Callable[[frozenset[str]], None],
        read_only: Iterable[str] = (),
    ) -> None:
        """Declare everything.

        Args:
            node: Node that holds the parameters.
            kind: Dataclass of dataclasses; a field `recording` with one that has `sample_s` is
                the parameter `recording.sample_s`, those of the field `node` have no prefix.
            is_active: Whether the lifecycle state is active.
            changed: Called with the names after a change was applied.
            read_only: Names that may never change.

        Raises:
            ThinkingPolicyError: A value is of a wrong type or out of range; the message names
                it, what is allowed, and what was found.
        """
        self._node, self._kind = node, kind
        self._source = node.get_fully_qualified_name()
        self._is_active, self._changed = is_active, changed
        self._read_only = frozenset(read_only)
        given = given_parameters(node)
        self.overridden = frozenset(given)
        self.settings = self._build(given)
        self._declare_all()
        known = [n for n in node.get_parameters_by_prefix('') if not n.startswith(_QOS)]
        self.warnings = unknown_names(
            (
                name
                for name in given
                if not (
                    node.has_parameter(name)
                    or name.startswith(_QOS)
                    or is_of_the_policy_node(name)
                )
            ),
            known,
        )
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def _groups(self) -> dict[str, type]:
        """Return the dataclass of each field."""
        hints = typing.get_type_hints(self._kind)
        return {field.name: hints[field.name] for field in dataclasses.fields(self._kind)}

    def _build(self, values: Mapping[str, Any]) -> Settings:
        tree = nested({n: v for n, v in values.items() if not n.startswith(_QOS)})
        made = {}
        for name, kind in self._groups().items():
            own = tree if name == UNGROUPED else tree.get(name, {})
            if not isinstance(own, Mapping):
                raise SituationError(f'{self._source}: {name}: expected names, found {own!r}')
            made[name] = options_from_mapping(kind, own, f'{self._source}: {_prefix(name)}')
        return self._kind(**made)

    def _declare_all(self) -> None:
        for name in self._groups():
            values = getattr(self.settings, name)
            own = {_prefix(name) + field.name: field.name for field in dataclasses.fields(values)}
            fixed = [own[full] for full in own if full in self._read_only]
            declare_fields(self._node, _prefix(name), values, skip=fixed)
            free = [field for field in own.values() if field not in fixed]
            declare_fields(self._node, _prefix(name), values, skip=free, read_only=True)

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            self._check_states(parameters)
            self._build({**self._current(), **{p.name: p.value for p in parameters}})
        except ThinkingPolicyError as error:
            reason = str(error).removeprefix(f'{self._source}: ')
            return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _check_states(self, parameters: list[Parameter]) -> None:
        if not self._is_active():
            return
        for parameter in parameters:
            if parameter.name in self._fixed_while_active():
                raise SituationError(
                    f'{parameter.name}: cannot change while the node is active; '
                    'deactivate it, set it, activate it again'
                )

    def _fixed_while_active(self) -> frozenset[str]:
        return frozenset(
            _prefix(name) + field.name
            for name, kind in self._groups().items()
            for field in dataclasses.fields(kind)
            if not field.metadata['dynamic']
        )

    def _apply(self, parameters: list[Parameter]) -> None:
        self.settings = self._build(self._current())
        self._changed(frozenset(parameter.name for parameter in parameters))

    def _current(self) -> dict[str, Any]:
        parameters = self._node.get_parameters_by_prefix('')
        return {name: parameter.value for name, parameter in parameters.items()}


def _prefix(group: str) -> str:
    return '' if group == UNGROUPED else f'{group}.'
