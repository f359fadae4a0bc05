# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Fitting: AdamW on binary cross-entropy, the same result for the same seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Recipe:
    """How a network is fitted.

    Attributes:
        steps: Optimiser steps.
        batch: Rows per step.
        learning_rate: Its highest value; it warms up and then falls along a cosine.
        weight_decay: Of AdamW.
        seed: Decides the initial weights and the order of rows.
    """

    steps: int = 4000
    batch: int = 1024
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    seed: int = 0


# A tenth of the steps warm up; more only costs time.
_WARM_UP = 0.1


def make_deterministic(seed: int) -> None:
    """Fix torch's randomness and threads: sums depend on how work is split between threads."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def fit(
    network: nn.Module,
    inputs: Sequence[Tensor],
    labels: Tensor,
    weight: Tensor,
    recipe: Recipe,
    progress: Progress | None = None,
) -> float:
    """Fit a network that gives logits.

    Args:
        network: Changed in place, left in evaluation mode.
        inputs: Its inputs, N rows each.
        labels: float32 [N, G], 0 or 1.
        weight: float32 [N, G], share in the loss.
        recipe: How.
        progress: Called with the step, the number of steps and a smoothed loss.

    Returns:
        The smoothed loss at the end.
    """
    generator = torch.Generator().manual_seed(recipe.seed)
    optimiser = torch.optim.AdamW(
        network.parameters(),
        lr=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: _learning_rate(step, recipe.steps)
    )
    network.train()
    smooth = math.nan
    order, position = torch.empty(0, dtype=torch.int64), 0
    for step in range(recipe.steps):
        if position + recipe.batch > len(order):
            order, position = torch.randperm(len(labels), generator=generator), 0
        rows = order[position : position + recipe.batch]
        position += recipe.batch
        logits = network(*(tensor[rows] for tensor in inputs))
        loss = nn.functional.binary_cross_entropy_with_logits(
            logits, labels[rows], weight=weight[rows]
        )
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
        value = float(loss.detach())
        smooth = value if math.isnan(smooth) else 0.98 * smooth + 0.02 * value
        if progress is not None:
            progress(step + 1, recipe.steps, smooth)
    network.eval()
    return smooth


def _learning_rate(step: int, steps: int) -> float:
    warm = max(1, round(_WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))
