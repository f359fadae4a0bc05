# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a person marked: spans of time with the thinking that they call for, from a CSV.

A heading, then a span in each line; `,` `;` or tabs between the cells. A line `sep=;` may stand
before the heading. Columns by the names that annotation tools use, in any order:

| column | names | content |
|---|---|---|
| from | from, start, begin, start_time, begin_time, onset | time |
| to | to, end, stop, end_time, offset | time; belongs to the span |
| duration | duration | seconds, instead of `to` |
| activity | activity, activities, label, labels, annotation, tag, category | ids or titles, joined by `;` or `|`; `!id`: not called for; none: nothing is |
| value | value, answer | optional; yes, no or unsure; 1, 0 |
| bag | bag, recording, file | optional; name of the recording |
| confidence | confidence | optional, 0...1 |

Times are ISO 8601 (UTC where none is said), seconds, milliseconds, microseconds or nanoseconds
since 1970, told apart by their size, or seconds since the recording's start.
"""  # noqa: E501 (a table row can't be broken)

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TextIO

from thinking_policy.bags.labelling.csv_rows import csv_rows, why_unreadable
from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.rule_names import check_known
from thinking_policy.bags.labelling.statements import NO, UNSURE, YES

_COLUMNS = {
    'from': ('from', 'start', 'begin', 'start_time', 'begin_time', 'onset'),
    'to': ('to', 'end', 'stop', 'end_time', 'offset'),
    'duration': ('duration',),
    'activity': (
        'activity',
        'activities',
        'label',
        'labels',
        'annotation',
        'annotations',
        'tag',
        'category',
    ),
    'value': ('value', 'answer'),
    'bag': ('bag', 'recording', 'file'),
    'confidence': ('confidence',),
}
_SEPARATOR = re.compile(r'"?sep=([,;\t])"?')  # as spreadsheets write it
_UNITS = ('s', 'sec', 'seconds')
_VALUES = {
    **dict.fromkeys(('', 'yes', 'y', 'true', '1', '1.0'), YES),
    **dict.fromkeys(('no', 'n', 'false', '0', '0.0'), NO),
    **dict.fromkeys(('unsure', 'maybe', '?'), UNSURE),
}
_NONE = ('none', 'nothing', 'none_called_for')
_ISO = re.compile(
    r'(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))? ?(Z|[+-]\d\d:?\d\d|)', re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Numbers of at least this size are times since 1970, in seconds and in finer units: the 3rd of
# March 1973 and later, or years of seconds since a recording's start.
_BEYOND = 4 * 10**18  # in the year 2096, counted in nanoseconds
_ROUNDED_NS = 10**9  # tools round what they export
_SINCE_1970 = ((10**17, 0), (10**14, 3), (10**11, 6), (10**8, 9))


@dataclass(frozen=True)
class Moment:
    """A time of a cell: nanoseconds since 1970, or since the recording's start."""

    ns: int
    absolute: bool

    def on(self, start_ns: int) -> int:
        """Return the stamp in a recording that starts there."""
        return self.ns if self.absolute else start_ns + self.ns


@dataclass(frozen=True)
class Span:
    """One line: the answer for some activities from one time to another.

    Attributes:
        line: In the file.
        bag: Name of the recording; '' where the file doesn't say.
        begin: First moment.
        end: Last moment.
        activities: Ids.
        answer: YES, NO or UNSURE.
        confidence: 0...1.
    """

    line: int
    bag: str
    begin: Moment
    end: Moment
    activities: tuple[str, ...]
    answer: int
    confidence: float | None


@dataclass(frozen=True)
class SpansFile:
    """What one person marked."""

    path: Path
    spans: tuple[Span, ...]

    @property
    def origin(self) -> str:
        """What the table calls it."""
        name = re.sub(r'[;\s]+', '_', self.path.stem)
        return f'person:{name}'


def load_spans(path: Path, titles: Mapping[str, str]) -> SpansFile:
    """Read a person's spans.

    Args:
        path: The CSV.
        titles: Title by id, of all activities.

    Raises:
        LabelError: Not readable, a missing column, or a wrong cell; with file and line.
    """
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            spans = tuple(_spans(_rows(file, path), path, titles))
    except FileNotFoundError as error:
        raise LabelError(f'{path}: no such file') from error
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError(f'{path}: cannot be read: {why_unreadable(error)}') from error
    if not spans:
        raise LabelError(f'{path}: expected a span in each line, found none')
    return SpansFile(path, spans)


