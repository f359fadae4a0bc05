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

_TYPE = 'std_msgs/msg/Float64'
_REACH = 0.1
_HEADER = b'\x00\x01\x00\x00'  # CDR, little endian


@dataclass(frozen=True)
class LabelledTable:
    """One recording.

    Attributes:
        name: Its folder and file.
        stamp_ns: int64 [N], time of each row; never falls.
        values: float64 [N, F], NaN where a cell holds no number.
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
    try:
        with path.open(newline='', encoding='utf-8') as file:
            rows = list(csv.reader(file, delimiter=';'))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ExperimentError(f'{path}: not a readable table: {error}') from error
    heading = rows[0] if rows else []
    columns = tuple(name for name in heading if name not in (TIME, LABEL, CHANGE))
    if TIME not in heading or not columns or len(rows) < 2:
        raise ExperimentError(
            f'{path}: expected rows below a heading {TIME};<signals>;{LABEL};{CHANGE}, found '
            f'{len(rows)} lines and the heading {";".join(heading)[:80]!r}'
        )
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(heading):
            raise ExperimentError(
                f'{path}: line {number}: expected {len(heading)} cells, found {len(row)}'
            )
    cells = dict(zip(heading, zip(*rows[1:], strict=True), strict=True))
    stamps = np.array([_stamp_ns(path, n, cell) for n, cell in enumerate(cells[TIME], 2)])
    if np.any(np.diff(stamps) < 0):
        raise ExperimentError(f'{path}: the times in {TIME} fall; expected them in order')
    values = np.array([[_number(cell) for cell in cells[name]] for name in columns]).T
    labels = [_number(cell) > 0.5 for cell in cells.get(LABEL, ())]
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


def _stamp_ns(path: Path, line: int, cell: str) -> int:
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        raise ExperimentError(
            f'{path}: line {line}: {TIME}: expected a time such as 2020-03-09 10:14:33, found '
            f'{cell!r}'
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1e6) * 1000


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
