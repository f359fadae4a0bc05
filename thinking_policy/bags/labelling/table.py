# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The table of labels: which kinds of thinking each situation calls for, who says so, how surely.

`cells` says how it looks on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling import cells
from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.table_files import read_records, write_records

__all__ = ['Joined', 'LabelTable', 'joined', 'joined_tables', 'read_labels', 'write_labels']

Texts = NDArray[Any]  # of str objects: shared, so a long table stays small


@dataclass(frozen=True)
class LabelTable:
    """N labelled situations; one that is not in the table is not learned from.

    Attributes:
        activities: A ids that the table answers for.
        bag: text [N], the recording.
        stamp_ns: int64 [N], stamp of the situation.
        episode: text [N].
        label: bool [N, A], whether it is called for; False where unsure.
        confidence: float32 [N, A], 0...1, of that answer, "not called for" included; 0: either
            answer is right.
        origin: text [N, A], such as `rule:rising`; '' where nobody said so and the default holds.
    """

    activities: tuple[str, ...]
    bag: Texts
    stamp_ns: NDArray[np.int64]
    episode: Texts
    label: NDArray[np.bool_]
    confidence: NDArray[np.float32]
    origin: Texts

    def __len__(self) -> int:
        """Return N."""
        return len(self.stamp_ns)

    @property
    def bags(self) -> tuple[str, ...]:
        """Names of the recordings in order of their first rows."""
        return tuple(dict.fromkeys(self.bag))

    def of_bag(self, bag: str) -> LabelTable:
        """Return the rows of one recording; none where the table does not know it."""
        return self.rows(np.asarray(self.bag == bag, np.bool_).reshape(-1))

    def rows(self, which: NDArray[Any]) -> LabelTable:
        """Return the rows that a mask or indices choose."""
        return LabelTable(
            self.activities,
            self.bag[which],
            self.stamp_ns[which],
            self.episode[which],
            self.label[which],
            self.confidence[which],
            self.origin[which],
        )


@dataclass(frozen=True)
class Joined:
    """Labels beside n situations.

    Attributes:
        label: float32 [n, G], 1 where called for.
        weight: float32 [n, G], the confidence; 0 where unsure, not labelled, or not an activity
            that the table answers for.
        labelled: bool [n], whether the table has a row for it.
        unmatched: Rows of this recording in the table that belong to none of the situations.
    """

    label: NDArray[np.float32]
    weight: NDArray[np.float32]
    labelled: NDArray[np.bool_]
    unmatched: int


def joined(
    table: LabelTable,
    bag: str,
    stamp_ns: NDArray[np.int64],
    activities: Sequence[str],
    episode: Texts | None = None,
) -> Joined:
    """Find the labels of situations by recording and exact stamp.

    Args:
        table: The labels.
        bag: Name of the recording in the table.
        stamp_ns: int64 [n], stamps of its situations, in any order.
        activities: G ids; the columns of the result.
        episode: text [n]; tells situations apart whose stamps are equal, as where a clock jumped
            back. Without it such rows are matched in their order.
    """
    part = table.of_bag(bag)
    rows = _rows_of(part, np.asarray(stamp_ns, np.int64), episode)
    labelled = rows >= 0
    label = np.zeros((len(rows), len(activities)), np.float32)
    weight = np.zeros_like(label)
    for column, activity in enumerate(activities):
        if activity in part.activities:
            place = part.activities.index(activity)
            label[labelled, column] = part.label[rows[labelled], place]
            weight[labelled, column] = part.confidence[rows[labelled], place]
    unmatched = len(part) - len(np.unique(rows[labelled]))
    return Joined(label, weight, labelled, unmatched)


def joined_tables(tables: Sequence[LabelTable]) -> LabelTable:
    """Return the rows of several tables in one; an activity that one lacks is unsure there."""
    activities = tuple(dict.fromkeys(id for table in tables for id in table.activities))
    count = sum(map(len, tables))
    label = np.zeros((count, len(activities)), np.bool_)
    confidence = np.zeros((count, len(activities)), np.float32)
    origin = np.full((count, len(activities)), '', object)
    start = 0
    for table in tables:
        stop = start + len(table)
        columns = [activities.index(id) for id in table.activities]
        label[start:stop, columns] = table.label
        confidence[start:stop, columns] = table.confidence
        origin[start:stop, columns] = table.origin
        start = stop
    nothing = np.zeros(0, object)
    return LabelTable(
        activities,
        np.concatenate([nothing, *(table.bag for table in tables)]),
        np.concatenate([np.zeros(0, np.int64), *(table.stamp_ns for table in tables)]),
        np.concatenate([nothing, *(table.episode for table in tables)]),
        label,
        confidence,
        origin,
    )


