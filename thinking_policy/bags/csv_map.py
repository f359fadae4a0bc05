# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How the columns of a table become messages: the map file of `bag from-csv`."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from thinking_policy.bags.errors import BagError
from thinking_policy.situation.checked_values import as_float
from thinking_policy.situation.yaml_file import read_yaml

_TOPIC = re.compile(r'/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*', re.ASCII)
TIME_UNITS = {'s': 9, 'ms': 6, 'us': 3, 'ns': 0}
"""Units of numeric times, with the decimal places that nanoseconds have more."""


@dataclass(frozen=True)
class TimeColumn:
    """Where a row's time stands.

    Attributes:
        column: Name of the column.
        format: `iso` (2026-11-30T16:58:37.5), a strptime format, or s, ms, us, ns for numbers
            since 1970.
        timezone: For times that don't name one, such as Europe/Berlin. In the hour that comes
            twice in autumn a time that would run backwards is taken as the second.
    """

    column: str = ''
    format: str = 'iso'
    timezone: str = 'UTC'


@dataclass(frozen=True)
class Column:
    """Where a column's numbers go: `number * scale + offset` into a field of a message.

    Attributes:
        topic: Columns of the same topic fill one message a row.
        type: Message type; may be left out where another column of the topic says it.
        field: Path into the message, such as `linear_acceleration.x` or `effort[0]`.
        scale: Multiplies the number.
        offset: Added after scaling.
        frame_id: For the message's header; may be left out where another column says it.
        optional: No error where the table lacks the column.
    """

    topic: str = ''
    type: str = ''
    field: str = ''
    scale: float = 1.0
    offset: float = 0.0
    frame_id: str = ''
    optional: bool = False


@dataclass(frozen=True)
class CsvMap:
    """A whole map file; `constants` gives fields of a topic's message that never change.

    `source` is the file, named in errors.
    """

    time: TimeColumn
    columns: Mapping[str, Column]
    separator: str = ','
    decimal: str = '.'
    encoding: str = 'utf-8-sig'
    constants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = 'map'


def load_csv_map(path: Path) -> CsvMap:
    """Read and check a map file.

    Raises:
        BagError: Not readable, an unknown key, a missing or contradicting setting; the message
            names the file, the key, what was expected and what was found.
    """
    values = _mapping(read_yaml(path, BagError), str(path))
    known = [f.name for f in dataclasses.fields(CsvMap) if f.name != 'source']
    _refuse_unknown(values, known, str(path))
    time = _fill(TimeColumn, values.get('time', {}), f'{path}: time')
    if not time.column:
        raise BagError(f'{path}: time.column is missing: the name of the column with the times')
    _check_timezone(time, path)
    _check_format(time, path)
    columns = {
        str(name): _fill(Column, body, f'{path}: columns.{name}')
        for name, body in _mapping(values.get('columns', {}), f'{path}: columns').items()
    }
    if not columns:
        raise BagError(f'{path}: columns is empty: expected column names with topic, type, field')
    constants = {
        str(topic): _mapping(body, f'{path}: constants.{topic}')
        for topic, body in _mapping(values.get('constants', {}), f'{path}: constants').items()
    }
    texts = {
        name: _text(values, name, path)
        for name in ('separator', 'decimal', 'encoding')
        if name in values
    }
    separator = texts.get('separator', ',')
    if len(separator) != 1 or separator in '"\r\n':
        raise BagError(
            f'{path}: separator: expected one character, no quote or line break, '
            f'found {separator!r}'
        )
    if texts.get('decimal', '.') not in ('.', ','):
        raise BagError(f"{path}: decimal: expected '.' or ',', found {texts['decimal']!r}")
    return CsvMap(
        time, _checked(columns, constants, path), constants=constants, source=str(path), **texts
    )


