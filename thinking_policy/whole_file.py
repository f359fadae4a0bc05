# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Writes files so that a reader finds the old one or the new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thinking_policy import ThinkingPolicyError


@contextmanager
def whole_file(
    path: Path, error: type[ThinkingPolicyError] = ThinkingPolicyError, *, durable: bool = False
) -> Iterator[Path]:
    """Lend a place beside a file; what was written there becomes the file at the end.

    Missing folders are made. Where the block raises, the old file stays as it is and the draft
    goes. The process id is in the draft's name, so that two processes never share one.

    Args:
        path: The file.
        error: What is raised where it can't be written.
        durable: Whether the file has to survive a power cut from then on.

    Yields:
        Where to write.

    Raises:
        ThinkingPolicyError: As `error`: something other than a file is there, or the disk says
            no; the message names the file and the reason.
    """
    draft = path.with_name(f'.{path.name}.{os.getpid()}.partial')
    try:
        if path.exists() and not path.is_file():  # a device would be replaced by a file
            raise error(f'{path}: is there and not a file; choose another name')
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield draft
            if durable:
                _sync(draft)
            draft.replace(path)
            if durable:
                _sync(path.parent)  # the name is in the folder
        finally:
            draft.unlink(missing_ok=True)
    except OSError as problem:
        raise error(f'{path}: cannot be written: {problem.strerror or problem}') from problem


def check_writable(path: Path, error: type[ThinkingPolicyError] = ThinkingPolicyError) -> None:
    """Refuse, before any work is done, a place where no file can be written in the end.

    Missing folders are made.

    Raises:
        ThinkingPolicyError: As `error`: with the reason.
    """
    draft = path.with_name(f'.{path.name}.{os.getpid()}.partial')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(exist_ok=False)
        draft.unlink()
    except OSError as problem:
        raise error(f'{path}: cannot be written: {problem.strerror or problem}') from problem


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
