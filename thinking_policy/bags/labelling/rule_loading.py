# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a file of rules; an error names the file, the rule, the field and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.rule_file import (
    ALL,
    Condition,
    CorrelationBroken,
    EventSeen,
    Outcome,
    Rule,
    RuleFile,
)
from thinking_policy.bags.labelling.rule_names import check_known, check_precedence
from thinking_policy.situation.checked_values import did_you_mean
from thinking_policy.situation.yaml_file import read_yaml

# Kinds of faults that pydantic tells in words of Python.
_WORDS = {
    'tuple_type': 'a list',
    'model_type': 'names and values',
    'model_attributes_type': 'names and values',
    'dict_type': 'names and values',
    'string_pattern_mismatch': 'lower-case letters, digits and _',
    'float_parsing': 'a number',
    'float_type': 'a number',
    'int_parsing': 'a whole number',
    'int_from_float': 'a whole number',
    'string_type': 'text',
    'string_too_short': 'text, not nothing',
    'too_short': 'at least {min_length} in the list',
    'too_long': 'no more than {max_length} in the list',
    'finite_number': 'a number',
    'greater_than': 'a number above {gt:.12g}',
    'greater_than_equal': 'a number from {ge:.12g} on',
    'less_than': 'a number below {lt:.12g}',
    'less_than_equal': 'a number up to {le:.12g}',
}
_DENIES = "a list of ids, or 'all'"  # the one field that may be of two types


def load_rules(path: Path, signals: Sequence[str], activities: Sequence[str]) -> RuleFile:
    """Read a file of rules and outcomes.

    Args:
        path: YAML, as `RuleFile` describes it.
        signals: Names that conditions may use.
        activities: Ids that rules may call for.

    Raises:
        LabelError: Not readable, or something in it is wrong.
    """
    document = read_yaml(path, LabelError)
    if not isinstance(document, Mapping):
        raise LabelError(f'{path}: expected rules: or outcomes:, found {document!r:.80}')
    try:
        rules = RuleFile.model_validate(document)
    except ValidationError as error:
        raise LabelError(_complaint(path, document, error)) from error
    if not rules.rules and not rules.outcomes:
        raise LabelError(f'{path}: expected at least one entry under rules: or outcomes:')
    check_rules(rules, signals, activities, str(path))
    return rules


def check_rules(
    rules: RuleFile, signals: Sequence[str], activities: Sequence[str], source: str
) -> None:
    """Check the names in rules against what the robot has.

    Raises:
        LabelError: An unknown signal, activity or origin, or a name that stands twice.
    """
    groups: dict[str, tuple[Rule | Outcome, ...]] = {
        'rules': rules.rules,
        'outcomes': rules.outcomes,
    }
    for kind, entries in groups.items():
        names = [entry.name for entry in entries]
        for index, entry in enumerate(entries):
            where = f'{source}: {kind}[{index}] {entry.name!r}'
            if names.index(entry.name) < index:
                raise LabelError(f'{where}: another one of {kind} has that name')
            for field, ids in _activities(entry):
                check_known(ids, activities, f'{where}: {field}', 'activity')
            if entry.when is not None:
                check_known(_signals(entry.when), signals, f'{where}: when', 'signal')
    check_precedence(rules.precedence, origins_of(rules), source)


def origins_of(rules: RuleFile) -> list[str]:
    """Return `rule:NAME` and `outcome:NAME` of all that a file holds."""
    return [
        *(f'rule:{rule.name}' for rule in rules.rules),
        *(f'outcome:{outcome.name}' for outcome in rules.outcomes),
    ]


def signals_of(rules: RuleFile) -> tuple[str, ...]:
    """Return the signals that the conditions of a file look at."""
    conditions = [rule.when for rule in rules.rules]
    conditions += [outcome.when for outcome in rules.outcomes if outcome.when is not None]
    return tuple(dict.fromkeys(name for condition in conditions for name in _signals(condition)))


