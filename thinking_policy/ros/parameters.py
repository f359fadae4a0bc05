# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""ROS parameters of the policy node, made from the typed configuration.

Names, defaults, help and ranges come from the dataclasses' metadata. A change is checked in the
on-set callback, against the whole configuration that would result, and applied in the post-set
one. What decides the tensors may change only while the node isn't active.
"""

from __future__ import annotations

import dataclasses
import difflib
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from thinking_policy.situation.configuration import (
    EpisodeConfig,
    EventConfig,
    SignalConfig,
    SituationConfig,
    check_value,
    configuration_from_mapping,
    load_parameters,
    option,
    situation_keys,
)
from thinking_policy.situation.errors import SituationError

READ_ONLY = ('signal_names', 'autostart')
_NOT_OURS = ('qos_overrides.', 'thresholds.')
_PROBABILITY = {'low': 0.0, 'high': 1.0}
_LARGEST_INT = 2**63 - 1


@dataclass(frozen=True)
class NodeOptions:
    """What the node itself can be told, beside what the situation is made of."""

    policy_path: str = option(
        '', 'policy file (.onnx); empty: the bundled one; ~/reload_policy loads it', dynamic=True
    )
    public_key_path: str = option(
        '', 'Ed25519 public key (PEM); set: a policy without a valid signature is refused'
    )
    baseline_path: str = option(
        '', 'what is normal for this robot (JSON), for the novelty; empty: its nominal ranges'
    )
    robot_id: str = option('', 'name of this robot in episodes and diagnostics')
    autostart: bool = option(True, 'configure and activate at start, without a lifecycle manager')
    publish: str = option(
        'every_tick',
        'when thinking/activations is published: every_tick, or on_change of what '
        'is active and with a heartbeat',
        choices=('every_tick', 'on_change'),
        dynamic=True,
    )
    heartbeat_s: float = option(
        5.0, 'on_change: at least so often; seconds', low=0.0, high=3600.0, dynamic=True
    )
    minimum_hold_s: float = option(
        2.0,
        'an activity stays active at least so long; seconds',
        low=0.0,
        high=3600.0,
        dynamic=True,
    )
    novelty_threshold: float = option(
        3.0,
        'novelty above this is unusual; standard deviations',
        low=0.0,
        high=1000.0,
        dynamic=True,
    )
    qos_reliability: str = option(
        'best_effort',
        'how sensor topics are subscribed: best_effort hears every publisher, '
        'reliable only reliable ones',
        choices=('best_effort', 'reliable'),
    )
    qos_rate_hz: float = option(
        200.0,
        'fastest rate expected on a topic; the first queue holds two ticks of it',
        low=1.0,
        high=100_000.0,
    )
    qos_depth: int = option(
        0,
        'queue of every subscription in messages; 0: follows what comes in',
        low=0,
        high=1_000_000,
    )
    diagnostics_period_s: float = option(
        1.0, 'period of /diagnostics; seconds', low=0.1, high=60.0, dynamic=True
    )
    grace_period_s: float = option(
        5.0,
        'so long a signal or the clock may be silent before it is said; seconds',
        low=0.0,
        high=3600.0,
        dynamic=True,
    )
    state_path: str = option(
        '',
        'file that keeps when each event last happened; empty: in ROS_HOME, and not kept '
        'under sim time; off: never kept',
    )


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `{'a.b': 1}` as `{'a': {'b': 1}}`; an unset value is an empty list."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        branch = tree
        *path, leaf = name.split('.')
        for part in path:
            child = branch.setdefault(part, {})
            if not isinstance(child, dict):
                raise SituationError(f'{name}: {part!r} is a value and can hold no names')
            branch = child
        branch[leaf] = _plain(value)
    return tree


def options_from_mapping(values: Mapping[str, Any], source: str) -> NodeOptions:
    """Return the node's own options; names that aren't among them are left alone.

    Raises:
        SituationError: A wrong type, or a value outside its range or words.
    """
    hints = typing.get_type_hints(NodeOptions)
    given = {
        field.name: check_value(
            f'{source}: {field.name}', values[field.name], hints[field.name], field.metadata
        )
        for field in dataclasses.fields(NodeOptions)
        if field.name in values
    }
    return NodeOptions(**given)


class NodeParameters:
    """The node's parameters: declared at start, checked when set, read as dataclasses.

    Attributes:
        situation: What the situation is made of, as the parameters stand.
        options: The node's own options, as the parameters stand.
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
        defaults_path: Any,
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
        self._policy_thresholds: dict[str, tuple[float, float]] = {}
        self.warnings: list[str] = []
        # There is no public way to see what was given but not declared.
        given = {
            name: parameter.value
            for name, parameter in getattr(node, '_parameter_overrides', {}).items()
        }
        self._given = given
        self.overridden = frozenset(given)
        values = {name: value for name, value in given.items() if not name.startswith(_NOT_OURS)}
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
                if not name.startswith(_NOT_OURS) and not node.has_parameter(name)
            ),
            self._declared(),
        )
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def declare_thresholds(self, thresholds: Mapping[str, tuple[float, float]]) -> list[str]:
        """Declare `thresholds.<id>.on` and `.off` for the activities of a policy.

        A value that the user has set is kept over a change of the policy; others follow it.
        Where only the on-threshold was given, the off-threshold keeps its distance below it.

        Args:
            thresholds: On- and off-threshold per activity id, as the policy has them.

        Returns:
            Lines for the log about overrides of activities that the policy doesn't know.

        Raises:
            SituationError: An override that is no number in 0...1, or off above on.
        """
        before = self._policy_thresholds
        for activity, (on, off) in thresholds.items():
            name = f'thresholds.{activity}'
            if self._node.has_parameter(f'{name}.on'):
                self._follow(name, before.get(activity), (on, off))
                continue
            given = self._given.get(f'{name}.on', on)
            check_value(f'{name}.on', given, float, _PROBABILITY)
            own = (given, self._given.get(f'{name}.off', max(0.0, given - (on - off))))
            check_value(f'{name}.off', own[1], float, _PROBABILITY)
            for word, value in zip(('on', 'off'), own, strict=True):
                descriptor = _descriptor(
                    {
                        **_PROBABILITY,
                        'text': f'probability at which {activity} becomes '
                        f'{"active" if word == "on" else "inactive"}; default: as the policy says',
                        'dynamic': True,
                    },
                    float,
                )
                self._declare_checked(f'{name}.{word}', value, descriptor)
        self._policy_thresholds = dict(thresholds)
        return unknown_names(
            (
                name
                for name in self._given
                if name.startswith('thresholds.') and not self._node.has_parameter(name)
            ),
            [f'thresholds.{activity}.{word}' for activity in thresholds for word in ('on', 'off')],
        )

    def _declare_checked(self, name: str, value: float, descriptor: ParameterDescriptor) -> None:
        try:
            self._node.declare_parameter(name, value, descriptor, ignore_override=True)
        except InvalidParameterValueException as error:
            raise SituationError(str(error)) from error

    def _follow(
        self, name: str, before: tuple[float, float] | None, now: tuple[float, float]
    ) -> None:
        """Let thresholds that stand as the last policy had them become this policy's."""
        names = (f'{name}.on', f'{name}.off')
        standing = tuple(self._node.get_parameter(n).value for n in names)
        if standing == before != now:
            self._node.set_parameters_atomically(
                [Parameter(n, value=value) for n, value in zip(names, now, strict=True)]
            )

    def thresholds(self) -> dict[str, tuple[float, float]]:
        """Return on- and off-threshold in force per activity id of the policy."""
        return {
            activity: (
                float(self._node.get_parameter(f'thresholds.{activity}.on').value),
                float(self._node.get_parameter(f'thresholds.{activity}.off').value),
            )
            for activity in self._policy_thresholds
        }

    def _build(self, values: Mapping[str, Any]) -> tuple[SituationConfig, NodeOptions]:
        tree = nested(values)
        if not tree.get('signal_names'):
            raise SituationError(f'{self._source}: signal_names: expected at least one signal')
        keys = situation_keys()
        situation = configuration_from_mapping(
            {key: value for key, value in tree.items() if key in keys}, self._source
        )
        return situation, options_from_mapping(tree, self._source)

    def _declare_all(self) -> None:
        names = list(self.situation.names)
        self._declare(
            'signal_names',
            names,
            {'text': 'signals in window order; each has its settings under signals.<name>'},
            tuple[str, ...],
        )
        for signal in self.situation.signals:
            self._declare_fields(f'signals.{signal.name}.', signal, skip=('name',))
        self._declare_fields('', self.situation)
        self._declare_fields('events.', self.situation.events)
        self._declare_fields('episode.', self.situation.episode)
        self._declare_fields('', self.options)

    def _declare_fields(self, prefix: str, values: Any, skip: Sequence[str] = ()) -> None:
        hints = typing.get_type_hints(type(values))
        for field in dataclasses.fields(values):
            if field.metadata and field.name not in skip:
                self._declare(
                    prefix + field.name,
                    getattr(values, field.name),
                    field.metadata,
                    hints[field.name],
                )

    def _declare(self, name: str, value: Any, meta: Mapping[str, Any], hint: Any) -> None:
        descriptor = _descriptor(meta, hint, read_only=name in READ_ONLY)
        if isinstance(value, (list, tuple)) and not value:
            # rclpy takes an empty list for one of bytes: declared unset, then set with its type
            is_text = 'str' in str(hint)
            kind = Parameter.Type.STRING_ARRAY if is_text else Parameter.Type.DOUBLE_ARRAY
            self._node.declare_parameter(name, None, descriptor, ignore_override=True)
            self._node.set_parameters([Parameter(name, kind, [])])
            return
        value = list(value) if isinstance(value, tuple) else value
        self._node.declare_parameter(name, value, descriptor, ignore_override=True)

    def _declared(self) -> list[str]:
        names = list(self._node.get_parameters_by_prefix(''))
        return [name for name in names if not name.startswith('qos_overrides.')]

    def _current(self) -> dict[str, Any]:
        return {
            name: parameter.value
            for name, parameter in self._node.get_parameters_by_prefix('').items()
            if not name.startswith(_NOT_OURS)
        }

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            self._check_states(parameters)
            self._build(
                {
                    **self._current(),
                    **{p.name: p.value for p in parameters if not p.name.startswith(_NOT_OURS)},
                }
            )
            self._check_thresholds(parameters)
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

    def _check_thresholds(self, parameters: list[Parameter]) -> None:
        changes = {p.name: p.value for p in parameters if p.name.startswith('thresholds.')}
        for name, value in changes.items():
            check_value(name, value, float, _PROBABILITY)
        for activity in {name.split('.')[1] for name in changes}:
            ends = []
            for word in ('on', 'off'):
                name = f'thresholds.{activity}.{word}'
                if name not in changes and not self._node.has_parameter(name):
                    break  # its partner is about to be declared
                ends.append(
                    changes.get(name) if name in changes else self._node.get_parameter(name).value
                )
            if len(ends) == 2 and ends[1] > ends[0]:
                raise SituationError(
                    f'thresholds.{activity}: expected off <= on, found off {ends[1]} > on '
                    f'{ends[0]}'
                )

    def _apply(self, parameters: list[Parameter]) -> None:
        self.situation, self.options = self._build(self._current())
        self._changed(frozenset(parameter.name for parameter in parameters))