def _rows(file: TextIO, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each row; spreadsheets may name the separator in a line before."""
    first = file.readline()
    named = _SEPARATOR.fullmatch(first.strip())
    separator = named[1] if named else max(',;\t', key=first.count)
    file.seek(0)
    rows = csv_rows(file, path, separator)
    if named:
        next(rows)
    return rows


def _spans(
    rows: Iterator[tuple[int, list[str]]], path: Path, titles: Mapping[str, str]
) -> Iterator[Span]:
    _, names = next(rows, (0, []))
    heading = [_plain(name) for name in names]
    places = _places(heading, path)
    for number, cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        where = f'{path}:{number}'
        if len(cells) < len(heading):
            raise LabelError(f'{where}: expected {len(heading)} cells, found {len(cells)}')
        row = {name: cells[place].strip() for name, place in places.items()}
        yield from _of_line(row, number, where, titles)


def _of_line(
    row: Mapping[str, str], line: int, where: str, titles: Mapping[str, str]
) -> Iterator[Span]:
    begin = _moment(row['from'], f'{where}: from')
    end = _end(row, begin, where)
    if begin.absolute != end.absolute:
        raise LabelError(
            f'{where}: from {row["from"]!r} and to {row["to"]!r}: expected both since 1970 or '
            'both since the start'
        )
    if end.ns < begin.ns:
        raise LabelError(
            f'{where}: the span ends before it begins: from {row["from"]}, to {row["to"]}'
        )
    value = row.get('value', '').lower()
    if value not in _VALUES:
        raise LabelError(f'{where}: value: expected yes, no or unsure, found {row["value"]!r:.60}')
    confidence = _confidence(row.get('confidence', ''), where)
    asserted, denied = _activities(row['activity'], where, titles)
    answer = _VALUES[value]
    if asserted:
        yield Span(line, row.get('bag', ''), begin, end, asserted, answer, confidence)
    if denied:
        if answer == NO:
            raise LabelError(
                f'{where}: !{denied[0]} with value {value!r} denies twice; say it once'
            )
        answer = NO if answer == YES else answer
        yield Span(line, row.get('bag', ''), begin, end, denied, answer, confidence)


def _end(row: Mapping[str, str], begin: Moment, where: str) -> Moment:
    given = row.get('duration', '')
    if not given:
        return _moment(row.get('to', ''), f'{where}: to')
    lasts = _moment(given, f'{where}: duration')
    if lasts.absolute or lasts.ns < 0:
        raise LabelError(f'{where}: duration: expected seconds from 0 on, found {given!r:.60}')
    end = Moment(begin.ns + lasts.ns, begin.absolute)
    if row.get('to') and abs(_moment(row['to'], f'{where}: to').ns - end.ns) > _ROUNDED_NS:
        raise LabelError(
            f'{where}: from {row["from"]} with a duration of {given} ends elsewhere than to '
            f'{row["to"]} says; keep one of the two'
        )
    return end


def _activities(
    cell: str, where: str, titles: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that are called for, and those that are said not to be."""
    words = [word.strip() for word in re.split(r'[;|]', cell) if word.strip()]
    if not words:
        raise LabelError(f'{where}: activity is empty; write none where nothing is called for')
    if len(words) == 1 and words[0].lower() in _NONE:
        return (), tuple(titles)
    by_title = {_plain(title): id for id, title in titles.items()}
    sides: tuple[list[str], list[str]] = [], []
    for word in words:
        name = word.removeprefix('!').strip()
        id = name if name in titles else by_title.get(_plain(name), _plain(name))
        check_known([id], tuple(titles), f'{where}: activity', 'activity')
        sides[word.startswith('!')].append(id)
    if both := set(sides[0]) & set(sides[1]):
        raise LabelError(f'{where}: activity: {sorted(both)} both called for and denied')
    return tuple(dict.fromkeys(sides[0])), tuple(dict.fromkeys(sides[1]))


def _places(heading: Sequence[str], path: Path) -> dict[str, int]:
    places: dict[str, int] = {}
    for name, words in _COLUMNS.items():
        found = [i for i, cell in enumerate(heading) if cell in words]
        if len(found) > 1:
            raise LabelError(
                f'{path}: columns {", ".join(heading[i] for i in found)} all mean {name!r}; '
                'keep one of them'
            )
        if found:
            places[name] = found[0]
    for name in ('from', 'to', 'activity'):
        if name not in places and not (name == 'to' and 'duration' in places):
            raise LabelError(
                f'{path}: no column {name!r}; expected one of {", ".join(_COLUMNS[name])}, found '
                f'{", ".join(heading)[:200] or "nothing"}'
            )
    return places


def _plain(name: str) -> str:
    """Return a heading or title as one lower-case word, without a unit in brackets."""
    words = re.sub(r'[^a-z0-9]+', ' ', re.sub(r'[\[(].*?[\])]', '', name.lower())).split()
    return '_'.join(words[:-1] if len(words) > 1 and words[-1] in _UNITS else words)


def _moment(cell: str, where: str) -> Moment:
    try:
        number = Decimal(cell)
    except InvalidOperation:
        return Moment(_iso_ns(cell, where), True)
    if not number.is_finite() or abs(number) >= _BEYOND:
        raise LabelError(f'{where}: expected a time, found {cell!r:.60}')
    for least, places in _SINCE_1970:
        if number >= least:
            return Moment(round(number.scaleb(places)), True)
    return Moment(round(number.scaleb(9)), False)


def _iso_ns(cell: str, where: str) -> int:
    # Nanoseconds, which Python's parser does not know, are added afterwards.
    match = _ISO.fullmatch(cell)
    zone = match[3] if match else ''
    try:
        if not match:
            raise ValueError(cell)
        moment = datetime.fromisoformat(match[1] + _zone(zone))
    except ValueError as error:
        raise LabelError(
            f'{where}: expected seconds or a time such as 2026-11-30T16:58:37.5Z, found '
            f'{cell!r:.60}'
        ) from error
    whole = (moment - _EPOCH) // timedelta(seconds=1)
    return whole * 10**9 + int((match[2] or '').ljust(9, '0'))


def _zone(text: str) -> str:
    """Return a timezone as Python 3.10 reads it."""
    return '+00:00' if text in ('', 'Z') else f'{text[:3]}:{text[-2:]}'


def _confidence(cell: str, where: str) -> float | None:
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        raise LabelError(
            f'{where}: confidence: expected a number above 0 and up to 1, found {cell!r:.60}'
        )
    return value
