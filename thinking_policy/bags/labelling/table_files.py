# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of labels as files of text cells, CSV or Parquet; `cells` says what they mean."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from thinking_policy.bags.labelling.csv_rows import csv_rows, why_unreadable
from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.whole_file import whole_file

COLUMNS = ('bag', 'time', 'episode', 'activities', 'origin', 'confidence', 'unsure', 'about')
NEEDED = ('bag', 'time', 'activities')
SUFFIXES = ('.csv', '.parquet')
_BLOCK = 65_536  # rows that Parquet stores together
_READ = 4_096  # rows that are held as text at a time; many more are slower


@dataclass(frozen=True)
class Block:
    """Rows of a table, column by column: a table may have millions of rows.

    Attributes:
        lines: Line or row of each.
        cells: Texts by column, for all of COLUMNS; absent ones are empty.
    """

    lines: Sequence[int]
    cells: dict[str, Sequence[str]]


def read_blocks(path: Path) -> Iterator[Block]:
    """Yield the rows of a table, some thousands at a time.

    Raises:
        LabelError: Not readable, or a column is missing.
    """
    if path.suffix not in SUFFIXES:
        raise LabelError(f'{path}: expected a table whose name ends in .csv or .parquet')
    if not path.is_file():
        raise LabelError(f'{path}: no such file; `thinking-policy label` writes one')
    try:
        yield from _csv_blocks(path) if path.suffix == '.csv' else _parquet_blocks(path)
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError(f'{path}: cannot be read: {why_unreadable(error)}') from error


def write_records(path: Path, records: Iterable[Sequence[str]]) -> None:
    """Write rows of cells in the order of COLUMNS; the file appears whole or not at all.

    Raises:
        LabelError: It can't be written, or its name ends in neither .csv nor .parquet.
    """
    if path.suffix not in SUFFIXES:
        raise LabelError(f'{path}: expected a name that ends in .csv or .parquet')
    with whole_file(path, LabelError) as draft:
        if path.suffix == '.parquet':
            _write_parquet(draft, records)
            return
        with draft.open('w', encoding='utf-8', newline='') as file:
            writer = csv.writer(file, lineterminator='\n')
            writer.writerow(COLUMNS)
            writer.writerows(records)


def _csv_blocks(path: Path) -> Iterator[Block]:
    with path.open(encoding='utf-8-sig', newline='') as file:
        numbered = csv_rows(file, path)
        heading = [name.strip() for name in next(numbered, (0, []))[1]]
        _check_heading(heading, path)
        lines: list[int] = []
        rows: list[list[str]] = []
        for number, cells in numbered:
            if not any(cells):
                continue
            if len(cells) != len(heading):
                raise LabelError(
                    f'{path}:{number}: expected {len(heading)} cells, one for each of '
                    f'the heading, found {len(cells)}'
                )
            lines.append(number)
            rows.append(cells)
            if len(rows) == _READ:
                yield _block(lines, heading, zip(*rows, strict=True))
                lines, rows = [], []
        if rows:
            yield _block(lines, heading, zip(*rows, strict=True))


def _parquet_blocks(path: Path) -> Iterator[Block]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = [name for name in COLUMNS if name in file.schema_arrow.names]
            _check_heading(names, path)
            row = 1
            for batch in file.iter_batches(batch_size=_READ, columns=names):
                columns = [_texts(batch.column(name)) for name in names]
                yield _block(range(row, row + batch.num_rows), names, columns)
                row += batch.num_rows
    except pyarrow.ArrowException as error:
        raise LabelError(f'{path}: not a Parquet file, or damaged: {error}') from error


def _block(
    lines: Sequence[int], heading: Sequence[str], columns: Iterable[Sequence[str]]
) -> Block:
    there = dict(zip(reversed(heading), reversed(list(columns)), strict=True))
    return Block(lines, {name: there.get(name) or [''] * len(lines) for name in COLUMNS})


def _texts(column: Any) -> Sequence[str]:
    """Return the cells of a column of Parquet as text; equal ones are put into words once."""
    import pyarrow

    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.string())
    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    words = [_text(value) for value in column.dictionary.to_pylist()]
    places = column.indices.fill_null(len(words)).to_pylist()
    words.append('')
    return [words[place] for place in places]


def _text(value: Any) -> str:
    return '' if value is None else str(value)


def _write_parquet(path: Path, records: Iterable[Sequence[str]]) -> None:
    import pyarrow
    import pyarrow.parquet

    kinds = {name: pyarrow.dictionary(pyarrow.int32(), pyarrow.string()) for name in COLUMNS}
    kinds['time'] = pyarrow.decimal128(20, 9)
    schema = pyarrow.schema(list(kinds.items()))
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        block: list[Sequence[str]] = []

        def flush() -> None:
            columns = dict(zip(COLUMNS, zip(*block, strict=True), strict=True))
            times = [Decimal(cell) for cell in columns.pop('time')]
            arrays = {name: pyarrow.array(cells, kinds[name]) for name, cells in columns.items()}
            arrays['time'] = pyarrow.array(times, kinds['time'])
            writer.write_table(
                pyarrow.Table.from_arrays([arrays[name] for name in COLUMNS], schema=schema)
            )
            block.clear()

        for record in records:
            block.append(record)
            if len(block) == _BLOCK:
                flush()
        if block:
            flush()


def _check_heading(heading: Sequence[str], path: Path) -> None:
    missing = [name for name in NEEDED if name not in heading]
    if missing:
        raise LabelError(
            f'{path}: column {missing[0]!r} is missing; expected {", ".join(COLUMNS)} '
            f'(needed: {", ".join(NEEDED)}), found {", ".join(heading)[:200] or "nothing"}'
        )
