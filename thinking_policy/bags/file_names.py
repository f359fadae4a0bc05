# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the names of a bag's files say: which storage it is, and which part of which recording."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from thinking_policy.bags.file_kinds import WAL_SUFFIXES

SUFFIXES = ('.db3', '.mcap', '.db3.zstd', '.mcap.zstd', '.db3.zst', '.mcap.zst')
ROS1_SUFFIXES = ('.bag', '.bag.active', '.bag.zstd', '.bag.zst')  # .active: its recorder died

_MOST_NAMES = 4  # in a message
_MOST_PARTS = 100_000


def missing_between(files: Sequence[Path]) -> Counter[str]:
    """Say which parts are missing; ros2 bag counts them from 0."""
    numbers = {part_order(file.name)[1] for file in files}
    between = range(max(numbers))
    if 0 not in numbers or len(between) > _MOST_PARTS or numbers >= set(between):
        return Counter()
    absent = [str(number) for number in between if number not in numbers]
    more = ' ...' if absent[_MOST_NAMES:] else ''
    part, is_not = ('parts', 'are not') if absent[1:] else ('part', 'is not')
    names = ', '.join(absent[:_MOST_NAMES]) + more
    return Counter({f'{part} {names} of 0 to {max(numbers)} {is_not} there': len(absent)})


def read_alone(file: Path) -> Counter[str]:
    """Say what beside a file is named like a part or a copy of the same recording."""
    if not is_storage(file) or part_order(file.name)[1] < 0:
        return Counter()  # alike without a number: as a rule made apart, one in each storage
    base = stem(file.name)[0]
    try:
        beside = [p for p in file.parent.iterdir() if p.name.startswith(base) and p != file]
    except OSError:
        return Counter()
    alike = [p.name for p in beside if is_storage(p) and stem(p.name)[0] == base]
    if not alike:
        return Counter()
    group = sorted([file.name, *alike], key=lambda name: part_order(name)[1:])
    names = ', '.join(group[:_MOST_NAMES]) + (' ...' if group[_MOST_NAMES:] else '')
    what = 'are named like parts or copies of one recording, and read as a bag each'
    return Counter({f'{names} {what}; a folder with nothing but its parts is read as one': 1})


def is_storage(file: Path) -> bool:
    """Whether it is one by its name; the log of a database only where that is missing."""
    log = f'.db3{WAL_SUFFIXES[0]}'
    return ends_with(file, SUFFIXES) or (
        ends_with(file, (log,)) and not file.with_name(file.name[: -len(WAL_SUFFIXES[0])]).exists()
    )


def ends_with(file: Path, suffixes: tuple[str, ...]) -> bool:
    """Whether a file's name ends so, in letters of any case."""
    return file.name.lower().endswith(suffixes)


def stem(name: str) -> tuple[str, str]:
    """Return what all splits of a recording share: the name without number, and the suffix."""
    match = re.fullmatch(r'(.*?)(?:_\d+)?(\.(?:db3|mcap)(?:\.zstd?)?)', name, re.IGNORECASE)
    return (match[1], match[2]) if match else (name, '')


def part_order(name: str) -> tuple[tuple[str, str], int, str]:
    """Return what sorts the parts of a recording: stem, number (-1 where it has none), name."""
    match = re.search(r'_(\d+)\.', name)
    return stem(name), int(match[1]) if match else -1, name
