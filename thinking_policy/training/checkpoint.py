# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The state of a fit on disk, so that it can go on where it was interrupted."""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
import signal
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from thinking_policy.training.errors import LearningError
from thinking_policy.whole_file import whole_file

CHECKPOINT_VERSION = 1
# What torch, pickle and zipfile raise on damaged files.
_FAULTS = (
    OSError,
    RuntimeError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Checkpoint:
    """Everything that decides how a fit goes on.

    Attributes:
        sums: What it belongs to: recipe, data, network.
        step: Steps done.
        smooth: Smoothed loss.
        network: Weights.
        optimiser: Its state.
        random: States of the random generators.
        drawer: State of the rows' order.
        best: Best weights so far; empty: none kept.
        best_loss: Their validation loss.
        worse: Evaluations since then.
    """

    sums: Mapping[str, str]
    step: int
    smooth: float
    network: dict[str, Tensor]
    optimiser: dict[str, Any]
    random: list[Tensor]
    drawer: list[Tensor]
    best: dict[str, Tensor]
    best_loss: float
    worse: int


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; a reader finds the old one or the new one, never a part.

    Raises:
        LearningError: It can't be written.
    """
    fields = {f.name: getattr(checkpoint, f.name) for f in dataclasses.fields(checkpoint)}
    try:
        with whole_file(path, LearningError) as draft:
            torch.save({'version': CHECKPOINT_VERSION, **fields}, draft)
    except RuntimeError as error:  # torch reports a full disk so
        raise LearningError(
            f'{path}: checkpoint cannot be written; is the disk full? {error}'
        ) from error


def read_checkpoint(path: Path, sums: Mapping[str, str]) -> Checkpoint | None:
    """Read a checkpoint that belongs to a run.

    Args:
        path: Its file.
        sums: Of the run.

    Returns:
        None where there is no file.

    Raises:
        LearningError: Damaged, or of another run; says what differs.
    """
    if not path.exists():
        return None
    remedy = 'delete it to start anew'
    try:
        # torch doesn't look at the sums: a turned bit would go on as other weights.
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                raise zipfile.BadZipFile('a sum is wrong')
        # Only tensors and plain values: a checkpoint can't run code.
        fields = torch.load(path, weights_only=True)
        version = fields.pop('version')
        found = Checkpoint(**fields) if version == CHECKPOINT_VERSION else None
    except _FAULTS as error:
        raise LearningError(f'{path}: not a checkpoint, or damaged; {remedy}') from error
    if found is None:
        raise LearningError(
            f'{path}: checkpoint of version {version}, expected {CHECKPOINT_VERSION}; {remedy}'
        )
    for name, wanted in sums.items():
        if found.sums.get(name) != wanted:
            raise LearningError(
                f'{path}: checkpoint of another run, with another {name}; {remedy}, or give '
                f'the same data and options to go on'
            )
    return found


@contextlib.contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C wait for the end of a step, whose weights would else be half changed.

    Yields a function that tells whether it came. The second Ctrl-C is not held back. Outside of
    the main thread, where signals can't be caught, it never tells.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    came = threading.Event()

    def remember(number: int, frame: FrameType | None) -> None:
        came.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)
