# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Finds experiences of one tenant: by robot, time, reason, activity, and how they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thinking_policy.experience.entry import Line
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import (
    Amendment,
    Experience,
    Observation,
    Reason,
    from_line,
    is_label,
)
from thinking_policy.experience.store import ExperienceStore

AT_ONCE = 200  # experiences that are read in one step, so that no lock is held for long

# Conditions on `record`, a row of the table.
LABELLED = (
    'record.labelled OR EXISTS (SELECT 1 FROM record AS label WHERE label.tenant = record.tenant '
    'AND label.id = record.id AND label.labelled = 1 AND label.revision > 0)'
)
FIRST = (  # the experience, or the first amendment where that is gone
    'record.revision = (SELECT MIN(own.revision) FROM record AS own '
    'WHERE own.tenant = record.tenant AND own.id = record.id)'
)
_TEXT = 'CAST(record.body AS TEXT)'


@dataclass(frozen=True)
class Filters:
    """Which experiences are meant; what isn't set doesn't matter.

    Attributes:
        robot, episode: Only of these.
        reason: Recorded for this one, among others.
        activity: This kind of thinking was active.
        labelled: Whether an outcome or a feedback is known.
        uploaded: Whether all of its records are.
        since_ns, until_ns: Time of the situation, the first within and the second not.
    """

    robot: str | None = None
    episode: str | None = None
    reason: Reason | None = None
    activity: str | None = None
    labelled: bool | None = None
    uploaded: bool | None = None
    since_ns: int | None = None
    until_ns: int | None = None

    def sql(self) -> tuple[str, list[Any]]:
        """Return conditions on `record`, each beginning with AND, and their values."""
        text, values = '', []
        for condition, value in (
            ('record.robot = ?', self.robot),
            ('record.episode = ?', self.episode),
            (f'({LABELLED}) = ?', self.labelled),
            ('record.stamp_ns >= ?', self.since_ns),
            ('record.stamp_ns < ?', self.until_ns),
            (
                f"EXISTS (SELECT 1 FROM json_each({_TEXT}, '$.reasons') WHERE value = ?)",
                None if self.reason is None else self.reason.value,
            ),
            (
                f"EXISTS (SELECT 1 FROM json_each({_TEXT}, '$.activations') AS one WHERE "
                "json_extract(one.value, '$.id') = ? AND json_extract(one.value, '$.active'))",
                self.activity,
            ),
        ):
            if value is not None:
                text += f' AND {condition}'
                values.append(value)
        if self.uploaded is not None:
            text += f' AND {"NOT " if self.uploaded else ""}EXISTS (SELECT 1 FROM record AS own '
            text += 'WHERE own.tenant = record.tenant AND own.id = record.id '
            text += 'AND own.uploaded_ns IS NULL)'
        return text, values


@dataclass(frozen=True)
class Standing:
    """How an experience's records stand in the file.

    Attributes:
        state: `quarantined` where any record is, else `pending` where any is, else `uploaded`.
        reasons: Why they were quarantined.
        pinned: For which reasons it is kept.
    """

    state: str
    reasons: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quarantined:
    """A record that the server refused; `reason` is the server's."""

    id: str
    revision: int
    robot: str
    reason: str


@dataclass(frozen=True)
class Found:
    """An experience with all that became known of it."""

    experience: Experience
    amendments: tuple[Amendment, ...] = ()
    standing: Standing = field(default_factory=lambda: Standing('pending'))

    @property
    def observations(self) -> tuple[Observation, ...]:
        """Return all of them: those known when it was recorded, then the later ones."""
        later = tuple(amendment.observation for amendment in self.amendments)
        return self.experience.observations + later

    @property
    def label(self) -> Observation | None:
        """Return the newest outcome or feedback."""
        return next((one for one in reversed(self.observations) if is_label(one)), None)


def count(store: ExperienceStore, filters: Filters) -> int:
    """Return how many experiences there are."""
    text, values = filters.sql()
    found = store.database.conn.execute(
        f'SELECT COUNT(*) FROM record WHERE tenant = ? AND revision = 0{text}',
        (store.tenant, *values),
    ).fetchone()[0]
    return int(found)


