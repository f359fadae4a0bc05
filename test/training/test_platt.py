# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Calibration that is folded into the last layer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from thinking_policy.training.metrics import expected_calibration_error
from thinking_policy.training.platt import calibrate, logits_of


def made(scale, make_learning_set, rows=4000):
    """Return a network whose logits are scale times too large, and what it is judged by."""
    random = np.random.default_rng(0)
    logit = random.normal(0, 2, (rows, 1, 1)).astype(np.float32)
    due = random.random((rows, 1)) < 1 / (1 + np.exp(-logit[:, 0]))
    learning = make_learning_set(logit, due, episode=np.arange(rows) // 20)
    last = nn.Linear(2, 1)
    with torch.no_grad():
        last.weight.copy_(torch.tensor([[scale, 0.0]]))
        last.bias.zero_()
    return nn.Sequential(last), last, learning


def error(network, learning):
    return expected_calibration_error(
        1 / (1 + np.exp(-logits_of(network, learning))), learning.labels
    )


@pytest.mark.parametrize('scale', [0.4, 3.0])
def test_probabilities_mean_what_they_say_afterwards(scale, make_learning_set):
    network, last, learning = made(scale, make_learning_set)
    before = error(network, learning)
    assert calibrate(network, last, learning) == (0,)
    assert error(network, learning) < 0.25 * before
    assert last.weight[0, 0].item() == pytest.approx(1.0, abs=0.1)


def test_what_is_calibrated_is_left_alone(make_learning_set):
    network, last, learning = made(1.0, make_learning_set)
    if calibrate(network, last, learning):
        assert last.weight[0, 0].item() == pytest.approx(1.0, abs=0.1)
    assert error(network, learning) < 0.02


def test_activities_without_both_kinds_of_rows_are_left_alone(make_learning_set):
    network, last, learning = made(3.0, make_learning_set, rows=40)
    import dataclasses

    never = dataclasses.replace(learning, labels=np.zeros_like(learning.labels))
    assert calibrate(network, last, never) == ()
    assert last.weight[0, 0].item() == 3.0
