# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Records of one tenant in an opened file: on a robot, where the tenant is '', and off it.

Every query of this module names the tenant; who has a store of one tenant can't ask for another's.
Nothing here commits: the caller holds the transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlite_utils import Database

from thinking_policy.experience.entry import ROWS_AT_ONCE, Added, Entry, Line, entry_of, insertion
from thinking_policy.experience.record import time_ordered_id

EVICTION = ('uploaded', 'quarantined', 'unlabelled', 'labelled')
"""Which experiences go first where room or age runs out; pinned ones never go."""

CLOCK_WAS_SET_NS = 1_577_836_800 * 10**9
"""2020: what was stored before had a clock that had not been set, and its age is unknown."""

FAR_BACK_NS = 86_400 * 10**9  # an outcome belongs to nothing that is older than a day
_AT_ONCE = 200  # experiences that are evicted in one step

# Of `record` as `own`. Later kinds include what the earlier ones have left.
_EVICTED = {
    'uploaded': (
        'own.uploaded_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM record AS other WHERE '
        'other.tenant = own.tenant AND other.id = own.id AND other.uploaded_ns IS NULL)'
    ),
    'quarantined': 'own.quarantined IS NOT NULL',
    'unlabelled': (
        'own.labelled = 0 AND NOT EXISTS (SELECT 1 FROM record AS label WHERE '
        'label.tenant = own.tenant AND label.id = own.id AND label.labelled = 1 '
        'AND label.revision > 0)'
    ),
    'labelled': '1',
}


