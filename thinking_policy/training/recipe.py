# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How a network is fitted: numbers only, so that a recipe can be written down and hashed."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from thinking_policy.training.errors import LearningError


def _check(name: str, value: float, low: float, high: float) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise LearningError(f'recipe: {name}: expected {low:g}...{high:g}, found {value!r}')


@dataclass(frozen=True)
class Augmentation:
    """How each batch is changed, so that a network learns what does not matter.

    Attributes:
        offset: Largest shift of a signal in a row, either way, on the scaled axis.
        gain: A signal's swing about its mean is multiplied by exp(-gain)...exp(gain).
        noise: Largest standard deviation of noise on a signal's samples.
        drop: Largest share of a row's samples that get lost.
        missing: Share of rows that lack whole signals.
        short: Share of rows whose window has only begun: the oldest samples are invalid.
        masks_from: Share of the steps before samples get lost, after which it becomes more
            until `MASKS_FULL`; 0: at once. The order of samples is learned from whole windows
            first: with masks from the start the reference network finds no way down.
    """

    offset: float = 0.0
    gain: float = 0.0
    noise: float = 0.0
    drop: float = 0.0
    missing: float = 0.0
    short: float = 0.0
    masks_from: float = 0.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for field in dataclasses.fields(self):
            share = field.name in ('drop', 'missing', 'short', 'masks_from')
            _check(f'augmentation.{field.name}', getattr(self, field.name), 0, 1 if share else 10)


# Share of the steps that remain from `masks_from` on, after which masks are at full strength.
MASKS_FULL = 0.4


@dataclass(frozen=True)
class Recipe:
    """How a network is fitted.

    Attributes:
        steps: Optimiser steps.
        batch: Rows per step.
        learning_rate: Its highest value; it warms up and then falls along a cosine.
        weight_decay: Of AdamW.
        warm_up: Share of the steps in which the learning rate rises.
        seed: Decides the order of rows, the augmentation and dropout.
        balance: How much rare sets of labels are favoured: 0 not at all, 1 every set of labels
            is drawn equally often.
        augmentation: How batches are changed.
        patience: Evaluations without a better validation loss after which fitting stops and the
            best weights are taken; 0: it never stops early and the last weights are taken.
        evaluate_every: Steps between evaluations.
        threads: Parts into which a batch is cut, computed side by side where there are cores.
            The result depends on the parts, not on the cores.
        largest_gradient: Gradients of a greater norm are shortened to it; 0: not.
    """

    steps: int = 3000
    batch: int = 1024
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    warm_up: float = 0.1
    seed: int = 0
    balance: float = 0.0
    augmentation: Augmentation = Augmentation()
    patience: int = 0
    evaluate_every: int = 100
    threads: int = 1
    largest_gradient: float = 0.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, low in (('steps', 0), ('batch', 1), ('patience', 0), ('evaluate_every', 1)):
            _check(name, getattr(self, name), low, 10**9)
        for name in ('warm_up', 'balance'):
            _check(name, getattr(self, name), 0, 1)
        for name in ('learning_rate', 'weight_decay', 'largest_gradient'):
            _check(name, getattr(self, name), 0, 1000)
        _check('threads', self.threads, 1, min(64, self.batch))


ROBOT = Recipe(
    steps=3000,
    batch=256,
    learning_rate=3e-3,
    augmentation=Augmentation(
        offset=0.05, gain=0.1, noise=0.01, drop=0.6, missing=0.2, short=0.1, masks_from=0.2
    ),
    patience=10,
)
"""For `RobotPolicy`: many cheap steps, seconds on one core."""

REFERENCE = Recipe(
    steps=300,
    batch=64,
    learning_rate=7e-4,
    augmentation=Augmentation(
        offset=0.05, gain=0.1, noise=0.01, drop=0.3, missing=0.1, short=0.05, masks_from=0.6
    ),
    patience=3,
    evaluate_every=25,
    largest_gradient=1.0,
)
"""For `ReferencePolicy`: few steps, each some 2 ms for one row on one core."""

RECIPES = {'robot': ROBOT, 'reference': REFERENCE}
