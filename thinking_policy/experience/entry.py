# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A record on its way into the file, and as it comes out of it.

Named tuples and not dataclasses: a robot that catches up makes many thousands of them a second.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from thinking_policy.experience.record import Amendment, Record

# Statements of so many rows. While one runs, other threads do too; between two of them this thread
# may have to wait for its turn, which would be a wait for each row if each had its own.
ROWS_AT_ONCE = tuple(2**power for power in range(11, -1, -1))


class Line(NamedTuple):
    """A record as it lies in the file or goes over the wire."""

    id: str
    revision: int
    body: bytes


class Entry(NamedTuple):
    """A record's line, and what is looked for in it; in the order of the columns."""

    id: str
    revision: int
    robot: str
    episode: str
    stamp_ns: int
    policy_version: str
    labelled: bool
    body: bytes

    @property
    def line(self) -> Line:
        """Return the line alone."""
        return Line(self.id, self.revision, self.body)


class Added(NamedTuple):
    """What became of entries: new ones, ones that were there, and ones that differ from those."""

    new: tuple[Line, ...]
    known: tuple[Line, ...]
    conflicting: tuple[Line, ...]


def entry_of(record: Record, body: bytes) -> Entry:
    """Return a record as an entry; `body` is its line."""
    if isinstance(record, Amendment):
        stamp_ns = record.observation.stamp_ns
        return Entry(
            record.id, record.revision, record.robot, '', stamp_ns, '', record.labelled, body
        )
    situation = record.situation
    return Entry(
        record.id,
        0,
        record.robot,
        situation.episode,
        situation.stamp_ns,
        record.policy_version,
        record.labelled,
        body,
    )


@functools.cache
def insertion(rows: int) -> str:
    """Return the statement for so many entries, each behind its tenant and time."""
    row = ', '.join('?' * (2 + len(Entry._fields)))
    return (
        f'INSERT INTO record (tenant, stored_ns, {", ".join(Entry._fields)}) '
        f'VALUES ({"), (".join([row] * rows)}) ON CONFLICT DO NOTHING'
    )
