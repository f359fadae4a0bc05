# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Fitting learns, repeats itself, and leaves out what has no weight."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from thinking_policy.training.fit import Recipe, fit, make_deterministic

RECIPE = Recipe(steps=300, batch=64, learning_rate=1e-2)


def problem(rows=512):
    """Return rows whose label is whether the first value exceeds the second."""
    values = torch.rand(rows, 4, generator=torch.Generator().manual_seed(1))
    return values, (values[:, :1] > values[:, 1:2]).float()


def fitted(recipe=RECIPE, labels=None, weight=None, seed=0, progress=None):
    make_deterministic(seed)
    network = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    values, truth = problem()
    loss = fit(
        network,
        [values],
        truth if labels is None else labels,
        torch.ones_like(truth) if weight is None else weight,
        recipe,
        progress,
    )
    return network, loss


def test_it_learns():
    network, loss = fitted()
    values, truth = problem()
    assert loss < 0.15
    assert ((network(values) > 0) == (truth > 0)).float().mean() > 0.97


def test_the_same_seed_gives_the_same_weights_to_the_bit():
    one, two, other = fitted()[0], fitted()[0], fitted(seed=1)[0]
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(next(one.parameters()), next(other.parameters()))


def test_rows_without_weight_teach_nothing():
    _, truth = problem()
    wrong = truth.clone()
    wrong[::2] = 1 - wrong[::2]
    weight = torch.ones_like(truth)
    weight[::2] = 0
    network, _ = fitted(labels=wrong, weight=weight)
    values, truth = problem()
    assert ((network(values) > 0) == (truth > 0)).float().mean() > 0.95


def test_progress_is_told_every_step():
    told = []
    fitted(Recipe(steps=5, batch=64), progress=lambda *what: told.append(what))
    assert [(step, steps) for step, steps, _ in told] == [(k, 5) for k in range(1, 6)]
    assert all(loss == pytest.approx(0.7, abs=0.2) for *_, loss in told)


def test_the_network_is_left_in_evaluation_mode():
    assert not fitted(Recipe(steps=1, batch=8))[0].training
