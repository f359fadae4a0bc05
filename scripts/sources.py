# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The source files of the checkout: what a build depends on, what an environment links to."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from reporting import SetupError

LINKED = ('thinking_policy', 'launch', 'config')  # folders whose files are linked


def link_sources(root: Path, site_packages: Path, share: Path) -> None:
    """Link source files that came since the build and drop links to those that went.

    This is what colcon's `--symlink-install` does, without its 20 s of CMake.
    """
    wanted = {}
    for folder in LINKED:
        base = site_packages if folder == 'thinking_policy' else share
        for source in source_files(root / folder):
            wanted[base / source.relative_to(root)] = source
    for link, source in wanted.items():
        if not (link.is_symlink() and link.readlink() == source):
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_dir() and not link.is_symlink():
                raise SetupError(f'{link} is a folder where a link to {source} belongs')
            link.unlink(missing_ok=True)
            link.symlink_to(source)
    for base in (site_packages / 'thinking_policy', share):
        for link in base.rglob('*'):
            if link.is_symlink() and not link.exists():
                link.unlink()


def contents_of(root: Path, names: tuple[str, ...]) -> list[list[str]]:
    """Return [relative path, hash] of each file under these names, without scripts of set-up."""
    result = []
    for name in names:
        path = root / name
        for file in [path] if path.is_file() else source_files(path):
            if file.suffix not in ('.py', '.sh'):  # these make the environment
                digest = hashlib.sha256(file.read_bytes()).hexdigest()
                result.append([str(file.relative_to(root)), digest])
    return result


def source_files(folder: Path) -> Iterator[Path]:
    """Yield the files below `folder`, sorted, without Python's caches."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != '__pycache__')
        for name in sorted(files):
            yield Path(parent) / name
