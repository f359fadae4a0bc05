# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The table of labels: which kinds of thinking each situation calls for, who says so, how surely.

`cells` says how it looks on disk.
"""

from __future__ import annotations

import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling import cells
from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.table_files import read_blocks, write_records

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


def read_labels(path: Path, known: Sequence[str] | None = None) -> LabelTable:
    """Read a table, .csv or .parquet.

    Args:
        path: The table.
        known: Ids of activities that may occur; None: any.

    Raises:
        LabelError: Not readable, a missing column, a wrong cell, an activity that is not known or
            a situation that has two rows; the message names file and line.
    """
    answers = cells.Answers(path, known)
    bags, episodes, lines = _Names(), _Names(), array.array('q')
    stamps, answered = array.array('q'), array.array('q')
    for block in read_blocks(path):
        times = zip(block.cells['time'], block.lines, strict=True)
        stamps.extend([cells.stamp_of(cell, path, line) for cell, line in times])
        bags.add(block.cells['bag'])
        episodes.add(block.cells['episode'])
        answered.extend(answers.of(block.cells, block.lines))
        lines.extend(block.lines)
    stamp_ns = np.array(stamps, np.int64)
    twice = _first_repeated(bags.places, stamp_ns, episodes.places)
    if twice is not None:
        first, again = twice
        raise LabelError(
            f'{path}:{lines[again]}: the situation of bag {bags.texts[again]!r} at '
            f'{cells.seconds(stamps[again])} s stands in line {lines[first]} already; keep one '
            'of the two'
        )
    label, confidence, origin = _as_arrays(answers)
    rows = np.array(answered, np.int64)
    return LabelTable(
        answers.activities,
        bags.texts,
        stamp_ns,
        episodes.texts,
        label[rows],
        confidence[rows],
        origin[rows],
    )


def write_labels(path: Path, table: LabelTable) -> None:
    """Write a table, .csv or .parquet; the file appears whole or not at all.

    Raises:
        LabelError: It can't be written, or its name ends in neither.
    """
    write_records(path, _records(table))


class _Names:
    """Texts of many rows of which few differ."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._places = array.array('q')

    def add(self, texts: Sequence[str]) -> None:
        known = self._known
        self._places.extend([known.setdefault(text, len(known)) for text in texts])

    @property
    def places(self) -> NDArray[np.int64]:
        return np.array(self._places, np.int64)

    @property
    def texts(self) -> Texts:
        # One more: numpy takes no empty list for texts.
        texts: Texts = np.array([*self._known, ''], object)[self.places]
        return texts


def _first_repeated(
    bag: NDArray[np.int64], stamp_ns: NDArray[np.int64], episode: NDArray[np.int64]
) -> tuple[int, int] | None:
    """Return the first row of a situation that has one already, after the earlier one."""
    order = np.lexsort((episode, stamp_ns, bag))  # stable: equal rows stay in their order
    same = np.ones(max(0, len(order) - 1), np.bool_)
    for column in (bag, stamp_ns, episode):
        same &= column[order[1:]] == column[order[:-1]]
    pairs = np.flatnonzero(same)
    if not len(pairs):
        return None
    pair = pairs[np.argmin(order[pairs + 1])]
    return int(order[pair]), int(order[pair + 1])


def _as_arrays(
    answers: cells.Answers,
) -> tuple[NDArray[np.bool_], NDArray[np.float32], Texts]:
    """Return labels, confidences and origins of the K different answers, [K, A]."""
    shape = len(answers.all), len(answers.activities)
    label = np.zeros(shape, np.bool_)
    confidence = np.ones(shape, np.float32)
    origin = np.full(shape, '', object)
    places = {id: column for column, id in enumerate(answers.activities)}
    for row, answer in enumerate(answers.all):
        confidence[row] = answer.rest
        for entry in answer.entries:
            column = places[entry.activity]
            label[row, column] = entry.label
            confidence[row, column] = entry.confidence
            origin[row, column] = entry.origin
    return label, confidence, origin


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
