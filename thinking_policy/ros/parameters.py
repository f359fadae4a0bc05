# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""ROS parameters of the policy node, made from the typed configuration.

Names, defaults, help and ranges come from the dataclasses' metadata. A change is checked in the
on-set callback, against the whole configuration that would result, and applied in the post-set
one. What decides the tensors may change only while the node isn't active.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from thinking_policy.ros.declaring import (
    declare,
    declare_fields,
    given_parameters,
    nested,
    options_from_mapping,
    unknown_names,
)
from thinking_policy.ros.node_options import NodeOptions
from thinking_policy.ros.threshold_parameters import PREFIX, ThresholdParameters
from thinking_policy.situation.configuration import (
    EpisodeConfig,
    EventConfig,
    SignalConfig,
    SituationConfig,
)
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.robot_file import (
    configuration_from_mapping,
    load_parameters,
    situation_keys,
)

_ELSEWHERE = ('qos_overrides.', PREFIX)


class NodeParameters:
    """The node's parameters: declared at start, checked when set, read as dataclasses.

    Attributes:
        situation: What the situation is made of, as the parameters stand.
        options: The node's own options, as the parameters stand.
        thresholds: Those of the policy's activities.
        overridden: Names that the user has set, in the parameter file or on the command line.
        warnings: Lines for the log: unknown names with close matches, defaults that stepped in.
    """

    situation: SituationConfig
    options: NodeOptions

    def __init__(
        self,
        node: Node,
        *,
        is_active: Callable[[], bool],
        changed: Callable[[frozenset[str]], None],
        defaults_path: Path,
    ) -> None:
        """Declare everything.

        Args:
            node: Node that holds the parameters.
            is_active: Whether the lifecycle state is active.
            changed: Called with the names after a change was applied.
            defaults_path: Parameter file that gives the signals where the user names none.

        Raises:
            SituationError: A parameter is unknown within a signal, of a wrong type or out of
                range; the message names it, what is allowed, and what was found.
        """
        self._node = node
        self._source = node.get_fully_qualified_name()
        self._is_active = is_active
        self._changed = changed
        self.warnings: list[str] = []
        given = given_parameters(node)
        self.thresholds = ThresholdParameters(node, given)
        self.overridden = frozenset(given)
        values = {name: value for name, value in given.items() if not name.startswith(_ELSEWHERE)}
        if 'signal_names' not in values:
            defaults = load_parameters(defaults_path)
            values = {
                **_flat(
                    {key: defaults[key] for key in defaults if key in ('signal_names', 'signals')}
                ),
                **values,
            }
            self.warnings.append(
                f'no signal_names given to {self._source}: the default signals of '
                f'{defaults_path} are used'
            )
        self.situation, self.options = self._build(values)
        self._declare_all()
        self.warnings += unknown_names(
            (
                name
                for name in given
                if not name.startswith(_ELSEWHERE) and not node.has_parameter(name)
            ),
            self._declared(),
        )
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def _build(self, values: Mapping[str, Any]) -> tuple[SituationConfig, NodeOptions]:
        tree = nested(values)
        if not tree.get('signal_names'):
            raise SituationError(f'{self._source}: signal_names: expected at least one signal')
        keys = situation_keys()
        situation = configuration_from_mapping(
            {key: value for key, value in tree.items() if key in keys}, self._source
        )
        return situation, options_from_mapping(NodeOptions, tree, f'{self._source}: ')

    def _declare_all(self) -> None:
        node, situation = self._node, self.situation
        names = {'text': 'signals in window order; the settings of each are in signals.<name>'}
        declare(node, 'signal_names', situation.names, names, tuple[str, ...], read_only=True)
        for signal in situation.signals:
            declare_fields(node, f'signals.{signal.name}.', signal, skip=['name'])
        declare_fields(node, '', situation)
        declare_fields(node, 'events.', situation.events)
        declare_fields(node, 'episode.', situation.episode)
        declare_fields(node, '', self.options, skip=['autostart'])
        autostart = next(f for f in dataclasses.fields(NodeOptions) if f.name == 'autostart')
        declare(
            node, 'autostart', self.options.autostart, autostart.metadata, bool, read_only=True
        )

    def _declared(self) -> list[str]:
        names = list(self._node.get_parameters_by_prefix(''))
        return [name for name in names if not name.startswith('qos_overrides.')]

    def _current(self) -> dict[str, Any]:
        return {
            name: parameter.value
            for name, parameter in self._node.get_parameters_by_prefix('').items()
            if not name.startswith(_ELSEWHERE)
        }

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            self._check_states(parameters)
            self._build(
                {
                    **self._current(),
                    **{p.name: p.value for p in parameters if not p.name.startswith(_ELSEWHERE)},
                }
            )
        except SituationError as error:
            reason = str(error).removeprefix(f'{self._source}: ')
            return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _check_states(self, parameters: list[Parameter]) -> None:
        if not self._is_active():
            return
        for parameter in parameters:
            if parameter.name in _fixed_while_active(self.situation):
                raise SituationError(
                    f'{parameter.name}: cannot change while the node is active; '
                    'deactivate it, set it, activate it again'
                )

    def _apply(self, parameters: list[Parameter]) -> None:
        self.situation, self.options = self._build(self._current())
        self._changed(frozenset(parameter.name for parameter in parameters))


def _fixed_while_active(situation: SituationConfig) -> frozenset[str]:
    fixed = set()
    for prefix, kind in (
        ('', SituationConfig),
        ('events.', EventConfig),
        ('episode.', EpisodeConfig),
        ('', NodeOptions),
        *((f'signals.{name}.', SignalConfig) for name in situation.names),
    ):
        fixed |= {
            prefix + field.name
            for field in dataclasses.fields(kind)
            if field.metadata and not field.metadata['dynamic']
        }
    return frozenset(fixed)


def _flat(tree: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f'{prefix}{name}.'))
        else:
            flat[prefix + name] = value
    return flat
