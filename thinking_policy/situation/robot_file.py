# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what a robot perceives from its file, an ordinary ROS parameter file, and checks it."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinking_policy.situation.checked_values import check_value, did_you_mean
from thinking_policy.situation.configuration import (
    EpisodeConfig,
    EventConfig,
    SignalConfig,
    SituationConfig,
)
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.field_paths import parse_path
from thinking_policy.situation.message_types import full_name
from thinking_policy.situation.requests import topic_requests
from thinking_policy.situation.yaml_file import read_yaml

NODE_NAME = 'thinking_policy'


def load_configuration(path: Path, namespace: str | None = None) -> SituationConfig:
    """Read the situation's part of a robot file; the node's own parameters are left alone.

    A name that is nearly one of the situation's is refused. `namespace` as in `load_parameters`.

    Raises:
        SituationError: As `load_parameters` and `configuration_from_mapping`.
    """
    values = load_parameters(path, namespace)
    keys = situation_keys()
    for key in values.keys() - keys:
        # Most are the node's own parameters; one that is nearly a name here is a slip.
        if close := difflib.get_close_matches(str(key), keys, n=1, cutoff=0.8):
            raise SituationError(f'{path}: unknown key {key!r}; did you mean {close[0]!r}?')
    return configuration_from_mapping(
        {key: value for key, value in values.items() if key in keys}, str(path)
    )


def load_parameters(path: Path, namespace: str | None = None) -> dict[str, Any]:
    """Return the `ros__parameters` that a ROS parameter file gives the policy node.

    Sections for `/**` and for the node's name are merged in that order.

    Args:
        path: The file.
        namespace: The node's, so that only the sections count that ROS would give it; None: the
            sections of any namespace do.

    Raises:
        SituationError: Not readable, not YAML, or no parameters for the node.
    """
    document = read_yaml(path, SituationError)
    merged: dict[str, Any] = {}
    if isinstance(document, dict):
        sections = sorted(document, key=lambda name: str(name).strip('/') == NODE_NAME)
        for section in sections:
            if is_for_the_node(str(section), namespace):
                body = document[section]
                values = body.get('ros__parameters') if isinstance(body, dict) else None
                if isinstance(values, dict):
                    _merge(merged, values)
    if not merged:
        names = [str(name)[:40] for name in document] if isinstance(document, dict) else []
        found = f'the sections {", ".join(names[:4])}' if names else 'no section'
        where = f' for the namespace /{namespace.strip("/")}' if namespace else ''
        raise SituationError(
            f'{path}: expected "/**/{NODE_NAME}: ros__parameters: ..." with names and values'
            f'{where}, found {found}'
        )
    return merged


def is_for_the_node(section: str, namespace: str | None) -> bool:
    """Whether parameters under this name reach the node; `*` is one part, `**` any number."""
    if section.split('/')[-1] not in ('**', '*', NODE_NAME):
        return False
    if namespace is None:
        return True
    pattern = re.escape('/' + section.strip('/'))
    pattern = pattern.replace(r'/\*\*', '(/[^/]+)*').replace(r'\*', '[^/]+')
    full_name = '/' + '/'.join(part for part in (namespace.strip('/'), NODE_NAME) if part)
    return re.fullmatch(pattern, full_name) is not None