def read_labels(path: Path) -> LabelTable:
    """Read a table, .csv or .parquet.

    Raises:
        LabelError: Not readable, a missing column, a wrong cell or a situation that has two rows;
            the message names file and line.
    """
    records = read_records(path)
    about, answers = cells.Answers(path), []
    bags, stamps, episodes, lines = [], [], [], []
    seen: dict[tuple[str, int, str], int] = {}
    for line, record in records:
        key = (record['bag'], cells.stamp_of(record['time'], path, line), record['episode'])
        if key in seen:
            raise LabelError(
                f'{path}:{line}: the situation of bag {key[0]!r} at {record["time"]} s stands in '
                f'line {seen[key]} already; keep one of the two'
            )
        seen[key] = line
        bags.append(key[0])
        stamps.append(key[1])
        episodes.append(key[2])
        answers.append(about.of(record, line))
        lines.append(line)
    activities = about.activities
    shape = len(answers), len(activities)
    label = np.zeros(shape, np.bool_)
    confidence = np.ones(shape, np.float32)
    origin = np.full(shape, '', object)
    places = {id: column for column, id in enumerate(activities)}
    for row, answer in enumerate(answers):
        if answer.rest != 1.0:
            confidence[row] = answer.rest
        for entry in answer.entries:
            column = places[entry.activity]
            label[row, column] = entry.label
            confidence[row, column] = entry.confidence
            origin[row, column] = entry.origin
    return LabelTable(
        activities,
        np.array([*bags, ''], object)[:-1],  # one more: numpy takes no empty list for texts
        np.array(stamps, np.int64),
        np.array([*episodes, ''], object)[:-1],
        label,
        confidence,
        origin,
    )


def write_labels(path: Path, table: LabelTable) -> None:
    """Write a table, .csv or .parquet; the file appears whole or not at all.

    Raises:
        LabelError: It can't be written, or its name ends in neither.
    """
    write_records(path, _records(table))


def _records(table: LabelTable) -> Any:
    """Yield the cells of each row; equal answers are put into words once."""
    words: dict[bytes, tuple[str, str, str, str]] = {}
    names: dict[str, int] = {}
    begun: set[str] = set()
    for row in range(len(table)):
        codes = bytes(
            b
            for name in table.origin[row]
            for b in names.setdefault(name, len(names)).to_bytes(4, 'big')
        )
        key = table.label[row].tobytes() + table.confidence[row].tobytes() + codes
        if key not in words:
            words[key] = cells.in_words(
                table.activities, table.label[row], table.confidence[row], table.origin[row]
            )
        bag = str(table.bag[row])
        about = '' if bag in begun else cells.JOIN.join(table.activities)
        begun.add(bag)
        stamp = cells.seconds(int(table.stamp_ns[row]))
        yield (bag, stamp, str(table.episode[row]), *words[key], about)


def _rows_of(
    part: LabelTable, stamps: NDArray[np.int64], episode: Texts | None
) -> NDArray[np.int64]:
    """Return for each stamp its row in the table, -1 for none."""
    order = np.argsort(part.stamp_ns, kind='stable')
    ordered = part.stamp_ns[order]
    # The k-th situation of a stamp has the k-th row of that stamp.
    by_stamp = np.argsort(stamps, kind='stable')
    repeats = np.arange(len(stamps)) - np.searchsorted(stamps[by_stamp], stamps[by_stamp])
    place = np.searchsorted(ordered, stamps[by_stamp]) + repeats
    found = place < np.searchsorted(ordered, stamps[by_stamp], side='right')
    rows = np.full(len(stamps), -1, np.int64)
    rows[by_stamp[found]] = order[place[found]]
    repeated = len(ordered) > 1 and bool((np.diff(ordered) == 0).any())
    if episode is not None and (repeated or bool((repeats > 0).any())):
        known = {
            (int(stamp), name): row
            for row, (stamp, name) in enumerate(zip(part.stamp_ns, part.episode, strict=True))
        }
        pairs = zip(stamps, episode, strict=True)
        rows = np.array([known.get((int(s), str(name)), -1) for s, name in pairs], np.int64)
    return rows