def zone_of(name: str) -> tzinfo:
    """Return a timezone; UTC also where the machine has no table of timezones.

    Raises:
        KeyError: No such timezone.
    """
    try:
        return timezone.utc if name == 'UTC' else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise KeyError(name) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint at the most similar known name, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=2, cutoff=0.5)
    return f'; did you mean {" or ".join(repr(c) for c in close)}?' if close else ''


def _checked(
    columns: Mapping[str, Column], constants: Mapping[str, Mapping[str, Any]], path: Path
) -> dict[str, Column]:
    """Complete what columns of one topic share, and refuse what contradicts itself."""
    shared: dict[str, dict[str, str]] = {}
    taken: dict[tuple[str, str], str] = {}
    for name, column in columns.items():
        where = f'{path}: columns.{name}'
        for key in ('topic', 'field'):
            if not getattr(column, key):
                raise BagError(f'{where}.{key} is missing')
        if not _TOPIC.fullmatch(column.topic):
            raise BagError(
                f'{where}.topic: expected letters, digits, _ and /, such as /motor/temperature, '
                f'found {column.topic!r:.80}'
            )
        place = column.topic, column.field
        if place in taken:
            raise BagError(
                f'{where}: {column.topic} {column.field} is filled by {taken[place]!r} already'
            )
        taken[place] = name
        known = shared.setdefault(column.topic, {})
        for key in ('type', 'frame_id'):
            value = getattr(column, key)
            if value and known.setdefault(key, value) != value:
                raise BagError(
                    f'{where}.{key}: {value!r}, but another column of '
                    f'{column.topic} says {known[key]!r}'
                )
    for topic in constants:
        if topic not in shared:
            raise BagError(
                f'{path}: constants.{topic}: no column has that topic{did_you_mean(topic, shared)}'
            )
    complete = {}
    for name, column in columns.items():
        known = shared[column.topic]
        if 'type' not in known:
            raise BagError(
                f'{path}: columns.{name}.type is missing, such as sensor_msgs/msg/Temperature'
            )
        complete[name] = dataclasses.replace(
            column, type=known['type'], frame_id=known.get('frame_id', '')
        )
    return complete


def _check_timezone(time: TimeColumn, path: Path) -> None:
    try:
        zone_of(time.timezone)
    except KeyError as error:
        raise BagError(
            f'{path}: time.timezone: expected a name such as UTC or Europe/Berlin, '
            f'found {time.timezone!r}'
        ) from error


def _check_format(time: TimeColumn, path: Path) -> None:
    if time.format == 'iso' or time.format in TIME_UNITS:
        return
    example = datetime(2026, 11, 30, 16, 58, 37)
    try:
        known = datetime.strptime(example.strftime(time.format), time.format).year == example.year
    except (ValueError, re.error):
        known = False
    if not known:
        raise BagError(
            f'{path}: time.format: expected iso, {", ".join(TIME_UNITS)} or a strptime format '
            f"that holds the year, such as '%d.%m.%Y %H:%M:%S', found {time.format!r}"
        )


def _fill(kind: Any, values: Any, where: str) -> Any:
    values = _mapping(values, where)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    _refuse_unknown(values, fields, where)
    given: dict[str, Any] = {}
    for key, value in values.items():
        wanted = type(fields[key].default)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = as_float(value)
        if type(value) is not wanted or (isinstance(value, float) and not math.isfinite(value)):
            raise BagError(f'{where}.{key}: expected {wanted.__name__}, found {value!r:.80}')
        given[key] = value
    return kind(**given)


def _refuse_unknown(values: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in values:
        if key not in known:
            raise BagError(f'{where}: unknown key {key!r}{did_you_mean(str(key), known)}')


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BagError(f'{where}: expected names and values, found {value!r:.80}')
    return value


def _text(values: Mapping[str, Any], name: str, path: Path) -> str:
    value = values[name]
    if not isinstance(value, str):
        raise BagError(f'{path}: {name}: expected text, found {value!r:.80}')
    return value