class ExperienceStore:
    """The records of one tenant. One thread uses it."""

    def __init__(self, database: Database, tenant: str = '') -> None:
        self.database = database
        self.tenant = tenant
        self._execute = database.conn.execute

    def add(self, entries: Sequence[Entry], now_ns: int) -> Added:
        """Store entries; the same record twice is stored once.

        A record that is there with other content stays as it was: records never change.
        """
        inserted = self._insert(entries, now_ns)
        self.count('stored', inserted)
        if inserted == len(entries):  # as nearly always
            return Added(tuple([entry.line for entry in entries]), (), ())
        return self._told_apart(entries, inserted)

    def _insert(self, entries: Sequence[Entry], now_ns: int) -> int:
        """Insert what isn't there, and return how many that were."""
        before = self.database.conn.total_changes
        begin = 0
        for rows in ROWS_AT_ONCE:
            while len(entries) - begin >= rows:
                values: list[Any] = []
                for entry in entries[begin : begin + rows]:
                    values += (self.tenant, now_ns, *entry)
                self._execute(insertion(rows), values)
                begin += rows
        return self.database.conn.total_changes - before

    def _told_apart(self, entries: Sequence[Entry], inserted: int) -> Added:
        """Say which of the entries are the ones that were inserted last."""
        fresh = set(
            self._execute('SELECT id, revision FROM record ORDER BY seq DESC LIMIT ?', (inserted,))
        )
        new, known, conflicting = [], [], []
        for entry in entries:
            if entry[:2] in fresh:
                fresh.remove(entry[:2])  # the same one may come twice
                new.append(entry.line)
            elif self._body_of(entry) == entry.body:
                known.append(entry.line)
            else:
                conflicting.append(entry.line)
        return Added(tuple(new), tuple(known), tuple(conflicting))

    def _body_of(self, entry: Entry) -> bytes:
        found = self._execute(
            'SELECT body FROM record WHERE tenant = ? AND id = ? AND revision = ?',
            (self.tenant, entry.id, entry.revision),
        ).fetchone()
        return bytes(found[0])

    # Reading.

    def lines(self, experience: str) -> list[Line]:
        """Return an experience and its amendments, in order; nothing where it is not there."""
        rows = self._execute(
            'SELECT id, revision, body FROM record WHERE tenant = ? AND id = ? ORDER BY revision',
            (self.tenant, experience),
        )
        return [Line(*row) for row in rows]

    def all_lines(
        self, *, robot: str | None = None, after: tuple[str, int] = ('', -1), most: int = -1
    ) -> Iterator[Line]:
        """Yield records by id and revision.

        Args:
            robot: Only of this one.
            after: Begin behind this id and revision.
            most: How many; -1: all.
        """
        rows = self._execute(
            'SELECT id, revision, body FROM record WHERE tenant = ? AND (id, revision) > (?, ?) '
            'AND (? IS NULL OR robot = ?) ORDER BY id, revision LIMIT ?',
            (self.tenant, *after, robot, robot, most),
        )
        for row in rows:
            yield Line(*row)

    def at(self, robot: str, episode: str, stamp_ns: int) -> str | None:
        """Return the id of the newest experience that is not later than a time.

        Args:
            robot: Whose.
            episode: Of this one; empty: of any.
            stamp_ns: The time, nanoseconds; what is more than a day older is not looked at.
        """
        # Ids sort by time: no index of its own is needed, which would cost with every record.
        found = self._execute(
            'SELECT id FROM record WHERE tenant = ? AND id BETWEEN ? AND ? AND revision = 0 '
            "AND robot = ? AND (? = '' OR episode = ?) AND stamp_ns <= ? ORDER BY id DESC LIMIT 1",
            (
                self.tenant,
                time_ordered_id(max(0, stamp_ns - FAR_BACK_NS), bytes(10)),
                time_ordered_id(stamp_ns, b'\xff' * 10),
                robot,
                episode,
                episode,
                stamp_ns,
            ),
        ).fetchone()
        return None if found is None else str(found[0])

    def robot_of(self, experience: str) -> str | None:
        """Return whose experience it is; None where it is not there."""
        found = self._execute(
            'SELECT robot FROM record WHERE tenant = ? AND id = ? AND revision = 0',
            (self.tenant, experience),
        ).fetchone()
        return None if found is None else str(found[0])

    def last_revision(self, experience: str | None = None) -> int | None:
        """Return the newest revision, of one experience or of all; None where there is none."""
        where, values = 'tenant = ?', [self.tenant]
        if experience is not None:
            where, values = 'tenant = ? AND id = ?', [self.tenant, experience]
        found = self._execute(f'SELECT MAX(revision) FROM record WHERE {where}', values)
        newest = found.fetchone()[0]
        return None if newest is None else int(newest)

    # Uploading.

    def pending(self, most: int, most_bytes: int) -> list[Line]:
        """Return what is to be uploaded next, oldest first; at least one if there is any."""
        lines: list[Line] = []
        size = 0
        rows = self._execute(
            'SELECT id, revision, body FROM record WHERE tenant = ? AND uploaded_ns IS NULL '
            'AND quarantined IS NULL ORDER BY seq LIMIT ?',
            (self.tenant, most),
        )
        for row in rows:
            line = Line(*row)
            size += len(line.body)
            if lines and size > most_bytes:
                break
            lines.append(line)
        return lines

    def pending_count(self) -> int:
        """Return how many records are to be uploaded."""
        found = self._execute(
            'SELECT COUNT(*) FROM record WHERE tenant = ? AND uploaded_ns IS NULL '
            'AND quarantined IS NULL',
            (self.tenant,),
        ).fetchone()
        return int(found[0])

    def uploaded(self, lines: Iterable[Line], now_ns: int) -> None:
        """Note that the server has committed records."""
        noted = self.database.conn.executemany(
            'UPDATE record SET uploaded_ns = ?, quarantined = NULL WHERE tenant = ? AND id = ? '
            'AND revision = ? AND uploaded_ns IS NULL',
            [(now_ns, self.tenant, line.id, line.revision) for line in lines],
        ).rowcount
        self.count('uploaded', noted)

    def quarantine(self, line: Line, reason: str) -> None:
        """Set a record aside that the server will never take."""
        noted = self._execute(
            'UPDATE record SET quarantined = ? WHERE tenant = ? AND id = ? AND revision = ? '
            'AND quarantined IS NULL AND uploaded_ns IS NULL',
            (reason, self.tenant, line.id, line.revision),
        ).rowcount
        self.count('quarantined', noted)

    def release(self, experience: str | None = None) -> int:
        """Let quarantined records, or those of one experience, be tried again; return how many."""
        return self._execute(
            'UPDATE record SET quarantined = NULL WHERE tenant = ? AND quarantined IS NOT NULL '
            'AND (? IS NULL OR id = ?)',
            (self.tenant, experience, experience),
        ).rowcount

    # Room.

    def used_bytes(self) -> int:
        """Return how much of the file is in use, of all tenants."""
        file_bytes, free_bytes = self.file_bytes()
        return file_bytes - free_bytes

    def file_bytes(self) -> tuple[int, int]:
        """Return how large the file is without its log, and how much of that is free."""
        pages, free, size = self._execute(
            'SELECT * FROM pragma_page_count, pragma_freelist_count, pragma_page_size'
        ).fetchone()
        return pages * size, free * size

    def evict(self, kind: str, before_ns: int | None = None, most: int = _AT_ONCE) -> int:
        """Delete the oldest unpinned experiences of a kind, with their amendments.

        Amendments whose experience is gone are taken together as an experience is.

        Args:
            kind: One of `EVICTION`. An experience counts as uploaded when all its records are.
            before_ns: Only those that were stored before, by a clock that was set.
            most: How many experiences.

        Returns:
            How many records went.
        """
        chosen = (
            f'SELECT own.id FROM record AS own WHERE own.tenant = ?1 AND {_EVICTED[kind]} '
            'AND (?2 IS NULL OR own.stored_ns BETWEEN ?3 AND ?2 - 1) '
            'AND (own.revision = 0 OR NOT EXISTS (SELECT 1 FROM record AS first WHERE '
            'first.tenant = own.tenant AND first.id = own.id AND first.revision < own.revision)) '
            'AND NOT EXISTS (SELECT 1 FROM pin WHERE pin.tenant = own.tenant '
            'AND pin.id = own.id) ORDER BY own.seq LIMIT ?4'
        )
        count = self._execute(
            f'DELETE FROM record WHERE tenant = ?1 AND id IN ({chosen})',
            (self.tenant, before_ns, CLOCK_WAS_SET_NS, most),
        ).rowcount
        self.count(f'evicted_{kind}', count)
        return count

    def pin(self, experience: str, reason: str) -> None:
        """Keep an experience whatever happens, as the evidence of something."""
        self._execute(
            'INSERT OR IGNORE INTO pin VALUES (?, ?, ?)', (self.tenant, experience, reason)
        )

    def unpin(self, experience: str, reason: str) -> None:
        """Take one reason away; where none is left, the experience may go."""
        self._execute(
            'DELETE FROM pin WHERE tenant = ? AND id = ? AND reason = ?',
            (self.tenant, experience, reason),
        )

    # Counts and settings.

    def count(self, name: str, by: int) -> None:
        """Add to a counter that outlives restarts."""
        if by:
            self._execute(
                'INSERT INTO counter VALUES (?, ?, ?) '
                'ON CONFLICT (tenant, name) DO UPDATE SET value = value + excluded.value',
                (self.tenant, name, by),
            )

    def counters(self) -> dict[str, int]:
        """Return the counters by name."""
        rows = self._execute('SELECT name, value FROM counter WHERE tenant = ?', (self.tenant,))
        return dict(rows.fetchall())

    def totals(self) -> dict[str, Any]:
        """Return how many records there are, by how they stand."""
        names = ('experiences', 'amendments', 'labelled', 'pending', 'quarantined', 'bytes')
        row = self._execute(
            'SELECT COALESCE(SUM(revision = 0), 0), COALESCE(SUM(revision > 0), 0), '
            'COALESCE(SUM(revision = 0 AND (labelled OR EXISTS (SELECT 1 FROM record AS label '
            'WHERE label.tenant = own.tenant AND label.id = own.id AND label.labelled = 1 '
            'AND label.revision > 0))), 0), '
            'COALESCE(SUM(uploaded_ns IS NULL AND quarantined IS NULL), 0), '
            'COALESCE(SUM(quarantined IS NOT NULL), 0), COALESCE(SUM(LENGTH(body)), 0) '
            'FROM record AS own WHERE tenant = ?',
            (self.tenant,),
        ).fetchone()
        return dict(zip(names, row, strict=True))

    def setting(self, name: str) -> str | None:
        """Return what was kept under a name, None if nothing was."""
        found = self._execute('SELECT value FROM setting WHERE name = ?', (name,)).fetchone()
        return None if found is None else str(found[0])

    def keep_setting(self, name: str, value: str) -> None:
        """Keep a text under a name."""
        self._execute('INSERT OR REPLACE INTO setting VALUES (?, ?)', (name, value))


__all__ = ['EVICTION', 'Added', 'Entry', 'ExperienceStore', 'Line', 'entry_of']
