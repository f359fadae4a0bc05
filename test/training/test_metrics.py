# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Figures have the right values."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.training.metrics import (
    confusion,
    expected_calibration_error,
    false_activation,
    micro,
    per_activity,
    reliability,
)

LABELS = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], np.float32)
SAID = np.array([[0.9, 0.6], [0.4, 0.1], [0.6, 0.9], [0.1, 0.2]], np.float32)


def test_scores_of_each_activity():
    first, second = per_activity(SAID, LABELS)
    assert (first.precision, first.recall, first.f1) == (0.5, 0.5, 0.5)
    assert (second.precision, second.recall) == (0.5, 1.0)
    assert second.f1 == pytest.approx(2 / 3)


def test_micro_average_counts_every_pair_alike():
    score = micro(SAID, LABELS)
    assert (score.precision, score.recall) == (0.5, 2 / 3)
    assert score.f1 == pytest.approx(4 / 7)
    assert micro(SAID >= 0.5, LABELS) == score


def test_each_activity_has_its_own_threshold():
    counts = confusion(SAID, LABELS, on=[0.3, 0.8])
    assert counts.found.tolist() == [2, 1]
    assert counts.false.tolist() == [1, 0]
    assert counts.missed.tolist() == [0, 0]
    assert counts.left_out.tolist() == [1, 3]


def test_pairs_without_weight_are_left_out():
    weight = np.ones_like(LABELS)
    weight[2, 0] = weight[0, 1] = 0
    assert micro(SAID, LABELS, weight).precision == 1.0
    assert confusion(SAID, LABELS, weight).false.tolist() == [0, 0]


def test_nothing_due_and_nothing_said_is_right():
    assert micro(np.zeros((3, 1)), np.zeros((3, 1))).f1 == 1.0


def test_false_activation_is_the_share_of_rows_without_need():
    assert false_activation(SAID, LABELS).tolist() == [0.5, 1 / 3]


def test_calibration_error_of_known_probabilities():
    # 0.2 where 1 of 4 is due, 0.9 where 3 of 4 are.
    said = np.array([0.2] * 4 + [0.9] * 4)
    due = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    assert expected_calibration_error(said, due, bins=2) == pytest.approx((0.05 + 0.15) / 2)
    assert reliability(said, due, bins=2).T.tolist() == [
        pytest.approx([0.2, 0.25, 4]),
        pytest.approx([0.9, 0.75, 4]),
    ]


def test_calibrated_probabilities_have_a_small_error():
    random = np.random.default_rng(0)
    said = random.random((20_000, 3))
    due = (random.random(said.shape) < said).astype(np.float32)
    assert expected_calibration_error(said, due) < 0.01
    assert expected_calibration_error(said**3, due) > 0.1


def test_bins_hold_equal_numbers_and_only_what_has_weight():
    said, weight = np.linspace(0, 1, 31)[:, None], np.ones((31, 1))
    weight[0] = 0
    assert reliability(said, said, weight)[2].tolist() == [2] * 15
    assert expected_calibration_error(said, said, np.zeros_like(weight)) == 0.0


def test_the_order_of_rows_decides_nothing_where_probabilities_are_equal():
    probability = np.full(1000, 0.5, np.float32)
    labels = np.repeat([0.0, 1.0], 500)
    shuffled = np.random.default_rng(0).permutation(labels)
    assert expected_calibration_error(probability, labels) == pytest.approx(0.0, abs=1e-9)
    assert expected_calibration_error(probability, shuffled) == pytest.approx(0.0, abs=1e-9)
    assert expected_calibration_error(probability + 0.25, labels) == pytest.approx(0.25)
