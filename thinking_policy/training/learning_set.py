# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy learns from and is measured on: situations with what they call for."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from thinking_policy.policy.manifest import ManifestSignal
from thinking_policy.policy.packing import InputSpec, input_specs, pack_signals
from thinking_policy.training.errors import LearningError

_REMEDIES = {
    'window': 'mark such samples as not valid',
    'labels': 'give such labels the weight 0, and any number',
}

Rows = NDArray[np.int64] | NDArray[np.bool_] | slice
Array = NDArray[Any]


@dataclass(frozen=True)
class EventRows:
    """The event inputs of N rows, as `policy.packing` describes them.

    Attributes:
        vocabulary: V codes.
        code: int64 [N, E], last events of known codes, newest last; 0: none, i + 1: code i.
        age: float32 [N, E], seconds since each; -1: none.
        code_age: float32 [N, V], seconds since the last occurrence of each code; -1: never.
        code_count: float32 [N, V], occurrences.
    """

    vocabulary: tuple[str, ...]
    code: NDArray[np.int64]
    age: NDArray[np.float32]
    code_age: NDArray[np.float32]
    code_count: NDArray[np.float32]

    @property
    def recent(self) -> int:
        """E."""
        return int(self.code.shape[1])

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """The four tensors in the order of the network's inputs."""
        return self.code, self.age, self.code_age, self.code_count

    def take(self, rows: Rows) -> EventRows:
        """Return some rows."""
        return EventRows(self.vocabulary, *(array[rows] for array in self.arrays))


