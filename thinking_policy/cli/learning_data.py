# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `train` and `evaluate` are given: learning sets, or recordings beside a table of labels."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thinking_policy import ThinkingPolicyError
from thinking_policy.bags.export import Arrays
from thinking_policy.bags.labelling.table import Joined, LabelTable, joined, read_labels
from thinking_policy.cli.labelled_data import Sources, find_sources, is_exported
from thinking_policy.cli.tables import printable
from thinking_policy.training.learning_files import Source, Stored, learning_files
from thinking_policy.training.stored_arrays import read

_NAMES = 20  # recordings that a policy file names; of more, only how many


@dataclass(frozen=True)
class LearningData:
    """Labelled situations.

    Attributes:
        source: Where they are.
        name: What errors and figures call them.
        origin: What they are made of, for the policy file.
        lines: What was left out and why.
        without: Why there may be fewer recordings than were given; empty: there are not.
    """

    source: Source
    name: str
    origin: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    without: str = ''


def learning_data(
    data: Sequence[Path],
    labels: Path | None,
    config: Path | str,
    namespace: str,
    clock: str,
    known: Sequence[str] | None = None,
    *,
    listed: Sequence[str] | None = None,
) -> LearningData:
    """Find labelled situations.

    Args:
        data: Learning sets; or with `labels` bags, folders of bags, or exported situations.
        labels: Table that `thinking-policy label` wrote; None: the files hold labels.
        config: Robot file for bags; empty: none was named.
        namespace: The robot's, in the bags.
        clock: Whose time the ticks follow.
        known: Ids whose labels are asked for; others in the table are left out. None: all.
        listed: Ids that the table may name; None: any.

    Raises:
        ThinkingPolicyError: What is missing, or that table and recordings have nothing in common.
    """
    name = str(data[0]) if len(data) == 1 else f'{data[0]} and {len(data) - 1} more'
    if labels is None:
        return LearningData(_with_labels(data, config), name)
    table = read_labels(labels, listed)
    sources = find_sources(data, config, namespace, clock)
    joining = _Joining(table, labels, known)
    stored = [joining.of(name, arrays) for name, arrays in sources.situations()]
    joining.check(sources)
    digest = hashlib.sha256(labels.read_bytes()).hexdigest()
    more = (f'{len(stored) - _NAMES} more',) if len(stored) > _NAMES else ()
    names = (printable(str(s.name)) for s in stored[:_NAMES])
    origin = (*names, *more, f'labels {digest[:16]}')
    return LearningData(
        [entry for entry in stored if len(entry.arrays['stamp_ns'])],
        name,
        origin,
        (*joining.lines(), *sources.failures()),
        joining.without(),
    )


def _with_labels(data: Sequence[Path], config: Path | str) -> Source:
    """Return learning sets that hold their labels themselves."""
    for path in data:
        bag = path.exists() and not is_exported(path)
        if bag and (config or path.is_file() or any(path.iterdir())):
            raise ThinkingPolicyError(
                f'{path}: expected labelled .npz files in this folder, found none; a bag is taken '
                'with --config ROBOT and --labels TABLE, which `thinking-policy label` writes'
            )
    if config:
        raise ThinkingPolicyError(
            '--config: .npz files say themselves what the robot perceives; leave it out'
        )
    if len(data) == 1:
        return data[0]
    return [Stored(file, read(file)) for path in data for file in learning_files(path)]


