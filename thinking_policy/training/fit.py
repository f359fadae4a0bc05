# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Fitting: AdamW on binary cross-entropy, the same result for the same seed.

The result depends on seed, recipe and data, not on the number of cores: each part of a batch is
computed by one thread, and the parts' gradients are added in a fixed order.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from thinking_policy.training.augmentation import mask_strength
from thinking_policy.training.batches import Batches, loss_of, thinned
from thinking_policy.training.checkpoint import (
    Checkpoint,
    deferred_interrupt,
    read_checkpoint,
    write_checkpoint,
)
from thinking_policy.training.drawing import RowDrawer
from thinking_policy.training.errors import LearningError
from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.recipe import Recipe
from thinking_policy.training.side_by_side import cores, parts_of, pool_of, replicas_of

Progress = Callable[[int, int, float], None]

_CHECKPOINT_EVERY_S = 30.0
# The smoothed loss forgets a step's value in about 50 steps.
_SMOOTH = 0.98


@dataclass(frozen=True)
class Fitted:
    """How a fit ended.

    Attributes:
        steps: Steps done.
        loss: Smoothed training loss at the end.
        validation_loss: Of the weights that were kept; NaN without validation data.
        stopped_early: Whether patience ended it.
        seconds: Wall time of this call.
    """

    steps: int
    loss: float
    validation_loss: float
    stopped_early: bool
    seconds: float