def configuration_from_mapping(values: Mapping[str, Any], source: str) -> SituationConfig:
    """Build a configuration from nested names and values.

    Signals stand as `signal_names: [a, b]` and `signals: {a: {...}, b: {...}}`, which ROS
    parameters can carry; keys that belong to the node and not to the situation are left alone
    by the caller. Unset values take the defaults above.

    Args:
        values: Nested mapping, such as a parameter file's `ros__parameters`.
        source: File or node named in errors.

    Raises:
        SituationError: An unknown key, a wrong type, a number out of range, a signal without
            settings, or a topic read in two ways; the message names the key, what was expected
            and what was found.
    """
    rest = dict(values)
    names = rest.pop('signal_names', [])
    settings = rest.pop('signals', {})
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n for n in names):
        raise SituationError(f'{source}: signal_names: expected a list of names, found {names!r}')
    if not isinstance(settings, Mapping):
        raise SituationError(f'{source}: signals: expected a mapping, found {settings!r}')
    if len(set(names)) != len(names):
        raise SituationError(f'{source}: signal_names: {list(names)} names a signal twice')
    for name in settings:
        if name not in names:
            raise SituationError(
                f'{source}: signals.{name} is not in signal_names {list(names)}'
                f'{did_you_mean(name, names)}'
            )
    for name in names:
        if name not in settings:
            raise SituationError(
                f'{source}: signal_names has {name!r}, but signals.{name} is missing'
            )
    signals = tuple(
        _checked_signal(
            _build(SignalConfig, settings[name], f'{source}: signals.{name}', name=name),
            f'{source}: signals.{name}',
        )
        for name in names
    )
    events = _build(EventConfig, rest.pop('events', {}), f'{source}: events')
    episode = _build(EpisodeConfig, rest.pop('episode', {}), f'{source}: episode')
    config: SituationConfig = _build(
        SituationConfig, rest, source, signals=signals, events=events, episode=episode
    )
    try:
        topic_requests(config)
    except SituationError as error:
        raise SituationError(f'{source}: {error}') from error
    return config


def situation_keys() -> frozenset[str]:
    """Return the top-level names in a parameter file that belong to the situation."""
    return frozenset(f.name for f in dataclasses.fields(SituationConfig)) | {'signal_names'}


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        head, _, tail = str(key).partition('.')
        if tail:
            value = {tail: value}
        if isinstance(value, Mapping):
            child = into.setdefault(head, {})
            if isinstance(child, dict):
                _merge(child, value)
                continue
        into[head] = value


def _build(kind: Any, values: Any, where: str, **given: Any) -> Any:
    """Fill a dataclass from a mapping, refusing what it does not know or cannot hold."""
    if not isinstance(values, Mapping):
        raise SituationError(f'{where}: expected names and values, found {values!r}')
    fields = {f.name: f for f in dataclasses.fields(kind) if f.metadata and f.name not in given}
    hints = typing.get_type_hints(kind)
    separator = ': ' if kind is SituationConfig else '.'  # elsewhere `where` ends with a name
    for key, value in values.items():
        if key not in fields:
            raise SituationError(f'{where}: unknown key {key!r}{did_you_mean(key, fields)}')
        given[key] = check_value(
            f'{where}{separator}{key}', value, hints[key], fields[key].metadata
        )
    return kind(**given)


def _checked_signal(signal: SignalConfig, where: str) -> SignalConfig:
    if signal.topic and not (signal.type and signal.field):
        missing = 'type' if not signal.type else 'field'
        raise SituationError(f'{where}: has topic {signal.topic!r}, but {missing} is empty')
    if signal.topic:
        try:
            parse_path(signal.field)
            full_name(signal.type)
        except SituationError as error:
            raise SituationError(f'{where}: {error}') from error
    if not (math.isfinite(signal.scale) and math.isfinite(signal.offset)):
        raise SituationError(
            f'{where}: expected scale and offset to be finite, '
            f'found {signal.scale} and {signal.offset}'
        )
    width = signal.nominal_high - signal.nominal_low
    if not (math.isfinite(width) and width > 0.0):
        raise SituationError(
            f'{where}: expected nominal_low < nominal_high, both finite, '
            f'found {signal.nominal_low}...{signal.nominal_high}'
        )
    mean, spread = signal.baseline_mean, signal.baseline_spread
    if not (math.isnan(mean) and math.isnan(spread)) and not (
        math.isfinite(mean) and math.isfinite(spread) and spread > 0.0
    ):
        raise SituationError(
            f'{where}: expected baseline_mean and baseline_spread > 0, both finite or both '
            f'.nan, found {mean} and {spread}'
        )
    if signal.valid_low > signal.valid_high:
        raise SituationError(
            f'{where}: expected valid_low <= valid_high, '
            f'found {signal.valid_low}...{signal.valid_high}'
        )
    if signal.limit_low >= signal.limit_high:
        raise SituationError(
            f'{where}: expected limit_low < limit_high, '
            f'found {signal.limit_low}...{signal.limit_high}'
        )
    return signal
