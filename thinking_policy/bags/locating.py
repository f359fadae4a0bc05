# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which bags lie behind a path, what they are called, and which files make up each of them.

What there is decides, not what metadata.yaml claims.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.file_kinds import WAL_SUFFIXES
from thinking_policy.bags.file_names import (
    ROS1_SUFFIXES,
    SUFFIXES,
    ends_with,
    is_storage,
    missing_between,
    part_order,
    read_alone,
    stem,
)

METADATA = 'metadata.yaml'

_LONGEST_METADATA = 64 * 2**20  # bytes; a real one has kilobytes


@dataclass(frozen=True)
class Located:
    """The files of one bag, in order of their split numbers.

    Attributes:
        files: Storage files that exist; each is looked into later.
        expected: Messages per topic that metadata.yaml promises, empty where it does not say.
        notes: What was odd, with how often.
        missing: Files that metadata.yaml names and that are not there.
    """

    files: tuple[Path, ...]
    expected: Mapping[str, int] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    missing: tuple[str, ...] = ()


def bags_in(path: Path) -> tuple[Path, ...]:
    """Find the bags behind a path.

    A folder with storage files and metadata.yaml is one bag, and what lies below it is not looked
    for. So is a folder whose storage files are the splits of one recording, with nothing else in
    it. All other storage files and ROS 1 bags are a bag each. Hidden files are left out.

    Args:
        path: A bag, or a folder that holds bags at any depth.

    Returns:
        The path itself where it is a bag; else all bags in it, in natural order.

    Raises:
        BagError: None; the message says what there is.
    """
    if not path.is_dir():
        _require(path)
        return (path,)
    found = sorted(_bags_below(path, set()), key=_natural)
    if not found:
        raise BagError(f'{path}: {_why_no_bag(path, ())}')
    return tuple(found)


def bag_name(path: Path, root: Path) -> str:
    """Return what a bag is called: its path below the folder that was given, or its own name."""
    if path == root:
        return path.resolve().name
    return PurePosixPath(path.relative_to(root)).as_posix()


def named_bags(roots: Iterable[Path]) -> dict[str, Path]:
    """Find the bags behind some paths.

    Returns:
        Path by name, in the order of the given paths.

    Raises:
        BagError: A path holds none, or two bags have the same name; the message has both.
    """
    found: dict[str, Path] = {}
    for root in roots:
        for path in bags_in(root):
            name = bag_name(path, root)
            if name in found:
                raise BagError(
                    f'{found[name]} and {path}: both are called {name}; '
                    'give a folder above both, or one of them alone'
                )
            found[name] = path
    return found


def is_part(path: Path, bag: Path) -> bool:
    """Whether writing a file would replace a bag or one of its files; or one of several bags."""
    path = path.resolve()
    names = (*SUFFIXES, *(f'.db3{suffix}' for suffix in WAL_SUFFIXES))
    try:
        bags = {bag, *bags_in(bag)}
    except BagError:
        bags = {bag}
    for one in (each.resolve() for each in bags):
        if path == one or (
            path.parent == one and (path.name == METADATA or path.name.endswith(names))
        ):
            return True
    return False


def locate(path: Path) -> Located:
    """Find the storage files of one bag.

    Args:
        path: Bag folder, one .db3, .mcap, .bag or .zstd file, or a folder that holds one bag.

    Raises:
        BagError: Nothing there, nothing that looks like a bag, or several bags.
    """
    if path.is_dir():
        inside = bags_in(path)
        if len(inside) > 1:
            names = ', '.join(bag_name(bag, path) for bag in inside[:4])
            raise BagError(
                f'{path}: holds {len(inside)} bags: {names}{" ..." if inside[4:] else ""}; '
                'name one of them'
            )
        return _locate_in_folder(path) if inside[0] == path else locate(inside[0])
    _require(path)
    if path.name == METADATA:
        return _locate_in_folder(path.parent)
    return Located((path,), notes=read_alone(path))


def _require(path: Path) -> None:
    if path.exists():
        return
    if path.is_symlink():
        raise BagError(f'{path}: {_dead_link(path)}')
    raise BagError(f'{path}: no such file or folder; expected a bag')