def unknown_names(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a line for each name that nobody reads, with the closest known one."""
    known = list(known)
    lines = []
    for name in sorted(names):
        close = difflib.get_close_matches(name, known, n=1)
        hint = f'; did you mean {close[0]!r}?' if close else ''
        lines.append(f'unknown parameter {name!r} is ignored{hint}')
    return lines


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


def _descriptor(
    meta: Mapping[str, Any],
    hint: Any,
    *,
    read_only: bool = False,
) -> ParameterDescriptor:
    choices = [choice for choice in meta.get('choices') or () if choice]
    descriptor = ParameterDescriptor(
        description=meta['text'],
        read_only=read_only,
        additional_constraints=f'one of: {", ".join(choices)}' if choices else '',
        # typed by us: a whole number is a fine value for a float, and an empty list has no type
        dynamic_typing=True,
    )
    if not meta.get('dynamic') and not read_only:
        descriptor.additional_constraints = '; '.join(
            filter(None, (descriptor.additional_constraints, 'not while active'))
        )
    low, high = meta.get('low'), meta.get('high')
    if low is None and high is None:
        return descriptor
    if hint is int:
        descriptor.integer_range = [
            IntegerRange(
                from_value=-_LARGEST_INT if low is None else int(low),
                to_value=_LARGEST_INT if high is None else int(high),
            )
        ]
    else:
        largest = sys.float_info.max
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=-largest if low is None else float(low),
                to_value=largest if high is None else float(high),
            )
        ]
    return descriptor


def _plain(value: Any) -> Any:
    if value is None:
        return []
    return value if isinstance(value, (str, bool, int, float, list, Mapping)) else list(value)


def _flat(tree: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f'{prefix}{name}.'))
        else:
            flat[prefix + name] = value
    return flat
