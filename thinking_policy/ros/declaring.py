# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""ROS parameters from dataclasses whose fields carry a default, a text and a range."""

from __future__ import annotations

import dataclasses
import difflib
import sys
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from thinking_policy.ros.node_options import NodeOptions
from thinking_policy.situation.checked_values import check_value
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.robot_file import situation_keys

Options = TypeVar('Options')

_LARGEST_INT = 2**63 - 1


def given_parameters(node: Node) -> dict[str, Any]:
    """Return what the user has set, in parameter files and on the command line."""
    # There is no public way to see what was given but not declared.
    overrides = getattr(node, '_parameter_overrides', {})
    return {name: parameter.value for name, parameter in overrides.items()}


def declare_options(node: Node, kind: type[Options]) -> Options:
    """Declare the parameters of a small node and return them; they don't change afterwards.

    Unknown names are said in the log, except those of the policy node: one file may serve both.

    Raises:
        SituationError: A wrong type, or a value outside its range or words.
    """
    given = given_parameters(node)
    options = options_from_mapping(kind, nested(given), f'{node.get_fully_qualified_name()}: ')
    declare_fields(node, '', options, read_only=True)
    unknown = [
        name for name in given if not (node.has_parameter(name) or is_of_the_policy_node(name))
    ]
    for line in unknown_names(unknown, node.get_parameters_by_prefix('')):
        node.get_logger().warning(line)
    return options


def is_of_the_policy_node(name: str) -> bool:
    """Whether the policy node has such a parameter: one file may serve several nodes."""
    of_policy = situation_keys() | {field.name for field in dataclasses.fields(NodeOptions)}
    return name.partition('.')[0] in (*of_policy, 'thresholds', 'qos_overrides')


def options_from_mapping(kind: type[Options], values: Mapping[str, Any], source: str) -> Options:
    """Return a dataclass from nested values; names that aren't in it are left alone.

    Args:
        kind: The dataclass.
        values: By field name.
        source: Begins the names in errors, such as `/robot1/node: group.`.

    Raises:
        SituationError: A wrong type, or a value outside its range or words.
    """
    hints = typing.get_type_hints(kind)
    return kind(
        **{
            field.name: check_value(
                f'{source}{field.name}', values[field.name], hints[field.name], field.metadata
            )
            for field in dataclasses.fields(kind)
            if field.name in values
        }
    )


def declare_fields(
    node: Node, prefix: str, values: Any, *, read_only: bool = False, skip: Iterable[str] = ()
) -> None:
    """Declare a parameter for each described field of a dataclass, with the value it has.

    Args:
        node: Node that holds the parameters.
        prefix: What the names begin with, such as `events.`.
        values: Instance of the dataclass.
        read_only: Whether they may never change.
        skip: Fields to leave out.
    """
    hints = typing.get_type_hints(type(values))
    for field in dataclasses.fields(values):
        if field.metadata and field.name not in skip:
            declare(
                node,
                prefix + field.name,
                getattr(values, field.name),
                field.metadata,
                hints[field.name],
                read_only=read_only,
            )


def declare(
    node: Node,
    name: str,
    value: Any,
    meta: Mapping[str, Any],
    hint: Any,
    *,
    read_only: bool = False,
) -> None:
    """Declare one parameter.

    Args:
        node: Node that holds it.
        name: Full name.
        value: Its value, already checked.
        meta: Text and range, as `option` makes it.
        hint: Its Python type.
        read_only: Whether it may never change.
    """
    how = descriptor(meta, hint, read_only=read_only)
    if isinstance(value, (list, tuple)) and not value:
        # rclpy takes an empty list for one of bytes: declared unset, then set with its type
        is_text = 'str' in str(hint)
        list_kind = Parameter.Type.STRING_ARRAY if is_text else Parameter.Type.DOUBLE_ARRAY
        how.read_only = False
        node.declare_parameter(name, None, how, ignore_override=True)
        node.set_parameters([Parameter(name, list_kind, [])])
        return
    value = list(value) if isinstance(value, tuple) else value
    node.declare_parameter(name, value, how, ignore_override=True)


def descriptor(
    meta: Mapping[str, Any],
    hint: Any,
    *,
    read_only: bool = False,
) -> ParameterDescriptor:
    """Return what tools show of a parameter, and what rclpy checks of it."""
    choices = [choice for choice in meta.get('choices') or () if choice]
    result = ParameterDescriptor(
        description=meta['text'],
        read_only=read_only,
        additional_constraints=f'one of: {", ".join(choices)}' if choices else '',
        # typed by us: a whole number is a fine value for a float, and an empty list has no type
        dynamic_typing=True,
    )
    if not meta.get('dynamic') and not read_only:
        result.additional_constraints = '; '.join(
            filter(None, (result.additional_constraints, 'not while active'))
        )
    low, high = meta.get('low'), meta.get('high')
    if low is None and high is None:
        return result
    if hint is int:
        result.integer_range = [
            IntegerRange(
                from_value=-_LARGEST_INT if low is None else int(low),
                to_value=_LARGEST_INT if high is None else int(high),
            )
        ]
    else:
        largest = sys.float_info.max
        result.floating_point_range = [
            FloatingPointRange(
                from_value=-largest if low is None else float(low),
                to_value=largest if high is None else float(high),
            )
        ]
    return result


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


def unknown_names(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a line for each name that nobody reads, with the closest known one."""
    known = list(known)
    lines = []
    for name in sorted(names):
        close = difflib.get_close_matches(name, known, n=1)
        hint = f'; did you mean {close[0]!r}?' if close else ''
        lines.append(f'unknown parameter {name!r} is ignored{hint}')
    return lines


def _plain(value: Any) -> Any:
    if value is None:
        return []
    return value if isinstance(value, (str, bool, int, float, list, Mapping)) else list(value)
