# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Files of one record a line (JSONL): written as the records lie in the store, and read back.

What was exported and is imported elsewhere has the same bytes there, and the same hashes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from thinking_policy.experience.entry import Entry, Line, entry_of
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import MAX_LINE, from_line
from thinking_policy.experience.store import ExperienceStore
from thinking_policy.experience.transaction import transaction

AT_ONCE, AT_ONCE_BYTES = 500, 4 << 20  # records of one transaction
MOST_PROBLEMS = 1000  # bad lines that are remembered one by one


@dataclass
class Imported:
    """What became of the lines of a file.

    Attributes:
        counts: Lines that were `new`, `known`, `conflicting` and `bad`.
        problems: Line number and reason of bad and conflicting ones, the first `MOST_PROBLEMS`.
    """

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[int, str]] = field(default_factory=list)

    def note(self, what: str, line: int, reason: str) -> None:
        """Count a line that was left out."""
        self.counts[what] += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((line, reason))


def write_lines(
    file: BinaryIO, groups: Iterable[list[Line]], told: Callable[[int], None]
) -> tuple[int, int]:
    """Write the records of experiences, one a line.

    Args:
        file: Opened for writing.
        groups: The lines of each experience.
        told: Is told how many experiences were written.

    Returns:
        How many experiences, and how many records.
    """
    written = records = 0
    for lines in groups:
        file.writelines(line.body + b'\n' for line in lines)
        written += lines[0].revision == 0
        records += len(lines)
        told(written)
    return written, records


def read_lines(
    file: BinaryIO, store: ExperienceStore, now_ns: Callable[[], int], told: Callable[[int], None]
) -> Imported:
    """Store the records of a file; what is there already stays as it is.

    Args:
        file: Opened for reading.
        store: Where they go; each few hundred lines are one transaction.
        now_ns: When they are stored, nanoseconds since 1970.
        told: Is told how many bytes were read.
    """
    imported = Imported()
    batch: list[tuple[int, Entry]] = []
    size = read = 0
    for number, line, length in _numbered(file):
        read += length
        if line is None:
            imported.note('bad', number, f'expected at most {MAX_LINE:,} bytes, found {length:,}')
            continue
        if not line.strip():
            continue
        try:
            batch.append((number, entry_of(from_line(line, 'line'), line)))
        except ExperienceError as error:
            imported.note('bad', number, str(error).removeprefix('line: '))
            continue
        size += len(line)
        if len(batch) >= AT_ONCE or size >= AT_ONCE_BYTES:
            _add(store, batch, imported, now_ns())
            batch, size = [], 0
            told(read)
    _add(store, batch, imported, now_ns())
    told(read)
    imported.problems.sort()
    return imported


def _add(
    store: ExperienceStore, batch: list[tuple[int, Entry]], imported: Imported, now_ns: int
) -> None:
    if not batch:
        return
    entries = [entry for _, entry in batch]
    with transaction(store.database):
        added = store.add(entries, now_ns)
    imported.counts.update(new=len(added.new), known=len(added.known))
    conflicting = set(added.conflicting)
    if not conflicting:
        return
    for number, entry in batch:
        if entry.line in conflicting:
            name = f'{entry.id}, revision {entry.revision}'
            imported.note(
                'conflicting', number, f'{name}: is there with other content, which stays'
            )


def _numbered(file: BinaryIO) -> Iterator[tuple[int, bytes | None, int]]:
    """Yield number, line without its end, and length; None for a line that is too long."""
    number = 0
    while line := file.readline(MAX_LINE + 2):
        number += 1
        length = len(line)
        if length > MAX_LINE + 1 and not line.endswith(b'\n'):
            while rest := file.readline(MAX_LINE):
                length += len(rest)
                if rest.endswith(b'\n'):
                    break
            yield number, None, length
            continue
        yield number, line.removesuffix(b'\n').removesuffix(b'\r'), length


def check_line_file(path: Path) -> int:
    """Return the size of a file that is to be read; bytes.

    Raises:
        ExperienceError: There is no such file.
    """
    if not path.is_file():
        raise ExperienceError(f'{path}: no such file')
    return path.stat().st_size
