# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Turns a table of measurements into a rosbag2 with typed messages."""

from __future__ import annotations

import csv
import errno
import math
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.typesys import Stores, get_typestore

from thinking_policy.bags.csv_cells import number_in, time_reader
from thinking_policy.bags.csv_map import (
    Column,
    CsvMap,
    did_you_mean,
)
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.message_building import LATEST_HEADER_NS, MessageBuilder
from thinking_policy.bags.message_definitions import type_name
from thinking_policy.bags.storage import LATEST_NS

STORAGES = ('sqlite3', 'mcap')
# The metadata version of Iron and Jazzy; later releases read it too.
_METADATA_VERSION: Literal[8] = 8
_UNMEASURED = ('', 'nan', 'na', 'null', 'none', '-')


@dataclass
class CsvReport:
    """What became of a table.

    Attributes:
        rows: Rows read, without the heading.
        messages: Messages written, per topic.
        problems: Rows and cells that were left out, by reason, with how many.
        missing: Optional columns that the table lacks.
    """

    rows: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Filler:
    """The columns that fill the messages of one topic."""

    topic: str
    places: tuple[int, ...]
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    builder: MessageBuilder


def bag_from_csv(
    table: Path,
    csv_map: CsvMap,
    output: Path,
    *,
    storage: str = 'sqlite3',
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> CsvReport:
    """Write a bag with one message per row and topic, recorded and stamped at the row's time.

    The bag appears whole or not at all: it is written beside its place and then moved there.

    Args:
        table: CSV file with a heading.
        csv_map: What goes where.
        output: Folder of the new bag.
        storage: sqlite3 or mcap.
        overwrite: Whether a bag that is there may be replaced.
        progress: Called with the number of rows, now and then.

    Returns:
        What was written and what was left out.

    Raises:
        BagError: The table or the output cannot be used; the message says why.
    """
    if storage not in STORAGES:
        raise BagError(f'storage: expected one of {", ".join(STORAGES)}, found {storage!r}')
    if output.name in ('', '..'):  # such as a dot: its own name is asked for
        output = output.resolve()
    report = CsvReport()
    try:
        _refuse_to_overwrite(output, overwrite)
        output.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix='.from_csv_', dir=output.parent) as folder,
            table.open(newline='', encoding=csv_map.encoding) as file,
        ):
            made = Path(folder) / output.name
            rows = csv.reader(file, delimiter=csv_map.separator)
            _write(rows, table, csv_map, made, StoragePlugin[storage.upper()], report, progress)
            if not report.messages.total():
                raise BagError(f'{table}: no row could be used ({_reasons(report)})')
            if output.exists():
                output.rename(Path(folder) / 'replaced')
            made.rename(output)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        place = output if full else error.filename or table
        raise BagError(f'{place}: {error.strerror or error}') from error
    except (sqlite3.Error, WriterError) as error:
        raise BagError(f'{output}: cannot be written: {error}') from error
    except (UnicodeError, LookupError, csv.Error) as error:
        raise BagError(
            f'{table}: not a table in encoding {csv_map.encoding} with separator '
            f'{csv_map.separator!r}: {error}'
        ) from error
    return report


def _write(
    rows: Iterator[list[str]],
    table: Path,
    csv_map: CsvMap,
    made: Path,
    plugin: StoragePlugin,
    report: CsvReport,
    progress: Callable[[int], None] | None,
) -> None:
    heading = [name.strip() for name in next(filter(None, rows), [])]
    time_place = _find_column(csv_map.time.column, heading, table, csv_map)
    store = get_typestore(Stores.ROS2_JAZZY)
    fillers = _fillers(heading, table, csv_map, report)
    read_time = time_reader(csv_map.time)
    with Writer(made, version=_METADATA_VERSION, storage_plugin=plugin) as writer:
        connections = {
            filler.topic: writer.add_connection(
                filler.topic, filler.columns[0].type, typestore=store
            )
            for filler in fillers
        }
        latest = -1
        for row in rows:
            if not row:
                continue
            report.rows += 1
            if len(row) != len(heading):
                report.problems[f'rows with another number of cells than {len(heading)}'] += 1
                continue
            try:
                stamp = read_time(row[time_place].strip())
            except (ValueError, ArithmeticError):
                report.problems[
                    f'rows whose {csv_map.time.column} is not {csv_map.time.format}'
                ] += 1
                continue
            if not 0 <= stamp <= LATEST_NS:
                report.problems[
                    f'rows whose {csv_map.time.column} is not between 1970 and 2261'
                ] += 1
                continue
            if stamp < latest:
                report.problems['rows earlier than the one before, written in their place'] += 1
            latest = stamp
            for filler in fillers:
                raw = _message(filler, row, csv_map, stamp, report.problems)
                if raw is not None:
                    writer.write(connections[filler.topic], stamp, raw)
                    report.messages[filler.topic] += 1
            if progress is not None and report.rows % 500 == 0:
                progress(report.rows)


