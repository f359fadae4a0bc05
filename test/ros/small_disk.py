# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Disks of a test's own: small ones, read-only ones. Mounting takes root."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, size_mb: int) -> Iterator[Path]:
    """Mount a tmpfs of so many MiB; skips the test where that isn't permitted."""
    folder.mkdir(exist_ok=True)
    _mount('-t', 'tmpfs', '-o', f'size={size_mb}m', 'tmpfs', str(folder))
    try:
        yield folder
    finally:
        subprocess.run(['umount', '-l', str(folder)], check=False)


def remount(folder: Path, *, read_only: bool) -> None:
    """Make a mounted disk read-only or writable again; skips where that isn't permitted."""
    _mount('-o', f'remount,{"ro" if read_only else "rw"}', str(folder))


def fill(path: Path, leave: int = 0) -> None:
    """Write a file until its disk is full but for so many bytes."""
    block = bytes(4096)
    with path.open('wb', buffering=0) as file:
        with contextlib.suppress(OSError):
            while file.write(block):
                pass
        if leave:
            file.truncate(max(0, file.tell() - leave))


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(
            ['mount', *arguments], capture_output=True, text=True, check=False, timeout=10
        )
    except FileNotFoundError:
        pytest.skip('there is no `mount` here')
    if done.returncode:
        pytest.skip(f'mount is not permitted here: {done.stderr.strip()}')