def _dead_link(path: Path) -> str:
    target = str(path.readlink())
    hint = 'run: git annex get' if '.git/annex' in target else 'copy the file itself'
    return f'a link to {target}, which is not there; {hint}'


def _bags_below(folder: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield bags in any order; a folder that cannot be read is taken for one and will say so."""
    if folder.resolve() in seen:  # a link to a folder above
        return
    seen.add(folder.resolve())
    try:
        children = [child for child in folder.iterdir() if not child.name.startswith('.')]
    except OSError:
        yield folder
        return
    # A link that leads nowhere is what git-annex leaves of a bag.
    files = [c for c in children if c.is_file() or (c.is_symlink() and not c.exists())]
    storages = [file for file in files if is_storage(file)]
    has_metadata = any(file.name == METADATA for file in files)
    stems = {stem(file.name) for file in storages}
    if has_metadata and (len(stems) == 1 or (storages and _names_one_of(folder, storages))):
        yield folder
        return
    others = [file for file in files if ends_with(file, ROS1_SUFFIXES)]
    for child in children:
        if child.is_dir():
            others += _bags_below(child, seen)
    if not others and (len(stems) == 1 or (has_metadata and not storages)):
        yield folder
    else:
        yield from (*storages, *others)


def _names_one_of(folder: Path, storages: Sequence[Path]) -> bool:
    named = _list(_read_metadata(folder / METADATA, Counter()).get('relative_file_paths'))
    return any(_find_named(folder, name) in storages for name in named if isinstance(name, str))


def _natural(path: Path) -> tuple[tuple[tuple[int, int, str], ...], ...]:
    """Return what sorts 2 before 10."""
    return tuple(
        tuple(
            (0, int(part), '') if part.isascii() and part.isdigit() else (1, 0, part)
            for part in re.split('([0-9]+)', name)
            if part
        )
        for name in path.parts
    )


def _locate_in_folder(folder: Path) -> Located:
    storages = sorted(filter(is_storage, folder.iterdir()), key=lambda p: part_order(p.name))
    present = [file for file in storages if file.is_file()]
    dead = [file for file in storages if file.is_symlink() and not file.exists()]
    notes: Counter[str] = Counter()
    metadata = _read_metadata(folder / METADATA, notes)
    named = [name for name in _list(metadata.get('relative_file_paths')) if isinstance(name, str)]
    found = [_find_named(folder, name) for name in named]
    files = list(dict.fromkeys(file for file in found if file is not None))
    missing = [name for name, file in zip(named, found, strict=True) if file is None]
    if not present and dead:
        raise BagError(f'{dead[0]}: {_dead_link(dead[0])}')
    if not files and not present:
        raise BagError(f'{folder}: {_why_no_bag(folder, missing)}')
    if not files and len({stem(file.name) for file in present}) > 1:
        raise BagError(
            f'{folder}: several recordings without {METADATA}: '
            f'{", ".join(file.name for file in present[:4])}; name one of them'
        )
    for file in dead:
        notes[f'{file.name}: {_dead_link(file)}'] += 1
    links = {file.name for file in dead}
    for name in missing:
        if PurePosixPath(name).name in links:
            continue
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
    if not named:
        notes.update(missing_between(files + dead))
    return Located(tuple(files), _expected_counts(metadata), notes, tuple(missing))


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
    return any(stem(file.name) == stem(other.name) for other in files)


def _why_no_bag(folder: Path, missing: Sequence[str]) -> str:
    if missing:
        return (
            f'{METADATA} names {", ".join(missing[:3])}{" ..." if missing[3:] else ""}, '
            'none of them is in the folder; copy the storage files beside it'
        )
    names = [p.name for p in sorted(folder.iterdir())]
    found = (
        f'found {", ".join(names[:3])}{" ..." if names[3:] else ""}' if names else 'it is empty'
    )
    expected = f'expected *.db3, *.mcap, *.bag or {METADATA} in the folder or below it'
    return f'not a bag: {expected}, {found}'


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
