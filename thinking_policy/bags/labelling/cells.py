# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The table of labels on disk, one row for each labelled situation; CSV or Parquet.

| column | content |
|---|---|
| bag | the recording, as the command that wrote the table calls it |
| time | stamp of the situation in seconds; nine decimals, exact to the nanosecond |
| episode | its episode |
| activities | ids joined by `;`: called for; `!id`: said not to be; empty: nothing called for |
| origin | who says so: one for all of them, or one for each, joined by `;` |
| confidence | 0...1: one for all of them, or one for each; empty: 1 |
| unsure | ids joined by `;` where either answer is right |
| about | ids that the table answers for; in any row, written into the first of each bag |

An activity that `about` names and a row does not is not called for there, with confidence 1; in
a row without activities its one confidence counts for that. Without any `about` the ids that
occur are the ones that the table answers for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.rule_names import check_known

JOIN = ';'
DENIED = '!'

_ID = re.compile(r'[a-z][a-z0-9_]*\Z')


@dataclass(frozen=True)
class Entry:
    """What a row says about one activity."""

    activity: str
    label: bool
    confidence: float
    origin: str


@dataclass(frozen=True)
class Answer:
    """What a row says: its entries, and the confidence of "not called for" about the rest."""

    entries: tuple[Entry, ...]
    rest: float = 1.0


class Answers:
    """Understands rows and remembers what it has understood; equal cells are common.

    Args:
        path: Named in errors.
        known: Ids that may occur; None: any.

    Attributes:
        all: The different answers so far.
    """

    def __init__(self, path: Path, known: Sequence[str] | None = None) -> None:
        self.all: list[Answer] = []
        self._path, self._may_be = path, known
        self._known: dict[tuple[str, str, str, str], int] = {}
        self._said_about: set[str] = set()
        self._about: dict[str, None] = {}
        self._met: dict[str, None] = {}

    @property
    def activities(self) -> tuple[str, ...]:
        """Ids that the rows so far answer for."""
        return tuple({**self._about, **self._met})

    def of(self, columns: Mapping[str, Sequence[str]], lines: Sequence[int]) -> list[int]:
        """Return for each of some rows which of the answers in `all` it gives.

        Raises:
            LabelError: A cell that can't be understood, or an id that is not known.
        """
        for line, cell in zip(lines, columns['about'], strict=True):
            if cell and cell not in self._said_about:
                ids = _ids(cell, self._path, line, 'about')
                self._check(ids, line, 'about')
                self._about.update(dict.fromkeys(ids))
                self._said_about.add(cell)
        keys = zip(
            columns['activities'],
            columns['origin'],
            columns['confidence'],
            columns['unsure'],
            strict=True,
        )
        places = []
        for row, key in enumerate(keys):
            place = self._known.get(key)
            if place is None:
                answer = _answer(*key, self._path, lines[row])
                ids = [entry.activity for entry in answer.entries]
                self._check(ids, lines[row], 'activities and unsure')
                self._met.update(dict.fromkeys(ids))
                place = self._known[key] = len(self.all)
                self.all.append(answer)
            places.append(place)
        return places

    def _check(self, ids: Sequence[str], line: int, column: str) -> None:
        if self._may_be is not None:
            check_known(ids, self._may_be, f'{self._path}:{line}: {column}', 'activity')


def in_words(
    activities: Sequence[str], label: Any, confidence: Any, origin: Any
) -> tuple[str, str, str, str]:
    """Return the cells activities, origin, confidence and unsure of one row of a table."""
    asserted = [
        column
        for column in range(len(activities))
        if confidence[column] > 0 and (label[column] or origin[column] or confidence[column] != 1)
    ]
    if not any(label[column] or origin[column] for column in asserted) and (
        len({float(value) for value in confidence}) == 1
    ):
        asserted = []  # the one confidence counts for all of them
        values = [str(confidence[0])] if len(activities) and confidence[0] > 0 else []
    else:
        values = [str(confidence[column]) for column in asserted]
    ids = [('' if label[column] else DENIED) + activities[column] for column in asserted]
    unsure = [id for id, value in zip(activities, confidence, strict=True) if value == 0]
    origins = [str(origin[column]) for column in asserted]
    return JOIN.join(ids), _brief(origins), _brief(values) or '1.0', JOIN.join(unsure)


def seconds(stamp_ns: int) -> str:
    """Return a stamp as the table has it: seconds with nine decimals."""
    sign, size = '-' if stamp_ns < 0 else '', abs(stamp_ns)
    return f'{sign}{size // 10**9}.{size % 10**9:09d}'


def stamp_of(cell: str, path: Path, line: int) -> int:
    """Return the nanoseconds of a time in seconds.

    Raises:
        LabelError: Not a number, or one with parts of nanoseconds.
    """
    if cell[-10:-9] == '.' and cell[:-10].isdecimal() and cell[-9:].isdecimal():
        written = int(cell[:-10] + cell[-9:])  # as tables have it; much faster than Decimal
        if written < 2**63:
            return written
    try:
        stamp = Decimal(cell).scaleb(9)
        if stamp == stamp.to_integral_value() and abs(stamp) < 2**63:
            return int(stamp)
    except (ArithmeticError, ValueError):  # of Decimal: no number, or one beyond all bounds
        pass
    raise LabelError(
        f'{path}:{line}: time: expected seconds with at most nine decimals, such as '
        f'1700000000.500000000, found {cell!r:.60}'
    )


def _brief(values: Sequence[str]) -> str:
    """Return equal values as one, others joined."""
    return values[0] if values and len(set(values)) == 1 else JOIN.join(values)


def _answer(
    activities: str, origin: str, confidence: str, unsure: str, path: Path, line: int
) -> Answer:
    listed = _ids(activities, path, line, 'activities', DENIED)
    doubted = _ids(unsure, path, line, 'unsure')
    names = [id.removeprefix(DENIED) for id in listed]
    for id in (*names, *doubted):
        if (*names, *doubted).count(id) > 1:
            raise LabelError(f'{path}:{line}: {id!r} is named twice in activities and unsure')
    values = [_share(cell, path, line) for cell in confidence.split(JOIN) if confidence.strip()]
    origins = [cell.strip() for cell in origin.split(JOIN)]
    for what, found in (('confidence', values or [1.0]), ('origin', origins)):
        if len(found) not in (1, len(names)):
            raise LabelError(
                f'{path}:{line}: {what}: expected one for all or {len(names)}, one for each of '
                f'{names}, found {len(found)}'
            )
    several = max(1, len(names))
    values = values * several if len(values) == 1 else values or [1.0] * several
    origins = origins * several if len(origins) == 1 else origins
    entries = [
        Entry(
            name, listed[i] == name and values[i] > 0, values[i], origins[i] if values[i] else ''
        )
        for i, name in enumerate(names)
    ]
    entries += [Entry(name, False, 0.0, '') for name in doubted]
    return Answer(tuple(entries), 1.0 if names else values[0])


def _ids(cell: str, path: Path, line: int, column: str, mark: str = '') -> list[str]:
    ids = [id.strip() for id in cell.split(JOIN) if id.strip()]
    for id in ids:
        if not _ID.match(id.removeprefix(mark) if mark else id):
            raise LabelError(
                f'{path}:{line}: {column}: expected ids of activities joined by {JOIN!r}, such as '
                f'trend;hazard, found {id!r:.60}'
            )
    return ids


def _share(cell: str, path: Path, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise LabelError(
            f'{path}:{line}: confidence: expected a number in 0...1, found {cell!r:.60}'
        )
    return value
