# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the CSV files that people write: a row too few is never left out unseen."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from thinking_policy.bags.labelling.errors import LabelError


def csv_rows(file: TextIO, path: Path, separator: str = ',') -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with the number of its first line: a cell may hold breaks.

    Args:
        file: Open at its beginning, with newline=''.
        path: Named in errors.
        separator: Between the cells.

    Raises:
        LabelError: A quote that is not closed would take the rest of the file for one cell.
    """
    rows = csv.reader(file, delimiter=separator, strict=True)
    while True:
        number = rows.line_num + 1
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise LabelError(
                f'{path}:{number}: a quote opens in this line and is not closed as CSV asks '
                f'({error}); close it, or write "" for a quote inside quotes'
            ) from error
        yield number, cells


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Return why a text file can't be read, in words of people."""
    if isinstance(error, UnicodeDecodeError):
        return 'is not UTF-8 text; save the file as UTF-8'
    return error.strerror or str(error)
