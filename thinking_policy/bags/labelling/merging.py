# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""One table from what several origins say; where they contradict each other is listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.labelling.recording import Recording
from thinking_policy.bags.labelling.statements import (
    DOUBT,
    NO,
    SILENT,
    UNSURE,
    YES,
    Statement,
)
from thinking_policy.bags.labelling.table import LabelTable


@dataclass(frozen=True)
class Conflict:
    """A stretch in which one origin says that an activity is called for and another denies it.

    Attributes:
        bag: Recording.
        activity: Id.
        kept: Origin whose word counts.
        label: What it says.
        dropped: The other origin.
        begin_ns: Stamp of the first row.
        end_ns: Stamp of the last row.
        rows: How many.
    """

    bag: str
    activity: str
    kept: str
    label: bool
    dropped: str
    begin_ns: int
    end_ns: int
    rows: int


@dataclass(frozen=True)
class Merged:
    """What became of a recording: its rows in the table, and the conflicts.

    Attributes:
        table: Labelled rows.
        labelled: bool [N], which rows of the recording those are.
        conflicts: In order of activities and times.
    """

    table: LabelTable
    labelled: NDArray[np.bool_]
    conflicts: tuple[Conflict, ...]


def merge(
    recording: Recording,
    statements: Sequence[Statement],
    activities: tuple[str, ...],
    precedence: Sequence[str],
    default: str,
) -> Merged:
    """Decide cell by cell.

    The first origin in precedence that knows an answer decides. Doubt (a margin, a window that
    is not full yet, the open end of an episode) counts only where nobody knows.

    Args:
        recording: N situations.
        statements: What the origins say of it.
        activities: A ids; the columns of the table.
        precedence: Kinds of origins (person, outcome, rule) or single ones (rule:rising), the
            first counts most; those not named come last, as they are given.
        default: none_called_for: where nobody says a thing, nothing is called for; unlabelled:
            a situation that nobody speaks about gets no row.
    """
    ordered = sorted(statements, key=lambda one: rank(one.origin, precedence))
    shape = len(recording), len(activities)
    label = np.zeros(shape, np.bool_)
    confidence = np.ones(shape, np.float32)
    origin = np.full(shape, '', object)
    spoken = np.zeros(len(recording), np.bool_)
    conflicts: list[Conflict] = []
    for column, activity in enumerate(activities):
        about = [one for one in ordered if activity in one.activities]
        decided = np.full(len(recording), SILENT, np.int8)
        for one in about:
            word = np.where(one.answer == DOUBT, SILENT, one.answer)
            new = (decided == SILENT) & (word != SILENT)
            decided = np.where(new, word, decided)
            sure = np.broadcast_to(np.asarray(one.confidence, np.float32), decided.shape)
            confidence[new, column] = sure[new]
            origin[new, column] = one.origin
        conflicts += _conflicts(recording, activity, about, decided, origin[:, column])
        doubted = np.zeros(len(recording), np.bool_)
        for one in about:
            doubted |= one.answer == DOUBT
        nobody_knows = (decided == UNSURE) | ((decided == SILENT) & doubted)
        confidence[nobody_knows, column] = 0.0
        origin[nobody_knows, column] = ''
        label[:, column] = decided == YES
        spoken |= decided != SILENT
    labelled = spoken if default == 'unlabelled' else np.ones_like(spoken)
    count = int(labelled.sum())
    table = LabelTable(
        activities,
        np.full(count, recording.name, object),
        recording.stamp_ns[labelled],
        np.array([*recording.episodes, ''], object)[recording.episode[labelled]],
        label[labelled],
        confidence[labelled],
        origin[labelled],
    )
    return Merged(table, labelled, tuple(conflicts))


def rank(origin: str, precedence: Sequence[str]) -> int:
    """Return the place of an origin in the order of precedence; the smallest counts most."""
    if origin in precedence:
        return list(precedence).index(origin)
    kind = origin.partition(':')[0]
    return list(precedence).index(kind) if kind in precedence else len(precedence)


def spans_of(flags: NDArray[np.bool_], stretches: Sequence[slice]) -> list[tuple[int, int]]:
    """Return first and last row of each run of flags; none crosses an episode."""
    if not flags.any():
        return []
    begins = np.zeros(len(flags) + 1, np.bool_)
    begins[[stretch.start for stretch in stretches]] = True
    before = np.concatenate([[False], flags[:-1]])
    after = np.concatenate([flags[1:], [False]])
    first = np.flatnonzero(flags & (~before | begins[:-1]))
    final = np.flatnonzero(flags & (~after | begins[1:]))
    return list(zip(first.tolist(), final.tolist(), strict=True))


def _conflicts(
    recording: Recording,
    activity: str,
    about: Sequence[Statement],
    decided: NDArray[np.int8],
    origin: NDArray[np.object_],
) -> list[Conflict]:
    """Return where an origin says the opposite of the one that decided."""
    found = []
    for one in about:
        against = ((decided == YES) & (one.answer == NO)) | ((decided == NO) & (one.answer == YES))
        if not against.any():
            continue
        for kept in dict.fromkeys(origin[against]):
            rows = against & (origin == kept)
            for first, final in spans_of(rows, recording.stretches):
                found.append(
                    Conflict(
                        recording.name,
                        activity,
                        str(kept),
                        bool(decided[first] == YES),
                        one.origin,
                        int(recording.stamp_ns[first]),
                        int(recording.stamp_ns[final]),
                        final - first + 1,
                    )
                )
    return found
