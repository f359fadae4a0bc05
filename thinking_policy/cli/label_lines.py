# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `label` says about the labels it made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from thinking_policy.bags.labelling.labeller import Labeller
from thinking_policy.bags.labelling.page import DEFAULTS
from thinking_policy.cli.tables import columns

_MOST_CONFLICTS = 12  # lines; the page and the table of conflicts have all


def made(
    path: Path, rows: int, recordings: int, labeller: Labeller, starts: Mapping[str, int]
) -> Iterator[str]:
    """Yield the summary.

    Args:
        path: The table.
        rows: Rows in it.
        recordings: How many were labelled.
        labeller: What counted.
        starts: By recording, where its seconds count from.
    """
    left = labeller.rows - labeller.labelled
    yield (
        f'{path}: {rows:,} rows; {labeller.labelled:,} of {labeller.rows:,} situations of '
        f'{recordings:,} recording{"" if recordings == 1 else "s"} labelled'
        f'{f", {left:,} not" if left else ""}'
    )
    yield f'  {DEFAULTS[labeller.default][0].lower()}{DEFAULTS[labeller.default][1:]}'
    yield f'  precedence: {" > ".join(labeller.precedence)}'
    yield ''
    yield from columns(_tallies(labeller), right=(1, 2, 3, 4))
    yield from _conflicts(labeller, starts)
    remarks = labeller.remarks()
    if remarks:
        yield ''
        yield 'noticed:'
        yield from (f'  {remark}' for remark in remarks)


def _tallies(labeller: Labeller) -> Iterator[tuple[str, ...]]:
    yield 'activity', 'situations', 'share', 'spans', 'unsure', 'by'
    for activity, tally in labeller.tallies.items():
        by = ', '.join(f'{origin} {count:,}' for origin, count in tally.by_origin.most_common())
        yield (
            activity,
            f'{tally.rows:,}',
            _share(tally.rows, labeller.labelled),
            f'{tally.spans:,}',
            f'{tally.unsure:,}',
            by or '-',
        )
    share = _share(labeller.nothing, labeller.labelled)
    yield '(nothing)', f'{labeller.nothing:,}', share, '', '', ''


def _conflicts(labeller: Labeller, starts: Mapping[str, int]) -> Iterator[str]:
    yield ''
    if not labeller.conflicts:
        yield 'conflicts: none'
        return
    rows = sum(conflict.rows for conflict in labeller.conflicts)
    count = len(labeller.conflicts)
    yield f'conflicts: {count:,} span{"" if count == 1 else "s"}, {rows:,} situations'
    lines = [
        (
            f'  {one.bag}',
            f'{(one.begin_ns - starts[one.bag]) / 1e9:,.1f} s',
            f'to {(one.end_ns - starts[one.bag]) / 1e9:,.1f} s',
            one.activity,
            f'kept {one.kept} ({"called for" if one.label else "not called for"})',
            f'not {one.dropped}',
        )
        for one in labeller.conflicts[:_MOST_CONFLICTS]
    ]
    yield from columns(lines, right=(1,))
    if len(labeller.conflicts) > _MOST_CONFLICTS:
        more = len(labeller.conflicts) - _MOST_CONFLICTS
        yield f'  and {more:,} more; `--plot labels.html` shows all'


def _share(part: int, whole: int) -> str:
    return f'{100 * part / whole:.1f} %' if whole else '-'
