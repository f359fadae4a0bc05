# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a policy as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from thinking_policy.training.evaluation import Evaluation

COLUMNS = ('on', 'due', 'P', 'R', 'F1', 'ECE', 'false', 'missed')
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
            *(f'{value:.3f}' for value in (score.precision, score.recall, score.f1)),
            f'{evaluation.calibration_errors[index]:.3f}',
            *(str(column[index]) for column in (counts.false, counts.missed)),
        )
    overall = evaluation.overall
    table.add_row(
        'all',
        '',
        str(evaluation.due.sum()),
        *(f'{value:.3f}' for value in (overall.precision, overall.recall, overall.f1)),
        f'{evaluation.calibration_error:.3f}',
        *(str(column.sum()) for column in (counts.false, counts.missed)),
    )
    console = Console(highlight=False)
    console.print(table)
    console.print(LEGEND, style='dim')


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
