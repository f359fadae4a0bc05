# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Leaves out definitions of message types that take minutes or gigabytes to work with.

A parser takes a second for some thousand fields, and what turns ROS 1 messages into CDR goes
through every element of every array of a fixed length: a few bytes can ask for billions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from thinking_policy.bags.storage import Definition

MOST_LINES = 5000  # of a definition, without comments; the largest in use have some hundred
MOST_ELEMENTS = 100_000  # of a ROS 1 message, but for lists of numbers
_DEEPEST = 50  # types inside types
_FIELD = re.compile(
    r'^\s*([A-Za-z][\w/]*)(?:<=\d+)?(\[(?:<=)?\d*\])?\s+[A-Za-z]\w*\s*($|#|[^=#\s])'
)

Field = tuple[str, int]
"""Type, and how many there are; -1 for a sequence."""


def workable(
    definitions: Iterable[Definition], name: str, problems: Counter[str]
) -> Iterator[Definition]:
    """Yield the definitions that can be worked with; count the others in `problems`.

    Args:
        definitions: As stored in a bag.
        name: How the user knows the file.
        problems: What is lost, with how often.
    """
    for definition in definitions:
        why = excess(definition)
        if why:
            problems[f'{name}: definition of {definition.type} left out: {why}'] += 1
        else:
            yield definition


def excess(definition: Definition) -> str:
    """Say what is too much in a definition; nothing where all is well."""
    lines = [
        line for line in definition.text.split('\n') if line.strip() and line.lstrip()[0] != '#'
    ]
    if len(lines) > MOST_LINES:
        return f'{len(lines):,} lines, at most {MOST_LINES:,} are read'
    if definition.format != 'ros1msg':
        return ''
    try:
        elements = _elements('', _sections(lines), {}, ())
    except ValueError as error:
        return str(error)
    if elements > MOST_ELEMENTS:
        return f'{elements:,} elements in a message, at most {MOST_ELEMENTS:,} are read'
    return ''


def _sections(lines: list[str]) -> dict[str, list[Field]]:
    """Return the fields of each type by its last name; the outermost type is ''."""
    fields: list[Field] = []
    sections = {'': fields}
    for line in lines:
        if line.startswith('MSG:'):
            fields = sections[line[4:].strip().rsplit('/', 1)[-1]] = []
        elif match := _FIELD.match(line):
            count = (match[2] or '1').strip('[]')
            fields.append(
                (match[1].rsplit('/', 1)[-1], int(count[:30]) if count.isdigit() else -1)
            )
    return sections


def _elements(
    name: str, sections: dict[str, list[Field]], known: dict[str, int], around: tuple[str, ...]
) -> int:
    """Return how many elements a message of a type has, its sequences with one each.

    Raises:
        ValueError: Types that contain themselves, are too deep, or make lists of nothing.
    """
    if name in around or len(around) > _DEEPEST:
        raise ValueError('types that contain themselves, or too deep')
    if name not in known:
        total = 0
        for kind, count in sections[name]:
            if kind not in sections:  # lists of numbers are copied whole
                total += max(count, 1) if kind in ('string', 'wstring') else 1
                continue
            inside = _elements(kind, sections, known, (*around, name))
            if not inside and count < 0:
                raise ValueError('a sequence of elements that take no bytes')
            total += inside * max(count, 1) if inside else max(count, 0)
        known[name] = total
    return known[name]