@dataclass(frozen=True)
class LearningSet:
    """N situations and what each calls for.

    Attributes:
        window: float32 [N, T, F], scaled, 0 where invalid.
        valid: bool [N, T, F].
        labels: float32 [N, G], 0...1; between, where a teacher says how sure it is.
        weight: float32 [N, G], share in the loss; 0: either answer is right.
        episode: int64 [N]; rows of one episode are never split between learning and testing.
        activities: G ids.
        signals: F signals in window order.
        tick_period_s: Tick period in seconds.
        events: The event inputs; None: no vocabulary.
    """

    window: NDArray[np.float32]
    valid: NDArray[np.bool_]
    labels: NDArray[np.float32]
    weight: NDArray[np.float32]
    episode: NDArray[np.int64]
    activities: tuple[str, ...]
    signals: tuple[ManifestSignal, ...]
    tick_period_s: float
    events: EventRows | None = None

    def __post_init__(self) -> None:
        """Check shapes and numbers.

        Raises:
            LearningError: The array and what is wrong with it.
        """
        check_arrays(named_arrays(self), len(self.activities), len(self.signals), 'learning set')

    def __len__(self) -> int:
        """Return N."""
        return len(self.window)

    @property
    def length(self) -> int:
        """T, samples per signal."""
        return int(self.window.shape[1])

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Event codes; empty: none."""
        return self.events.vocabulary if self.events else ()

    @property
    def recent_events(self) -> int:
        """E; 0 with an empty vocabulary."""
        return self.events.recent if self.events else 0

    @property
    def specs(self) -> tuple[InputSpec, ...]:
        """The inputs of a network that learns from this."""
        return input_specs(
            self.length, len(self.signals), self.recent_events, len(self.vocabulary)
        )

    @property
    def sha256(self) -> str:
        """Hash of all rows, signals and activities."""
        digest = hashlib.sha256(
            repr((self.activities, self.signals, self.tick_period_s, self.vocabulary)).encode()
        )
        for name, array in sorted(named_arrays(self).items()):
            digest.update(f'{name}{array.dtype}{array.shape}'.encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def take(self, rows: Rows) -> LearningSet:
        """Return some rows."""
        return dataclasses.replace(
            self,
            window=self.window[rows],
            valid=self.valid[rows],
            labels=self.labels[rows],
            weight=self.weight[rows],
            episode=self.episode[rows],
            events=self.events.take(rows) if self.events else None,
        )

    def without_unused(self, source: str) -> LearningSet:
        """Return the set without the activities that no row calls for.

        Args:
            source: File named in errors.

        Raises:
            LearningError: None is left.
        """
        due = np.flatnonzero(((self.labels >= 0.5) & (self.weight > 0)).any(axis=0))
        if not len(due):
            raise LearningError(
                f'{source}: no row calls for any of {list(self.activities)}: there is nothing to '
                'learn; look at the labels'
            )
        return dataclasses.replace(
            self,
            labels=self.labels[:, due],
            weight=self.weight[:, due],
            activities=tuple(self.activities[column] for column in due),
        )

    def inputs(self, rows: Rows = slice(None)) -> list[Tensor]:
        """Return the input tensors of some rows, packed as the network takes them."""
        return [torch.from_numpy(np.ascontiguousarray(array)) for array in self.packed(rows)]

    def packed(self, rows: Rows = slice(None)) -> list[Array]:
        """Return the input arrays of some rows, packed as the network takes them."""
        packed: list[Array] = [pack_signals(self.window[rows], self.valid[rows])]
        if self.events:
            packed += [array[rows] for array in self.events.arrays]
        return packed

    def check_classes(self, source: str) -> None:
        """Check that each activity has rows that call for it and rows that don't.

        Args:
            source: File named in errors.

        Raises:
            LearningError: An empty class; the message names it.
        """
        for index, name in enumerate(self.activities):
            labels = self.labels[self.weight[:, index] > 0, index] >= 0.5
            for found, what in ((labels, 'calls for it'), (~labels, 'does without it')):
                if not found.any():
                    raise LearningError(
                        f'{source}: activity {name!r} is an empty class: of {len(self)} rows '
                        f'none {what}; add such rows, or leave the activity out'
                    )


def named_arrays(learning: LearningSet) -> dict[str, Array]:
    """Return the arrays of a learning set by their names in a file."""
    arrays: dict[str, Array] = {
        'window': learning.window,
        'valid': learning.valid,
        'labels': learning.labels,
        'weight': learning.weight,
        'episode': learning.episode,
    }
    if learning.events:
        names = ('recent_code', 'recent_age', 'code_age', 'code_count')
        arrays.update(zip(names, learning.events.arrays, strict=True))
    return arrays


def check_arrays(arrays: dict[str, Array], activities: int, signals: int, source: str) -> None:
    """Check shapes and numbers.

    Args:
        arrays: As `named_arrays` names them.
        activities: G.
        signals: F.
        source: File named in errors.

    Raises:
        LearningError: File, array, row and what is wrong with it.
    """
    rows = len(arrays['window'])
    shape = arrays['window'].shape[1:2]
    wanted: dict[str, tuple[int, ...]] = {
        'window': (rows, *shape, signals),
        'valid': (rows, *shape, signals),
        'labels': (rows, activities),
        'weight': (rows, activities),
        'episode': (rows,),
    }
    for name, expected in wanted.items():
        if arrays[name].shape != expected:
            raise LearningError(
                f'{source}: {name}: expected shape {expected}, found {arrays[name].shape}'
            )
    if not activities or not signals:
        raise LearningError(f'{source}: expected at least one signal and one activity')
    if rows and not shape[0]:
        raise LearningError(f'{source}: window: expected at least one sample per signal')
    for name, array in arrays.items():
        if len(array) != rows:
            raise LearningError(f'{source}: {name}: expected {rows} rows, found {len(array)}')
        # One pass for the usual case; which row it is gets looked up only when there is one.
        if array.dtype.kind == 'f' and rows and not np.isfinite(array.sum(dtype=np.float64)):
            bad = ~np.isfinite(array).reshape(rows, -1).all(axis=1)
            raise LearningError(
                f'{source}: {name}: NaN or infinite in {int(bad.sum())} rows, first row '
                f'{int(np.argmax(bad))}; {_REMEDIES.get(name, "leave such rows out")}'
            )
    for name, low in (('labels', 1.0), ('weight', np.inf)):
        if rows and (arrays[name].min() < 0 or arrays[name].max() > low):
            bad = ((arrays[name] < 0) | (arrays[name] > low)).any(axis=1)
            raise LearningError(
                f'{source}: {name}: expected 0...{low:g}, found '
                f'{arrays[name][int(np.argmax(bad))].tolist()} in row {int(np.argmax(bad))}'
            )


def concatenate(parts: Sequence[LearningSet]) -> LearningSet:
    """Join learning sets of the same signals and activities; episodes stay apart.

    Raises:
        LearningError: They differ.
    """
    first = parts[0]
    for part in parts[1:]:
        for name in ('activities', 'signals', 'tick_period_s', 'length', 'vocabulary'):
            if getattr(part, name) != getattr(first, name):
                raise LearningError(
                    f'learning sets differ in {name}: {getattr(first, name)} and '
                    f'{getattr(part, name)}'
                )
    episodes, start = [], 0
    for part in parts:
        names, member = np.unique(part.episode, return_inverse=True)
        episodes.append(member.astype(np.int64) + start)
        start += len(names)
    events = None
    if first.events:
        columns = zip(*(part.events.arrays for part in parts if part.events), strict=True)
        events = EventRows(first.vocabulary, *(np.concatenate(column) for column in columns))
    return dataclasses.replace(
        first,
        window=np.concatenate([part.window for part in parts]),
        valid=np.concatenate([part.valid for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
        weight=np.concatenate([part.weight for part in parts]),
        episode=np.concatenate(episodes),
        events=events,
    )
