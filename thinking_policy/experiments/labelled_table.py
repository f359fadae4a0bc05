# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of a labelled machine, laid out as SKAB's: read, and perceived as a robot would."""

from __future__ import annotations

import csv
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.situation import (
    EventConfig,
    SignalConfig,
    Situation,
    SituationConfig,
    SituationTracker,
    message_type_from_fields,
)

TIME, LABEL, CHANGE = 'datetime', 'anomaly', 'changepoint'
SECOND = 1_000_000_000

# A tick is a second: fewer rows leave windows empty, of more all but the last would be lost.
SHORTEST_S, LONGEST_S = 0.5, 2.0
# Episodes have ended long before; no need to go through it tick by tick.
LONG_GAP = 3600 * SECOND

_TYPE = 'std_msgs/msg/Float64'
_REACH = 0.1
_HEADER = b'\x00\x01\x00\x00'  # CDR, little endian


@dataclass(frozen=True)
class LabelledTable:
    """One recording.

    Attributes:
        name: Its folder and file.
        stamp_ns: int64 [N], time of each row; never falls.
        values: float64 [N, F], NaN where a cell is empty or not finite.
        anomaly: bool [N]; empty where the table has no labels.
        columns: F names.
    """

    name: str
    stamp_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    anomaly: NDArray[np.bool_]
    columns: tuple[str, ...]


def read_table(path: Path) -> LabelledTable:
    """Read a table: `;` between cells, a column `datetime`, signals, `anomaly`, `changepoint`.

    Raises:
        ExperimentError: Not such a table; the message names the file, the row and what is wrong.
    """
    heading, rows = _lines(path)
    columns = tuple(name for name in heading if name not in (TIME, LABEL, CHANGE))
    if TIME not in heading or not columns or not rows:
        raise ExperimentError(
            f'{path}: expected rows below a heading {TIME};<signals>;{LABEL};{CHANGE}, found '
            f'{len(rows)} rows and the heading {";".join(heading)[:80]!r}'
        )
    twice = [name for name in heading if heading.count(name) > 1]
    if twice:
        raise ExperimentError(f'{path}: the heading has {twice[0]!r} twice; expected each once')
    for line, row in rows:
        if len(row) != len(heading):
            raise ExperimentError(
                f'{path}: line {line}: expected {len(heading)} cells, found {len(row)}'
            )
    places = {name: heading.index(name) for name in heading}
    stamps = np.array([_stamp_ns(path, line, row[places[TIME]]) for line, row in rows])
    _check_times(path, stamps)
    values = np.array(
        [[_number(path, line, name, row[places[name]]) for name in columns] for line, row in rows]
    )
    labels = [_label(path, line, row[places[LABEL]]) for line, row in rows if LABEL in places]
    return LabelledTable(
        f'{path.parent.name}/{path.name}', stamps, values, np.array(labels, bool), columns
    )


def configuration(table: LabelledTable, window_length: int) -> SituationConfig:
    """Return what a robot with these signals would be configured to: a tick a second.

    The nominal ranges, a tenth around the first number, hold where a signal never moves while
    the robot is calibrated.
    """
    signals = []
    for index, column in enumerate(table.values.T):
        first = float(next(iter(column[np.isfinite(column)]), 0.0))
        reach = _REACH * abs(first) or 1.0
        signals.append(
            SignalConfig(
                name=f'signal_{index}',
                topic=f'/signal_{index}',
                type=_TYPE,
                field='data',
                stale_s=5.0,
                nominal_low=first - reach,
                nominal_high=first + reach,
            )
        )
    return SituationConfig(
        tick_period_s=1.0,
        window_length=window_length,
        signals=tuple(signals),
        events=EventConfig(diagnostics_topic=''),
    )


