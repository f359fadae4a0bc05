# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of text with aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

_WIDEST = 200  # characters of a cell; names may be damaged


def columns(rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Yield rows with their columns aligned, those in `right` to the right."""
    rows = [[_short(cell) for cell in row] for row in rows]
    if not rows:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield '  '.join(cells).rstrip()


def counted(number: int, what: str) -> str:
    """Return a number and what it counts: 1 message, 2,000 messages."""
    return f'{number:,} {what}{"" if number == 1 else "s"}'


def printable(text: str) -> str:
    """Return a line without what would command the terminal: names may come from anywhere."""
    return ''.join(c if c.isprintable() else '?' for c in text)


def _short(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else f'{cell[: _WIDEST - 3]}...'
