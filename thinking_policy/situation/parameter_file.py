# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Changes numbers of signals in the text of a parameter file; all else stays, comments too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from thinking_policy.situation.robot_file import NODE_NAME, is_for_the_node

# Where a number is added, it goes below the last of these that is there.
_BELOW = ('topic', 'type', 'unit', 'nominal_low', 'nominal_high', 'baseline_mean')


def with_signal_numbers(
    text: str, numbers: Mapping[str, Mapping[str, float]], namespace: str | None = None
) -> str:
    """Return a parameter file with other numbers in its signals.

    A number that is there is replaced where it counts, which is in the last section that holds
    it; one that isn't is added to the signal's settings. Both ways of writing names are known:
    nested, and with dots.

    Args:
        text: A parameter file that can be read.
        numbers: Signal → setting → number, such as `{'load': {'nominal_high': 2.0}}`.
        namespace: The node's, so that only sections change that ROS would give it; None: those
            of any namespace.

    Raises:
        KeyError: The file has no settings of that signal.
    """
    root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    everything = list(_entries(root, namespace))
    edits: list[tuple[int, int, str]] = []
    for signal, settings in numbers.items():
        entries = [entry for entry in everything if entry.path[:2] == ('signals', signal)]
        missing = {}
        for name, number in settings.items():
            there = [e for e in entries if e.path[2:] == (name,)]
            if there:
                value = there[-1].value
                edits.append((value.start_mark.index, value.end_mark.index, as_yaml(number)))
            else:
                missing[name] = number
        if missing:
            edits.append(_addition(text, signal, entries, missing))
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def as_yaml(number: float) -> str:
    """Return a number as YAML writes it, so that ROS reads it as a double."""
    return str(yaml.safe_dump(float(number))).split('\n', 1)[0]


@dataclass(frozen=True)
class _Entry:
    """A setting: its full name, and where it stands."""

    path: tuple[str, ...]
    key: yaml.ScalarNode
    value: yaml.Node
    mapping: yaml.MappingNode


def _entries(root: yaml.Node | None, namespace: str | None) -> Iterator[_Entry]:
    """Yield the settings of all sections for the node, those that count more later."""
    sections = root.value if isinstance(root, yaml.MappingNode) else []
    sections = sorted(sections, key=lambda pair: str(pair[0].value).strip('/') == NODE_NAME)
    for name, body in sections:
        if is_for_the_node(str(name.value), namespace) and isinstance(body, yaml.MappingNode):
            for key, parameters in body.value:
                if key.value == 'ros__parameters' and isinstance(parameters, yaml.MappingNode):
                    yield from _leaves(parameters, ())


def _leaves(mapping: yaml.MappingNode, above: tuple[str, ...]) -> Iterator[_Entry]:
    for key, value in mapping.value:
        path = (*above, *str(key.value).split('.'))
        if isinstance(value, yaml.MappingNode):
            yield from _leaves(value, path)
        else:
            yield _Entry(path, key, value, mapping)


def _addition(
    text: str, signal: str, entries: list[_Entry], missing: Mapping[str, float]
) -> tuple[int, int, str]:
    """Return the edit that adds settings to a signal: a position, twice, and what goes there."""
    if not entries:
        raise KeyError(signal)
    at = max(entries, key=lambda e: _BELOW.index(e.path[2]) if e.path[2] in _BELOW else -1)
    before = str(at.key.value).rpartition('.')[0]
    lines = [
        f'{before}.{name}: {as_yaml(number)}' if before else f'{name}: {as_yaml(number)}'
        for name, number in missing.items()
    ]
    if at.mapping.flow_style:
        return at.value.end_mark.index, at.value.end_mark.index, ''.join(f', {x}' for x in lines)
    indent = '\n' + ' ' * at.key.start_mark.column
    if not isinstance(at.value, yaml.ScalarNode) or at.value.style in ('|', '>'):
        # Where a list or text of several lines ends is not to be seen: above it, then.
        start = at.key.start_mark.index
        return start, start, ''.join(line + indent for line in lines)
    end = text.find('\n', at.value.end_mark.index)
    end = len(text) if end < 0 else end
    return end, end, ''.join(indent + line for line in lines)
