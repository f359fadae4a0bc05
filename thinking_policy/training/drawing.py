# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which rows come into a batch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.recipe import Recipe


class RowDrawer:
    """Draws batches: every row once in each round, or rare sets of labels more often.

    Its state can be kept and restored, so that an interrupted fit draws the same rows.
    """

    def __init__(self, learning: LearningSet, recipe: Recipe) -> None:
        """Start at the first batch."""
        self._batch, self._rows = recipe.batch, len(learning)
        self._random = torch.Generator().manual_seed(recipe.seed)
        self._order, self._position = torch.empty(0, dtype=torch.int64), 0
        self._edges = _edges(learning, recipe.balance) if recipe.balance else None

    def draw(self) -> Tensor:
        """Return the rows of the next batch, int64 [batch]; all rows where there are fewer."""
        if self._edges is not None:
            hit = torch.rand(self._batch, dtype=torch.float64, generator=self._random)
            return torch.searchsorted(self._edges, hit).clamp_(max=self._rows - 1)
        if self._position + self._batch > len(self._order):
            self._order = torch.randperm(self._rows, generator=self._random)
            self._position = 0
        rows = self._order[self._position : self._position + self._batch]
        self._position += self._batch
        return rows

    def state(self) -> list[Tensor]:
        """Return what `restore` takes."""
        return [self._random.get_state(), self._order, torch.tensor(self._position)]

    def restore(self, state: list[Tensor]) -> None:
        """Go on where another drawer stood."""
        random, self._order, position = state
        self._random.set_state(random)
        self._position = int(position)


def _edges(learning: LearningSet, balance: float) -> Tensor:
    """Return cumulated probabilities of the rows, float64 [N].

    A set of labels of n rows is drawn with probability proportional to n^(1 - balance).
    """
    _, member, count = np.unique(
        learning.labels >= 0.5, axis=0, return_inverse=True, return_counts=True
    )
    share = count.astype(np.float64) ** -balance
    edges = np.cumsum(share[member.ravel()])
    return torch.from_numpy(edges / edges[-1])
