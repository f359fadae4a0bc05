# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a power cut leaves of the files of a folder, by the log of everything done to them.

What was synced is there. Of what was written since, anything may be: all of it, the first part,
some writes and not others, some sectors of a write and not others. Of new names, removals and
renames that were not synced with the folder, the first few may be.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

SECTOR = 512
HOW = ('nothing', 'everything', 'prefix', 'writes', 'sectors')


@dataclass(frozen=True)
class Operation:
    """An entry of the log; `disk_log.c` says what it means."""

    kind: str
    file: int
    offset: int
    data: bytes
    name: str


def build(folder: Path) -> Path | None:
    """Compile what is preloaded; None where there is no compiler."""
    compiler = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')
    if compiler is None:
        return None
    library = folder / 'disk_log.so'
    source = Path(__file__).with_name('disk_log.c')
    words = ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', library, source, '-lpthread']
    subprocess.run([compiler, *words], check=True)
    return library


def read_log(path: Path) -> list[Operation]:
    """Return the operations in their order."""
    found = []
    content = path.read_bytes()
    at = 0
    while at < len(content):
        end = content.index(b'\n', at)
        kind, file, offset, length, name = content[at:end].decode().split(' ', 4)
        at = end + 1 + int(length)
        found.append(Operation(kind, int(file), int(offset), content[end + 1 : at], name))
    return found


@dataclass
class _File:
    """Bytes that are on the disk, and what has been done since."""

    content: bytearray = field(default_factory=bytearray)
    pending: list[Operation] = field(default_factory=list)

    def sync(self) -> None:
        for operation in self.pending:
            _apply(self.content, operation)
        self.pending = []

    def after_cut(self, how: str, random: Random) -> bytes:
        content = bytearray(self.content)
        for operation in _that_made_it(self.pending, how, random):
            _apply(content, operation)
        return bytes(content)


class Disk:
    """A folder; takes the operations one after the other."""

    def __init__(self) -> None:
        self._files: dict[int, _File] = {}
        self._names: dict[str, int] = {}
        self._pending: list[Operation] = []  # of the folder

    def take(self, operation: Operation) -> None:
        """Do what the log says."""
        if operation.kind == 'D':
            for change in self._pending:
                _change(self._names, change)
            self._pending = []
        elif operation.kind in 'NUR':
            if operation.kind == 'N':
                self._files[operation.file] = _File()
            self._pending.append(operation)
        elif operation.kind == 'S':
            self._files[operation.file].sync()
        else:
            self._files[operation.file].pending.append(operation)

    def after_cut(self, how: str, random: Random) -> dict[str, bytes]:
        """Return the files by name, if the power were cut now.

        Args:
            how: Of `HOW`.
            random: Chooses what of the unsynced made it.
        """
        names = dict(self._names)
        made_it = {'nothing': 0, 'everything': len(self._pending)}
        for change in self._pending[: made_it.get(how, random.randint(0, len(self._pending)))]:
            _change(names, change)
        return {name: self._files[file].after_cut(how, random) for name, file in names.items()}


def _change(names: dict[str, int], change: Operation) -> None:
    if change.kind == 'N':
        names[change.name] = change.file
    elif change.kind == 'U':
        names.pop(change.name, None)
    else:
        old, new = change.name.split('/')
        if old in names:
            names[new] = names.pop(old)


def _apply(content: bytearray, operation: Operation) -> None:
    end = operation.offset + len(operation.data)
    if operation.kind == 'T':
        del content[end:]
    content.extend(bytes(max(0, end - len(content))))
    content[operation.offset : end] = operation.data


def _that_made_it(pending: list[Operation], how: str, random: Random) -> list[Operation]:
    if how in ('nothing', 'everything'):
        return pending if how == 'everything' else []
    if how == 'prefix':
        return pending[: random.randint(0, len(pending))]
    share = random.choice((0.1, 0.5, 0.9))
    if how == 'writes':
        return [operation for operation in pending if random.random() < share]
    return [
        Operation(operation.kind, operation.file, offset, data, '')
        for operation in pending
        for offset, data in _sectors(operation)
        if random.random() < share
    ]


def _sectors(operation: Operation) -> list[tuple[int, bytes]]:
    """Return a write in the pieces that a disk writes at once."""
    if operation.kind == 'T':
        return [(operation.offset, b'')]
    pieces = []
    at, data = operation.offset, operation.data
    while data:
        size = SECTOR - at % SECTOR
        pieces.append((at, data[:size]))
        at, data = at + size, data[size:]
    return pieces
