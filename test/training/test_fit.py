# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Fitting learns, repeats itself, goes on where it was interrupted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from thinking_policy.training.errors import LearningError
from thinking_policy.training.fit import fit, make_deterministic
from thinking_policy.training.networks import Dropout
from thinking_policy.training.recipe import Augmentation, Recipe

RECIPE = Recipe(steps=300, batch=64, learning_rate=1e-2)


@pytest.fixture
def problem(make_learning_set):
    """Return rows whose label is whether the first value exceeds the second."""

    def make(rows=512, seed=1, labels=None, weight=None):
        window = np.random.default_rng(seed).random((rows, 2, 2), np.float32)
        truth = window[:, 0, :1] > window[:, 0, 1:]
        return make_learning_set(window, truth if labels is None else labels, weight=weight)

    return make


def network(seed=0, dropout=0.0):
    make_deterministic(seed)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), Dropout(dropout), nn.Linear(16, 1))


def right(fitted, learning):
    with torch.no_grad():
        said = fitted(*learning.inputs()).numpy() > 0
    return (said == (learning.labels > 0.5)).mean()


def same(one, other):
    return all(
        torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True)
    )


def test_it_learns(problem):
    learning, made = problem(), network()
    done = fit(made, learning, RECIPE)
    assert done.loss < 0.15
    assert done.steps == 300
    assert not done.stopped_early
    assert right(made, learning) > 0.97


def test_the_same_seed_gives_the_same_weights_to_the_bit(problem):
    recipe = Recipe(steps=40, batch=64, augmentation=Augmentation(0.1, 0.1, 0.01, 0.5, 0.3, 0.2))
    one, two, other = network(dropout=0.2), network(dropout=0.2), network(dropout=0.2)
    fit(one, problem(), recipe)
    fit(two, problem(), recipe)
    fit(other, problem(), Recipe(**{**vars(recipe), 'seed': 1}))
    assert same(one, two)
    assert not same(one, other)


def test_rows_without_weight_teach_nothing(problem):
    truth = problem().labels.copy()
    truth[::2] = 1 - truth[::2]
    weight = np.ones_like(truth)
    weight[::2] = 0
    made = network()
    fit(made, problem(labels=truth, weight=weight), RECIPE)
    assert right(made, problem()) > 0.95


def test_progress_is_told_every_step(problem):
    told = []
    fit(
        network(),
        problem(),
        Recipe(steps=5, batch=64),
        progress=lambda *what: told.append(what),
    )
    assert [(step, steps) for step, steps, _ in told] == [(k, 5) for k in range(1, 6)]
    assert all(loss == pytest.approx(0.7, abs=0.2) for *_, loss in told)


def test_the_network_is_left_in_evaluation_mode(problem):
    made = network()
    fit(made, problem(), Recipe(steps=1, batch=8))
    assert not made.training


def test_nothing_to_learn_from_is_said(problem):
    with pytest.raises(LearningError, match='no row has a weight'):
        fit(network(), problem(weight=np.zeros((512, 1), np.float32)), RECIPE)


def test_a_loss_that_is_no_number_is_said_with_its_step(problem):
    with pytest.raises(LearningError, match=r'at step \d+; lower the learning rate'):
        fit(network(), problem(), Recipe(steps=300, batch=64, learning_rate=1000, warm_up=0))
