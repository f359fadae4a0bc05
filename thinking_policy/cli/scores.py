# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a policy as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from thinking_policy.training.evaluation import Evaluation
    from thinking_policy.training.metrics import Scores

COLUMNS = ('on', 'due', 'P', 'R', 'F1', 'ECE', 'false', 'missed')
NOTHING = '–'  # a share of no rows
LEGEND = 'P precision, R recall, ECE calibration error; due, false, missed: rows'


def print_scores(evaluation: Evaluation, title: str) -> None:
    """Print the scores of each activity and over all."""
    # Narrow enough for the longest shipped id in 80 columns.
    table = Table(title=title, title_justify='left', box=None, padding=(0, 1, 0, 0))
    table.add_column('activity', no_wrap=True)
    for column in COLUMNS:
        table.add_column(column, justify='right', no_wrap=True)
    counts = evaluation.counts
    for index, name in enumerate(evaluation.activities):
        score = evaluation.scores[index]
        table.add_row(
            name,
            f'{evaluation.on[index]:.2f}',
            str(evaluation.due[index]),
            *_shares(score, counts.found[index], counts.false[index], counts.missed[index]),
            f'{evaluation.calibration_errors[index]:.3f}',
            *(str(column[index]) for column in (counts.false, counts.missed)),
        )
    overall = evaluation.overall
    table.add_row(
        'all',
        '',
        str(evaluation.due.sum()),
        *_shares(overall, counts.found.sum(), counts.false.sum(), counts.missed.sum()),
        f'{evaluation.calibration_error:.3f}',
        *(str(column.sum()) for column in (counts.false, counts.missed)),
    )
    console = Console(highlight=False)
    console.print(table)
    console.print(LEGEND, style='dim')


def _shares(score: Scores, found: Any, false: Any, missed: Any) -> tuple[str, str, str]:
    """Return precision, recall and F1; a share of no rows is none: of one never active, P."""
    return (
        f'{score.precision:.3f}' if found + false else NOTHING,
        f'{score.recall:.3f}' if found + missed else NOTHING,
        f'{score.f1:.3f}' if found + false + missed else NOTHING,
    )


def print_robustness(figures: Mapping[str, Mapping[str, float]]) -> None:
    """Print F1 where samples get lost and where signals are missing."""
    table = Table(
        title='F1 where something is missing',
        title_justify='left',
        box=None,
        padding=(0, 1, 0, 0),
    )
    table.add_column('missing', min_width=28)
    table.add_column('F1', justify='right')
    for share, f1 in figures['invalid'].items():
        table.add_row(f'{float(share):.0%} of samples', f'{f1:.3f}')
    for signal, f1 in figures['missing'].items():
        table.add_row(signal, f'{f1:.3f}')
    console = Console(highlight=False)
    console.print()
    console.print(table)