def situations(table: LabelledTable, config: SituationConfig) -> Iterator[Situation]:
    """Yield the situations that a robot would be in, one a tick: every cell is a message.

    As when a bag with these messages is replayed, the clock stops at each tick's end, after the
    messages of the tick.
    """
    tracker = SituationTracker(config)
    kind = message_type_from_fields(_TYPE, {_TYPE: {'data': 'double'}}.__getitem__)
    topics = [signal.topic for signal in config.signals]
    for topic in topics:
        tracker.bind(topic, kind)
    period = config.tick_period_ns
    due = -(-int(table.stamp_ns[0]) // period) * period
    for stamp_ns, row in zip(table.stamp_ns.tolist(), table.values.tolist(), strict=True):
        if stamp_ns - due > LONG_GAP:
            due = -(-stamp_ns // period) * period
        while due < stamp_ns:
            yield from tracker.advance(due)
            due += period
        for topic, value in zip(topics, row, strict=True):
            tracker.receive(topic, _HEADER + struct.pack('<d', value), due, stamp_ns)
    yield from tracker.advance(due)


def ticks_of_rows(table: LabelledTable, stamps_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the index [N] of the first tick that knows it.

    Args:
        table: The rows.
        stamps_ns: int64, end of each tick, rising.
    """
    return np.searchsorted(stamps_ns, table.stamp_ns, side='left')


def without_gaps(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values [N, F] with the last known one where none is.

    Before the first known one that one holds; a column without any is 0.
    """
    known = np.isfinite(values)
    rows = np.maximum.accumulate(np.where(known, np.arange(len(values))[:, None], -1), axis=0)
    first = np.argmax(known, axis=0)
    filled = np.take_along_axis(values, np.where(rows < 0, first, rows), axis=0)
    return np.where(known.any(axis=0), filled, 0.0)


def groups_of(folder: Path) -> Mapping[str, list[Path]]:
    """Return the tables of each sub-folder by its name, in order.

    Raises:
        ExperimentError: There is no table.
    """

    def place(path: Path) -> tuple[int, str]:
        return (int(path.stem) if path.stem.isdecimal() else -1, path.name)

    found = {
        child.name: sorted(child.glob('*.csv'), key=place)
        for child in (sorted(folder.iterdir()) if folder.is_dir() else ())
        if child.is_dir()
    }
    found = {name: paths for name, paths in found.items() if paths}
    if not found:
        raise ExperimentError(
            f'{folder}: expected sub-folders with .csv tables, such as valve1/0.csv; '
            f'{"there are none" if folder.is_dir() else "no such folder"}'
        )
    return found


def _lines(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the cells of the heading, and of every other line that isn't empty, with its number.

    Raises:
        ExperimentError: It cannot be read, or is no text.
    """
    try:
        with path.open(newline='', encoding='utf-8-sig') as file:  # some programs write a mark
            reader = csv.reader(file, delimiter=';')
            lines = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ExperimentError(f'{path}: not a readable table: {error}') from error
    return (lines[0][1], lines[1:]) if lines else ([], [])


def _check_times(path: Path, stamps: NDArray[np.int64]) -> None:
    steps = np.diff(stamps)
    if np.any(steps < 0):
        raise ExperimentError(f'{path}: the times in {TIME} fall; expected them in order')
    step_s = float(np.median(steps[steps > 0])) / SECOND if np.any(steps > 0) else 0.0
    if len(stamps) > 1 and not SHORTEST_S <= step_s <= LONGEST_S:
        raise ExperimentError(
            f'{path}: expected a row about every second, found one every {step_s:g} s'
        )


def _stamp_ns(path: Path, line: int, cell: str) -> int:
    try:
        moment = datetime.fromisoformat(cell)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        stamp_ns = round(moment.timestamp() * 1e6) * 1000
        if not 0 < stamp_ns < 2**62:
            raise ValueError
    except (ValueError, OverflowError):
        raise ExperimentError(
            f'{path}: line {line}: {TIME}: expected a time such as 2020-03-09 10:14:33, from '
            f'1970 to 2116, found {cell!r}'
        ) from None
    return stamp_ns


def _number(path: Path, line: int, column: str, cell: str) -> float:
    if not cell.strip():
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        raise ExperimentError(
            f'{path}: line {line}: {column}: expected a number, or nothing where there is none; '
            f'found {cell[:40]!r}'
        ) from None
    return value if math.isfinite(value) else math.nan


def _label(path: Path, line: int, cell: str) -> bool:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if value not in (0.0, 1.0):
        raise ExperimentError(
            f'{path}: line {line}: {LABEL}: expected 0 or 1, found {cell[:40]!r}'
        )
    return value == 1.0
