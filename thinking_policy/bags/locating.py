# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which files make up a bag, told by what they contain and not by what metadata.yaml claims."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from thinking_policy.bags.errors import BagError

METADATA = 'metadata.yaml'
SUFFIXES = ('.db3', '.mcap', '.db3.zstd', '.mcap.zstd')
WAL_SUFFIXES = ('-wal', '-journal')  # what SQLite needs to complete an unfinished recording

_MAGIC = {
    b'SQLite format 3\x00': 'sqlite3',
    b'\x89MCAP0\r\n': 'mcap',
    b'#ROSBAG V2.0\n': 'ros1',
    b'\x28\xb5\x2f\xfd': 'zstd',
}
_LONGEST_METADATA = 64 * 2**20  # bytes; a real one has kilobytes


@dataclass(frozen=True)
class Located:
    """The files of one bag, in order of their split numbers.

    Attributes:
        files: Storage files that exist; each is looked into later.
        expected: Messages per topic that metadata.yaml promises, empty where it does not say.
        notes: What was odd, with how often.
    """

    files: tuple[Path, ...]
    expected: Mapping[str, int] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)


def is_part(path: Path, bag: Path) -> bool:
    """Whether writing a file would replace the bag or one of its files."""
    path, bag = path.resolve(), bag.resolve()
    names = (*SUFFIXES, *(f'.db3{suffix}' for suffix in WAL_SUFFIXES))
    return path == bag or (
        path.parent == bag and (path.name == METADATA or path.name.endswith(names))
    )


def locate(path: Path) -> Located:
    """Find the storage files behind a path.

    Args:
        path: Bag folder, or one .db3, .mcap, .bag or .zstd file.

    Raises:
        BagError: Nothing there, or nothing that looks like a bag.
    """
    if path.is_dir():
        return _locate_in_folder(path)
    if not path.exists():
        raise BagError(f'{path}: no such file or folder; expected a bag')
    if path.name == METADATA:
        return _locate_in_folder(path.parent)
    return Located((path,))


def kind_of(path: Path) -> str:
    """Tell what a storage file is by its first bytes.

    Returns:
        sqlite3, mcap, ros1 or zstd.

    Raises:
        BagError: A Git LFS pointer, an empty file, or something else than a bag.
    """
    try:
        if not path.is_file():  # opening a pipe would wait for a writer
            raise BagError(f'{path}: not a file: expected a bag, found a pipe or device')
        with path.open('rb') as file:
            head = file.read(200)
    except OSError as error:
        raise BagError(f'{path}: cannot be read: {error.strerror or error}') from error
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if not head and has_write_ahead_log(path):
        return 'sqlite3'  # died before the first checkpoint: all of it is in the log
    if not head:
        raise BagError(f'{path}: the file is empty (0 bytes); record or copy it again')
    if head.startswith(b'version https://git-lfs'):
        raise BagError(
            f'{path}: a Git LFS pointer, not the bag itself{_lfs_size(head)}; '
            'fetch it with: git lfs pull'
        )
    if head.startswith(b'/annex/objects/') or b'.git/annex/objects/' in head:
        raise BagError(f'{path}: a git-annex pointer, not the bag itself; run: git annex get')
    if head.startswith(b'#ROSBAG'):
        version = head.split(b'\n')[0].decode('ascii', 'replace')
        raise BagError(
            f'{path}: expected a ROS 1 bag of version 2.0, found {version!r}; '
            'convert it with: rosbag fix'
        )
    raise BagError(
        f'{path}: not a bag: expected SQLite, MCAP or #ROSBAG V2.0, '
        f'found a file that begins with {head[:12]!r}'
    )


def has_write_ahead_log(path: Path) -> bool:
    """Return whether a recording was cut off and its last messages lie beside the file."""
    for suffix in WAL_SUFFIXES:
        beside = path.with_name(path.name + suffix)
        if beside.is_file() and beside.stat().st_size > 0:
            return True
    return False