def _message(
    filler: _Filler, row: list[str], csv_map: CsvMap, stamp: int, problems: Counter[str]
) -> bytes | None:
    """Return the message of one topic; None where the row holds nothing for it."""
    numbers = []
    for place, column, name in zip(filler.places, filler.columns, filler.names, strict=True):
        cell = row[place].strip()
        number = number_in(cell, csv_map.decimal)
        if math.isnan(number):
            empty = cell.lower() in _UNMEASURED
            problems[f'cells of {name} that are {"empty" if empty else "no number"}'] += 1
        numbers.append(number * column.scale + column.offset)
    if all(math.isnan(number) for number in numbers):
        return None
    whole = filler.builder.whole_numbers
    if any(w and not math.isfinite(n) for w, n in zip(whole, numbers, strict=True)):
        return None
    if filler.builder.has_header and stamp > LATEST_HEADER_NS:
        problems[f'messages on {filler.topic} later than 2038, which a header cannot hold'] += 1
        return None
    try:
        return filler.builder.build(numbers, stamp)
    except ValueError:
        problems[f'messages on {filler.topic} with a number too large for its field'] += 1
        return None


def _fillers(heading: list[str], table: Path, csv_map: CsvMap, report: CsvReport) -> list[_Filler]:
    store = get_typestore(Stores.ROS2_JAZZY)
    by_topic: dict[str, list[tuple[int, Column, str]]] = {}
    missing = []
    for name, column in csv_map.columns.items():
        if name not in heading and column.optional:
            missing.append(name)
            continue
        place = _find_column(name, heading, table, csv_map)
        by_topic.setdefault(column.topic, []).append((place, column, name))
    report.missing = tuple(missing)
    fillers = []
    for topic, entries in by_topic.items():
        kind = type_name(entries[0][1].type)
        if kind not in store.fielddefs:
            raise BagError(
                f'{csv_map.source}: {topic}: unknown message type '
                f'{kind!r}{did_you_mean(kind, store.fielddefs)}'
            )
        columns = tuple(column for _, column, _ in entries)
        fillers.append(
            _Filler(
                topic,
                tuple(place for place, _, _ in entries),
                columns,
                tuple(name for _, _, name in entries),
                MessageBuilder(
                    store,
                    kind,
                    [column.field for column in columns],
                    csv_map.constants.get(topic, {}),
                    columns[0].frame_id,
                    f'{csv_map.source}: {topic}',
                ),
            )
        )
    return fillers


def _find_column(name: str, heading: list[str], table: Path, csv_map: CsvMap) -> int:
    if heading.count(name) == 1:
        return heading.index(name)
    if name in heading:
        raise BagError(f'{table}: column {name!r} stands there twice; rename one of them')
    if not heading:
        raise BagError(f'{table}: no heading: expected a line with the names of the columns')
    if len(heading) < 2:
        raise BagError(
            f'{table}: expected columns separated by {csv_map.separator!r}, found one: '
            f'{heading[0][:80]!r}; set separator in the map'
        )
    raise BagError(
        f'{table}: no column {name!r}{did_you_mean(name, heading)} '
        f'(there are {", ".join(heading)[:300]})'
    )


def _refuse_to_overwrite(output: Path, overwrite: bool) -> None:
    if output.is_symlink():
        raise BagError(f'{output}: exists and is a link, which is not replaced; name its target')
    if not output.exists():
        return
    if not overwrite:
        raise BagError(f'{output}: exists already; choose another name or replace it with --force')
    if not (output / 'metadata.yaml').is_file():
        raise BagError(f'{output}: exists and is no bag folder, so --force does not remove it')


def _reasons(report: CsvReport) -> str:
    reasons: Mapping[str, int] = report.problems
    return '; '.join(f'{count} {what}' for what, count in reasons.items()) or 'it has no rows'