def make_deterministic(seed: int) -> None:
    """Fix torch's randomness and threads: sums depend on how work is split between threads.

    To be called before a network is made, whose weights it decides.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # Made for finding bugs: it writes every new tensor twice.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def fit(
    network: nn.Module,
    learning: LearningSet,
    recipe: Recipe,
    *,
    validation: LearningSet | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """Fit a network that gives logits.

    Args:
        network: Takes the inputs of `LearningSet.inputs`; changed in place, left in evaluation
            mode.
        learning: What it learns from.
        recipe: How.
        validation: Other episodes, by which patience judges.
        progress: Called with the step, the number of steps and a smoothed loss.
        checkpoint: File that holds the state now and then, on Ctrl-C and at the end. If it is
            there, fitting goes on where it stood; the result is that of an uninterrupted run.

    Raises:
        LearningError: No rows, a loss that is no number, or a checkpoint of another run.
        KeyboardInterrupt: Ctrl-C, after the checkpoint is written.
    """
    if not len(learning) or not (learning.weight > 0).any():
        raise LearningError('nothing to learn from: no row has a weight')
    return _Fit(network, learning, recipe, validation, checkpoint).run(progress)


class _Fit:
    """One fit: the network, its optimiser and what is left to do."""

    def __init__(
        self,
        network: nn.Module,
        learning: LearningSet,
        recipe: Recipe,
        validation: LearningSet | None,
        path: Path | None,
    ) -> None:
        self._network, self._recipe, self._path = network, recipe, path
        self._rows = Batches(learning)
        self._validation = Batches(thinned(validation)) if validation is not None else None
        self._drawer = RowDrawer(learning, recipe)
        self._augmenting = torch.Generator().manual_seed(recipe.seed + 1)
        self._dropping = [
            torch.Generator().manual_seed(recipe.seed * 1000 + 2 + part)
            for part in range(recipe.threads)
        ]
        self._replicas = replicas_of(network, self._dropping)
        self._optimiser = torch.optim.AdamW(
            network.parameters(),
            lr=recipe.learning_rate,
            weight_decay=recipe.weight_decay,
            fused=True,
        )
        self._step, self._smooth = 0, math.nan
        self._best, self._best_loss, self._worse = dict[str, Tensor](), math.inf, 0
        self._sums = dict[str, str]()
        if path is not None:
            self._sums = {
                'recipe': repr(recipe),
                'learning set': learning.sha256,
                'validation set': validation.sha256 if validation is not None else '',
                'network': repr([(k, tuple(v.shape)) for k, v in network.state_dict().items()]),
            }
            self._resume(path)

    def run(self, progress: Progress | None) -> Fitted:
        recipe, start = self._recipe, time.monotonic()
        saved = start
        workers = min(recipe.threads, cores()) - 1
        # torch's threads are per process: the parts themselves are what runs side by side.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with deferred_interrupt() as interrupted, pool_of(workers) as pool:
                while self._step < recipe.steps and not self._out_of_patience():
                    self._advance(pool)
                    if progress is not None:
                        progress(self._step, recipe.steps, self._smooth)
                    if self._step % recipe.evaluate_every == 0 or self._step == recipe.steps:
                        self._judge()
                    due = time.monotonic() - saved > _CHECKPOINT_EVERY_S
                    if self._path is not None and (due or interrupted()):
                        self._save()
                        saved = time.monotonic()
                    if interrupted():
                        raise KeyboardInterrupt
        finally:
            torch.set_num_threads(threads)
        if self._path is not None:
            self._save()
        if self._best:
            self._network.load_state_dict(self._best)
        self._network.eval()
        loss = self._best_loss if self._validation is not None else math.nan
        return Fitted(
            self._step,
            self._smooth,
            loss,
            self._out_of_patience() and self._step < recipe.steps,
            time.monotonic() - start,
        )

    def _advance(self, pool: ThreadPoolExecutor | None) -> None:
        recipe = self._recipe
        for group in self._optimiser.param_groups:
            group['lr'] = recipe.learning_rate * _learning_rate(self._step, recipe)
        rows = self._drawer.draw()
        strength = mask_strength(recipe.augmentation, self._step / recipe.steps)
        inputs, labels, weight = self._rows.batch(rows, recipe, strength, self._augmenting)
        jobs = [
            (replica, [tensor[part] for tensor in inputs], labels[part], weight[part])
            for replica, part in zip(
                self._replicas, parts_of(len(rows), recipe.threads), strict=True
            )
        ]
        run = map if pool is None else pool.map
        losses = list(run(lambda job: _part_loss(job, labels.numel()), jobs))
        self._add_gradients()
        value = math.fsum(losses)
        if not math.isfinite(value):
            raise LearningError(
                f'the loss became {value} at step {self._step + 1}; lower the learning rate '
                f'({recipe.learning_rate:g})'
            )
        if recipe.largest_gradient:
            nn.utils.clip_grad_norm_(self._network.parameters(), recipe.largest_gradient)
        self._optimiser.step()
        for replica in self._replicas:
            replica.zero_grad(set_to_none=True)
        self._smooth = (
            value if math.isnan(self._smooth) else _SMOOTH * self._smooth + (1 - _SMOOTH) * value
        )
        self._step += 1

    def _add_gradients(self) -> None:
        for replica in self._replicas[1:]:
            for mine, other in zip(self._network.parameters(), replica.parameters(), strict=True):
                if mine.grad is None:
                    mine.grad = other.grad
                elif other.grad is not None:
                    mine.grad += other.grad

    def _judge(self) -> None:
        """Compare with the best weights so far, on whole rows and on masked ones alike.

        Not before masks are at full strength: until then masked rows are new to the network.
        """
        done = self._step / self._recipe.steps
        if self._validation is None or mask_strength(self._recipe.augmentation, done) < 1:
            return
        self._network.eval()
        loss = self._validation.loss(self._network, self._recipe)
        self._network.train()
        if loss < self._best_loss:
            self._best_loss, self._worse = loss, 0
            if self._recipe.patience:
                self._best = copy.deepcopy(self._network.state_dict())
        else:
            self._worse += 1
        if not self._recipe.patience:
            self._best_loss = loss

    def _out_of_patience(self) -> bool:
        return bool(self._recipe.patience) and self._worse >= self._recipe.patience

    def _save(self) -> None:
        assert self._path is not None
        write_checkpoint(
            self._path,
            Checkpoint(
                sums=self._sums,
                step=self._step,
                smooth=self._smooth,
                network=self._network.state_dict(),
                optimiser=self._optimiser.state_dict(),
                random=[
                    torch.get_rng_state(),
                    self._augmenting.get_state(),
                    *(generator.get_state() for generator in self._dropping),
                ],
                drawer=self._drawer.state(),
                best=self._best,
                best_loss=self._best_loss,
                worse=self._worse,
            ),
        )

    def _resume(self, path: Path) -> None:
        found = read_checkpoint(path, self._sums)
        if found is None:
            return
        self._step, self._smooth = found.step, found.smooth
        self._network.load_state_dict(found.network)
        self._optimiser.load_state_dict(found.optimiser)
        everywhere, augmenting, *dropping = found.random
        torch.set_rng_state(everywhere)
        self._augmenting.set_state(augmenting)
        for generator, state in zip(self._dropping, dropping, strict=True):
            generator.set_state(state)
        self._drawer.restore(found.drawer)
        self._best, self._best_loss, self._worse = found.best, found.best_loss, found.worse


_Part = tuple[nn.Module, list[Tensor], Tensor, Tensor]


def _part_loss(part: _Part, total: int) -> float:
    """Compute gradients on a part of a batch; return its share of the mean loss."""
    network, inputs, labels, weight = part
    loss = loss_of(network(*inputs), labels, weight).sum() / total
    torch.autograd.backward(loss)
    return float(loss.detach())


def _learning_rate(step: int, recipe: Recipe) -> float:
    warm = max(1, round(recipe.warm_up * recipe.steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, recipe.steps - warm)))