def _locate_in_folder(folder: Path) -> Located:
    present = sorted(
        (p for p in folder.iterdir() if p.is_file() and p.name.endswith(SUFFIXES)),
        key=lambda p: _split_order(p.name),
    )
    notes: Counter[str] = Counter()
    metadata = _read_metadata(folder / METADATA, notes)
    named = [name for name in _list(metadata.get('relative_file_paths')) if isinstance(name, str)]
    found = [_find_named(folder, name) for name in named]
    files = list(dict.fromkeys(file for file in found if file is not None))
    missing = [name for name, file in zip(named, found, strict=True) if file is None]
    if not files and not present:
        raise BagError(f'{folder}: {_why_no_bag(folder, missing)}')
    if not files and len({_stem(file.name) for file in present}) > 1:
        raise BagError(
            f'{folder}: several recordings without {METADATA}: '
            f'{", ".join(file.name for file in present[:4])}; name one of them'
        )
    for name in missing:
        notes[f'{METADATA} names {name}, which is not there'] += 1
    for file in present:
        if file in files:
            continue
        if not files or _is_split_of(file, files):
            files.append(file)
            if named:
                notes[f'{file.name} is not named in {METADATA}, read all the same'] += 1
        else:
            notes[f'{file.name} is not named in {METADATA}, left out'] += 1
    return Located(tuple(files), _expected_counts(metadata), notes)


def _read_metadata(path: Path, notes: Counter[str]) -> Mapping[str, Any]:
    if not path.is_file():
        notes[f'no {METADATA}, read without it'] += 1
        return {}
    try:
        if path.stat().st_size > _LONGEST_METADATA:
            raise ValueError(f'{path.stat().st_size} bytes')
        document = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = ' '.join(str(error).split())[:120]
        notes[f'{METADATA} is not readable ({reason}), read without it'] += 1
        return {}
    body = document.get('rosbag2_bagfile_information') if isinstance(document, dict) else None
    if not isinstance(body, dict):
        notes[f'{METADATA} has no rosbag2_bagfile_information, read without it'] += 1
        return {}
    return body


def _expected_counts(metadata: Mapping[str, Any]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for entry in _list(metadata.get('topics_with_message_count')):
        topic = entry.get('topic_metadata') if isinstance(entry, dict) else None
        name = topic.get('name') if isinstance(topic, dict) else None
        count = entry.get('message_count') if isinstance(entry, dict) else None
        if isinstance(name, str) and isinstance(count, int):
            counts[name] += count
    return dict(counts)


def _find_named(folder: Path, name: str) -> Path | None:
    """Resolve a name as old (with the folder in front) and new metadata write it."""
    base = PurePosixPath(name.replace('\\', '/')).name
    for candidate in (base, base + '.zstd', base.removesuffix('.zstd')):
        path = folder / candidate
        if candidate.endswith(SUFFIXES) and path.is_file():
            return path
    return None


def _is_split_of(file: Path, files: Sequence[Path]) -> bool:
    return any(_stem(file.name) == _stem(other.name) for other in files)


def _stem(name: str) -> tuple[str, str]:
    """Return what all splits of a recording share: the name without number, and the suffix."""
    match = re.fullmatch(r'(.*?)(?:_\d+)?(\.(?:db3|mcap)(?:\.zstd)?)', name)
    return (match[1], match[2]) if match else (name, '')


def _split_order(name: str) -> tuple[tuple[str, str], int, str]:
    match = re.search(r'_(\d+)\.', name)
    return _stem(name), int(match[1]) if match else -1, name


def _why_no_bag(folder: Path, missing: Sequence[str]) -> str:
    children = sorted(folder.iterdir())
    inner = [
        p.name
        for p in children
        if p.is_dir() and any(c.name == METADATA or c.name.endswith(SUFFIXES) for c in p.iterdir())
    ]
    ros1 = [p.name for p in children if p.suffix == '.bag']
    hint = ''
    if inner:
        hint = f'; the folder {inner[0]} in it holds a bag, name that one'
    elif ros1:
        hint = f'; ROS 1 bags are named one by one, such as {folder / ros1[0]}'
    if missing:
        return (
            f'{METADATA} names {", ".join(missing[:3])}{" ..." if missing[3:] else ""}, '
            f'none of them is in the folder{hint or "; copy the storage files beside it"}'
        )
    names = [p.name for p in children[:3]]
    found = f'found {", ".join(names)}{" ..." if children[3:] else ""}' if names else 'it is empty'
    return f'not a bag: expected *.db3, *.mcap or {METADATA} in the folder, {found}{hint}'


def _lfs_size(head: bytes) -> str:
    match = re.search(rb'\nsize (\d+)', head)
    return f' ({int(match[1]):,} bytes)' if match else ''


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