def events_of(rules: RuleFile) -> list[tuple[str, str]]:
    """Return (what of the file, code or pattern) for all events that a file waits for."""
    found = [
        (f'rule {rule.name}', part.code) for rule in rules.rules for part in _events(rule.when)
    ]
    for outcome in rules.outcomes:
        where = f'outcome {outcome.name}'
        if outcome.event is not None:
            found.append((where, outcome.event))
        if outcome.when is not None:
            found += [(where, part.code) for part in _events(outcome.when)]
    return found


def _activities(entry: Rule | Outcome) -> Iterator[tuple[str, Sequence[str]]]:
    if isinstance(entry, Rule):
        yield 'activities', entry.activities
        yield 'denies', () if entry.denies == ALL else entry.denies
    else:
        yield 'before', entry.before
        yield 'at', entry.at


def _signals(condition: Condition) -> Iterator[str]:
    part = condition.part
    if isinstance(part, Condition):
        yield from _signals(part)
    elif isinstance(part, tuple):
        for inner in part:
            yield from _signals(inner)
    elif isinstance(part, CorrelationBroken):
        yield from part.signals
    elif hasattr(part, 'signal'):
        yield part.signal


def _events(condition: Condition) -> Iterator[EventSeen]:
    part = condition.part
    if isinstance(part, EventSeen):
        yield part
    for inner in part if isinstance(part, tuple) else (part,):
        if isinstance(inner, Condition):
            yield from _events(inner)


def _complaint(path: Path, document: Any, error: ValidationError) -> str:
    """Return the first complaint in words that name the place."""
    faults = error.errors(include_url=False)
    # A misspelt key is why the right one is missing.
    fault = next((f for f in faults if f['type'] == 'extra_forbidden'), faults[0])
    place = [part for part in fault['loc'] if not _is_of_pydantic(part)]
    where = str(path)
    at: Any = document
    for depth, part in enumerate(place):
        at = _inside(at, part)
        if depth == 0:
            where += f': {part}'
        else:
            where += f'[{part}]' if isinstance(part, int) else f'.{part}'
        if depth == 1 and isinstance(at, Mapping) and isinstance(at.get('name'), str):
            where += f' {at["name"]!r}'
    if fault['type'] == 'extra_forbidden':
        known = _known_keys(place[:-1])
        return f'{where}: unknown key; known are {", ".join(known)}' + did_you_mean(
            str(place[-1]), known
        )
    if fault['type'] == 'missing':
        return f'{where} is missing'
    said = fault['msg'].removeprefix('Value error, ').removeprefix('Input should be ')
    if fault['type'] == 'value_error':
        return f'{where}: {said}'
    said = _WORDS.get(fault['type'], said).format(**fault.get('ctx', {}))
    if fault['loc'] and _is_of_pydantic(fault['loc'][-1]) and place[-1] == 'denies':
        said = _DENIES
    return f'{where}: expected {said}, found {fault["input"]!r:.80}'


def _is_of_pydantic(part: Any) -> bool:
    """Tell whether a part of a place names a type, not a key of the document."""
    return isinstance(part, str) and part.startswith(('function-', 'tuple[', 'literal['))


def _inside(at: Any, part: Any) -> Any:
    try:
        return at[part]
    except (KeyError, IndexError, TypeError):
        return None


def _known_keys(place: Sequence[Any]) -> list[str]:
    """Return the keys that may stand at a place of the document."""
    model: Any = RuleFile
    for part in place:
        if isinstance(part, int):
            continue
        field = next(
            (f for name, f in model.model_fields.items() if part in (f.alias or name, name)), None
        )
        model = model_in(field.annotation) if field else None
        if model is None:
            return []
    return [field.alias or name for name, field in model.model_fields.items()]


def model_in(annotation: Any) -> Any:
    """Return the model that an annotation such as `tuple[Rule, ...] | None` holds."""
    if isinstance(annotation, type) and hasattr(annotation, 'model_fields'):
        return annotation
    for inner in getattr(annotation, '__args__', ()):
        found = model_in(inner)
        if found is not None:
            return found
    return None
