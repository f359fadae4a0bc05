# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Deletes experiences that somebody asked to delete; never what is evidence of something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thinking_policy.experience.search import FIRST, LABELLED, Filters
from thinking_policy.experience.store import ExperienceStore
from thinking_policy.experience.transaction import transaction

AT_ONCE = 200  # experiences of one transaction: a robot's node has to get its turn
PAGES_AT_ONCE = 1000  # that are given back to the disk in one step, 4 MB

_PENDING = (
    'EXISTS (SELECT 1 FROM record AS own WHERE own.tenant = record.tenant '
    'AND own.id = record.id AND own.uploaded_ns IS NULL)'
)
_PINNED = 'EXISTS (SELECT 1 FROM pin WHERE pin.tenant = record.tenant AND pin.id = record.id)'


@dataclass(frozen=True)
class Affected:
    """What a purge takes.

    Attributes:
        experiences: That go, with their amendments; amendments without theirs count as one.
        bytes: Of their lines, without amendments.
        labelled, pending: How many of them have an outcome or feedback, or weren't uploaded.
        pinned: That match and stay.
    """

    experiences: int
    bytes: int
    labelled: int
    pending: int
    pinned: int


def affected(store: ExperienceStore, filters: Filters) -> Affected:
    """Say what `purge` would take."""
    text, values = filters.sql()
    row = store.database.conn.execute(
        'SELECT COALESCE(SUM(NOT pinned), 0), COALESCE(SUM(size * NOT pinned), 0), '
        'COALESCE(SUM(label AND NOT pinned), 0), COALESCE(SUM(pending AND NOT pinned), 0), '
        f'COALESCE(SUM(pinned), 0) FROM (SELECT {_PINNED} AS pinned, LENGTH(body) AS size, '
        f'({LABELLED}) AS label, {_PENDING} AS pending '
        f'FROM record WHERE tenant = ? AND {FIRST}{text})',
        (store.tenant, *values),
    ).fetchone()
    return Affected(*map(int, row))


def purge(store: ExperienceStore, filters: Filters, told: Callable[[int], None]) -> int:
    """Delete experiences with their amendments and give the room back to the disk.

    Each few hundred are one transaction; pinned ones stay.

    Args:
        store: Its connection commits by itself.
        filters: Which ones.
        told: Is told how many experiences went.

    Returns:
        How many records went.
    """
    text, values = filters.sql()
    connection = store.database.conn
    records = gone = 0
    after = -1

    def some() -> tuple[list[int], int]:
        found = connection.execute(
            # In order of seq: by the index of ids it would be sorted anew for each step.
            f'SELECT seq, id FROM record NOT INDEXED WHERE seq > ? AND tenant = ? '
            f'AND {FIRST}{text} AND NOT {_PINNED} ORDER BY seq LIMIT ?',
            (after, store.tenant, *values, AT_ONCE),
        ).fetchall()
        before = connection.total_changes
        connection.executemany(
            'DELETE FROM record WHERE tenant = ? AND id = ?',
            [(store.tenant, one) for _, one in found],
        )
        deleted = connection.total_changes - before
        store.count('purged', deleted)
        return [seq for seq, _ in found], deleted

    while True:
        with transaction(store.database):
            seqs, deleted = some()
        if not seqs:
            break
        after, gone, records = seqs[-1], gone + len(seqs), records + deleted
        told(gone)
    _give_back(store)
    return records


def _give_back(store: ExperienceStore) -> None:
    execute = store.database.conn.execute
    while free := execute('PRAGMA freelist_count').fetchone()[0]:
        execute(f'PRAGMA incremental_vacuum({PAGES_AT_ONCE})').fetchall()
        if execute('PRAGMA freelist_count').fetchone()[0] >= free:
            break  # a file that isn't made for it
    execute('PRAGMA wal_checkpoint(PASSIVE)').fetchall()
