# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of a learning set as batches of tensors, and the loss over them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from thinking_policy.training.augmentation import augment
from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.recipe import Recipe

_VALIDATION_BATCH = 512
# More rows than these make evaluations slower than the steps between them.
_VALIDATION_ROWS = 2048
_AS_THEY_ARE = Recipe()


class Batches:
    """A learning set as tensors that share its memory."""

    def __init__(self, learning: LearningSet) -> None:
        """Take a learning set; nothing is copied."""
        self._window = torch.from_numpy(learning.window)
        self._valid = torch.from_numpy(learning.valid)
        self._labels = torch.from_numpy(learning.labels)
        self._weight = torch.from_numpy(learning.weight)
        arrays = learning.events.arrays if learning.events else ()
        self._events = [torch.from_numpy(array) for array in arrays]

    def batch(
        self, rows: Tensor | slice, recipe: Recipe, strength: float, random: torch.Generator
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """Return augmented inputs, labels and weights of some rows."""
        valid = self._valid[rows]
        # As packing does it: what is not valid is not seen, whatever stands there.
        window = torch.where(valid, self._window[rows], 0.0)
        window, valid = augment(window, valid, recipe.augmentation, strength, random)
        packed = torch.stack((window, valid.to(window.dtype)), 1).flatten(1)
        inputs = [packed, *(tensor[rows] for tensor in self._events)]
        return inputs, self._labels[rows], self._weight[rows]

    def loss(self, network: nn.Module, recipe: Recipe) -> float:
        """Return the mean loss over all rows as they are and over all of them augmented."""
        random = torch.Generator().manual_seed(recipe.seed)
        total, count = 0.0, 0
        with torch.no_grad():
            for start in range(0, len(self._labels), _VALIDATION_BATCH):
                rows = slice(start, start + _VALIDATION_BATCH)
                for again in (False, True):
                    how = recipe if again else _AS_THEY_ARE
                    inputs, labels, weight = self.batch(rows, how, float(again), random)
                    total += float(loss_of(network(*inputs), labels, weight).sum())
                    count += labels.numel()
        return total / count


def loss_of(logits: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """Return the weighted cross-entropy of each row and activity, [B, G]."""
    return nn.functional.binary_cross_entropy_with_logits(
        logits, labels, weight=weight, reduction='none'
    )


def thinned(validation: LearningSet) -> LearningSet:
    """Return validation rows few enough to be judged by now and then."""
    return validation.take(slice(None, None, max(1, len(validation) // _VALIDATION_ROWS)))