def newest(store: ExperienceStore, filters: Filters, most: int) -> list[Found]:
    """Return experiences, newest first."""
    text, values = filters.sql()
    rows = store.database.conn.execute(
        f'SELECT id FROM record WHERE tenant = ? AND revision = 0{text} ORDER BY id DESC LIMIT ?',
        (store.tenant, *values, most),
    ).fetchall()
    return [found for (one,) in rows if (found := find(store, one)) is not None]


def lines_of(store: ExperienceStore, filters: Filters) -> Iterator[list[Line]]:
    """Yield the lines of each experience, by id; amendments follow what they amend.

    Amendments whose experience isn't there come too, unless the filters ask for what only an
    experience has. No cursor stays open in between.
    """
    whole = replace(filters, robot=None) == Filters()
    after = ''
    while True:
        ids = _ids(store, filters, after, with_amendments_alone=whole)
        if not ids:
            return
        for one in ids:
            if lines := store.lines(one):  # may have been deleted meanwhile
                yield lines
        after = ids[-1]


def find(store: ExperienceStore, one: str) -> Found | None:
    """Return an experience by its whole id; None where it isn't there."""
    lines = store.lines(one)
    if not lines or lines[0].revision:
        return None
    records = [from_line(line.body, f'record {line.id}') for line in lines]
    return Found(
        records[0],  # type: ignore[arg-type]  # revision 0
        tuple(record for record in records[1:] if isinstance(record, Amendment)),
        standing(store, one),
    )


def quarantined(store: ExperienceStore) -> Iterator[Quarantined]:
    """Yield the records that the server refused, oldest first. No cursor stays open."""
    after = -1
    while True:
        rows = store.database.conn.execute(
            'SELECT seq, id, revision, robot, quarantined FROM record WHERE tenant = ? '
            'AND quarantined IS NOT NULL AND seq > ? ORDER BY seq LIMIT ?',
            (store.tenant, after, AT_ONCE),
        ).fetchall()
        if not rows:
            return
        yield from (Quarantined(*row[1:]) for row in rows)
        after = rows[-1][0]


def whole_id(store: ExperienceStore, prefix: str, *, alone: bool = False) -> str:
    """Return the id that begins so.

    Args:
        store: Where it is looked for.
        prefix: How it begins.
        alone: Whether amendments count whose experience isn't there.

    Raises:
        ExperienceError: None does, or several do; the message names them.
    """
    prefix = prefix.strip().lower()
    if not prefix:
        raise ExperienceError('expected an id, or how it begins, found nothing')
    ids = [
        str(row[0])
        for row in store.database.conn.execute(
            'SELECT DISTINCT id FROM record WHERE tenant = ? AND (revision = 0 OR ?) AND id >= ? '
            'AND id < ? ORDER BY id LIMIT 4',
            (store.tenant, alone, prefix, prefix + '~'),
        )
    ]
    if not ids:
        raise ExperienceError(f'{prefix}: no experience has an id that begins so')
    if len(ids) > 1:
        more = ' and more' if len(ids) > 3 else ''
        raise ExperienceError(
            f'{prefix}: several ids begin so: {", ".join(ids[:3])}{more}; give more of it'
        )
    return ids[0]


def standing(store: ExperienceStore, one: str) -> Standing:
    """Return how the records of an experience stand."""
    execute = store.database.conn.execute
    rows = execute(
        'SELECT uploaded_ns, quarantined FROM record WHERE tenant = ? AND id = ? '
        'ORDER BY revision',
        (store.tenant, one),
    ).fetchall()
    pins = execute(
        'SELECT reason FROM pin WHERE tenant = ? AND id = ? ORDER BY reason', (store.tenant, one)
    ).fetchall()
    reasons = tuple(str(reason) for _, reason in rows if reason is not None)
    state = 'uploaded' if all(uploaded is not None for uploaded, _ in rows) else 'pending'
    return Standing(
        'quarantined' if reasons else state, reasons, tuple(str(reason) for (reason,) in pins)
    )


def _ids(
    store: ExperienceStore, filters: Filters, after: str, *, with_amendments_alone: bool
) -> Sequence[str]:
    text, values = filters.sql()
    first = FIRST if with_amendments_alone else 'revision = 0'
    rows = store.database.conn.execute(
        f'SELECT id FROM record WHERE tenant = ? AND id > ? AND {first}{text} ORDER BY id LIMIT ?',
        (store.tenant, after, *values, AT_ONCE),
    ).fetchall()
    return [str(row[0]) for row in rows]