class _Joining:
    """Gives situations their labels, and counts what finds none."""

    def __init__(self, table: LabelTable, file: Path, known: Sequence[str] | None) -> None:
        self._table, self._file = table, file
        self._activities = tuple(id for id in table.activities if known is None or id in known)
        self._situations = self._labelled = self._unmatched = 0
        self._spans: dict[str, str] = {}  # by recording
        self._bare: list[str] = []  # recordings of which nothing is labelled

    def of(self, name: str, arrays: Arrays) -> Stored:
        """Return the labelled situations of a recording; the others can't be learned from."""
        stamps = arrays['stamp_ns']
        found = joined(self._table, name, stamps, self._activities, arrays['episode'])
        self._situations += len(stamps)
        self._labelled += int(found.labelled.sum())
        self._unmatched += found.unmatched
        self._spans[name] = _span(stamps)
        if not found.labelled.any():
            self._bare.append(name)
        return Stored(Path(name), _kept(arrays, found, self._activities))

    def check(self, sources: Sources) -> None:
        """Refuse a table of other recordings.

        Raises:
            ThinkingPolicyError: Nothing is labelled; says what both sides have.
        """
        if self._labelled:
            return
        table = self._table
        ours = [bag for bag in self._spans if len(table.of_bag(bag))]
        if ours:
            rows = table.of_bag(ours[0])
            raise ThinkingPolicyError(
                f'{self._file}: none of its {len(rows):,} rows of {ours[0]} has the time of a '
                f'situation: the table has {_span(rows.stamp_ns)}, the recording '
                f'{self._spans[ours[0]]}; label and export with the same --config, --clock, '
                '--namespace and --stride'
            )
        raise ThinkingPolicyError(
            f'{self._file}: has labels of {_listed(table.bags)}, none of '
            f'{_listed(tuple(self._spans))}; '
            'give the bags, or the folder of bags, as they were given to `label`'
        )

    def lines(self) -> tuple[str, ...]:
        """Return what was taken and what was left out."""
        unlabelled = self._situations - self._labelled
        lines = [
            f'{self._file}: {self._labelled:,} of {self._situations:,} situations of '
            f'{len(self._spans)} recording{"" if len(self._spans) == 1 else "s"} are labelled'
        ]
        if unlabelled:
            lines.append(f'  without a label, not used: {unlabelled:,} situations')
        if self._unmatched:
            lines.append(f'  rows of the table without a situation, not used: {self._unmatched:,}')
        unknown = [id for id in self._table.activities if id not in self._activities]
        if unknown:
            lines.append(f'  labels that the policy does not know: {", ".join(unknown)}')
        if self._bare:
            lines.append(f'  recordings without any label: {_listed(self._bare)}')
        if others := self._others():
            lines.append(
                f'  other recordings in the table, not used: {len(others)} ({_listed(others)})'
            )
        return tuple(lines)

    def without(self) -> str:
        """Return which recordings the table has no label for; empty: it has one for each."""
        if not self._bare:
            return ''
        others = self._others()
        has = f', but of {_listed(others)}, which was not given' if others else ''
        return f'{self._file} has no label of {_listed(self._bare)}{has}'

    def _others(self) -> list[str]:
        return [bag for bag in self._table.bags if bag not in self._spans]


def _kept(arrays: Arrays, found: Joined, activities: tuple[str, ...]) -> Arrays:
    """Return the arrays of the labelled situations, with their labels; all events stay."""
    kept = np.flatnonzero(found.labelled)
    count = len(found.labelled)
    rows = {
        name: array[kept]
        for name, array in arrays.items()
        if not name.startswith('event_') and array.ndim and len(array) == count
        and name != 'signals'
    }  # fmt: skip
    return {
        **arrays,
        **rows,
        # The first situation that is left which knew the event.
        'event_row': np.searchsorted(kept, arrays['event_row']).astype(np.int64),
        'labels': found.label[kept],
        'weight': found.weight[kept],
        'activities': np.array(activities, np.str_),
    }


def _span(stamps: NDArray[np.int64]) -> str:
    if not len(stamps):
        return 'none'
    moments = (
        datetime.datetime.fromtimestamp(int(stamp) / 1e9, datetime.timezone.utc)
        for stamp in (stamps.min(), stamps.max())
    )
    return ' ... '.join(f'{moment:%Y-%m-%d %H:%M:%S.%f}'[:-3] for moment in moments)


def _listed(names: Sequence[str]) -> str:
    more = f' and {len(names) - 4} more' if len(names) > 4 else ''
    return (', '.join(names[:4]) or 'no recording') + more
