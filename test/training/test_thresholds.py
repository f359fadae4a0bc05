# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Thresholds from validation rows."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.policy import ThinkingActivity
from thinking_policy.training.thresholds import choose_thresholds

TREND = (ThinkingActivity('trend', 'Trend', 'Look.', 0.5, 0.35),)


def chosen(probability, due, activities=TREND, **options):
    p = np.array(probability, np.float32)[:, None]
    labels = np.array(due, np.float32)[:, None]
    return choose_thresholds(activities, p, labels, np.ones_like(p), **options)[0]


def test_the_lowest_allowed_is_taken_where_none_is_better():
    assert chosen([0.1] * 50 + [0.9] * 50, [0] * 50 + [1] * 50).threshold == 0.5


def test_the_best_f1_decides_and_the_middle_of_what_is_equally_good():
    found = chosen([0.6] * 50 + [0.9] * 50, [0] * 50 + [1] * 50)
    assert found.threshold == pytest.approx(0.75, abs=0.02)


def test_a_budget_of_false_activations_is_kept():
    said = [0.3] * 90 + [0.7] * 10 + [0.6, 0.8, 0.9, 0.9]
    due = [0] * 100 + [1] * 4
    assert chosen(said, due, largest_false=0.05).threshold > 0.7


def test_what_must_be_quiet_is_asked_at_higher_and_higher_thresholds():
    found = chosen(
        [0.1] * 50 + [0.95] * 50,
        [0] * 50 + [1] * 50,
        quiet=lambda index, on, off: index == 0 and on >= 0.83 and off < on,
    )
    assert found.threshold == pytest.approx(0.83)


def test_off_lies_below_on_where_due_rows_seldom_fall():
    found = chosen([0.1] * 50 + [0.45] + [0.9] * 49, [0] * 50 + [1] * 50)
    assert 0.2 <= found.threshold_off <= found.threshold - 0.1


def test_rows_without_weight_decide_nothing():
    p = np.array([[0.95], [0.1], [0.9]], np.float32)
    weight = np.array([[0.0], [1.0], [1.0]], np.float32)
    labels = np.array([[0.0], [0.0], [1.0]], np.float32)
    assert choose_thresholds(TREND, p, labels, weight)[0].threshold == 0.5
