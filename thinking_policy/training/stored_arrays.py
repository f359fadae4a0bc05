# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of an .npz file; whatever is wrong with the file is said with its name."""

from __future__ import annotations

import contextlib
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.training.errors import LearningError

Arrays = dict[str, NDArray[Any]]

# What numpy and zipfile raise on damaged files; RuntimeError: encrypted or unknown compression.
_FAULTS = (
    OSError,
    ValueError,
    AttributeError,
    EOFError,
    RuntimeError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def read(path: Path) -> Arrays:
    """Return all arrays of a file.

    Raises:
        LearningError: It can't be read.
    """
    with opened(path) as file:
        return {name: file[name] for name in file.files}


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open an .npz file; a fault while it is read is said too.

    Raises:
        LearningError: It isn't there, isn't one, or is damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError('a single array')
            yield file
    except FileNotFoundError as error:
        raise LearningError(f'{path}: no such file') from error
    except _FAULTS as error:
        raise LearningError(
            f'{path}: not an .npz file, or damaged: {error}; `thinking-policy bag situations` '
            f'writes such files'
        ) from error


def numbers(arrays: Arrays, name: str, path: Path) -> NDArray[np.float32]:
    """Return an array as float32; what is too large for it becomes infinite.

    Raises:
        LearningError: It holds no numbers.
    """
    if arrays[name].dtype.kind not in 'biuf':
        raise LearningError(f'{path}: {name}: expected numbers, found {arrays[name].dtype}')
    with np.errstate(over='ignore'):
        return np.asarray(arrays[name], np.float32)


def flags(arrays: Arrays, name: str, path: Path) -> NDArray[np.bool_]:
    """Return an array of yes and no as bool.

    Raises:
        LearningError: It holds something else than 0 and 1.
    """
    array = arrays[name]
    if array.dtype.kind not in 'biuf' or not ((array == 0) | (array == 1)).all():
        raise LearningError(
            f'{path}: {name}: expected true and false, or 1 and 0, found other {array.dtype}'
        )
    return array.astype(np.bool_)


def require(arrays: Arrays, names: Sequence[str], path: Path) -> None:
    """Check that arrays are there.

    Raises:
        LearningError: One is not; says what brings it.
    """
    for name in names:
        if name not in arrays:
            remedy = (
                'add what each row calls for: labels [N, G] and the ids activities [G]'
                if name in ('labels', 'activities')
                else '`thinking-policy bag situations` writes it'
            )
            raise LearningError(
                f'{path}: expected an array {name!r}, found {sorted(arrays)}; {remedy}'
            )
