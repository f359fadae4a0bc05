# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How far a situation is from normal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thinking_policy.policy import (
    Baseline,
    PolicyError,
    baseline_from_dict,
    default_baseline,
    fit_baseline,
    novelty,
)

NAMES = ('a', 'b')


def test_the_ends_of_the_nominal_range_are_two_deviations_away():
    ends = np.tile(np.array([0.0, 1.0], np.float32), (10, 1))
    assert novelty(ends, np.ones((10, 2), bool), default_baseline(NAMES)) == pytest.approx(2.0)


def test_the_signal_that_is_farthest_away_counts():
    window = np.tile(np.array([0.5, 1.75], np.float32), (10, 1))
    assert novelty(window, np.ones((10, 2), bool), default_baseline(NAMES)) == pytest.approx(5.0)


def test_a_signal_that_is_hardly_seen_is_left_out():
    window = np.tile(np.array([0.5, 9.0], np.float32), (10, 1))
    valid = np.ones((10, 2), bool)
    valid[:6, 1] = False
    assert novelty(window, valid, default_baseline(NAMES)) == 0.0
    valid[5, 1] = True
    assert novelty(window, valid, default_baseline(NAMES)) == pytest.approx(34.0)


def test_invalid_samples_do_not_count():
    window = np.tile(np.array([0.75, 0.5], np.float32), (10, 1))
    valid = np.ones((10, 2), bool)
    valid[::3, 0] = False
    window[~valid] = 0.0
    assert novelty(window, valid, default_baseline(NAMES)) == pytest.approx(1.0)


def test_nothing_to_see_is_nothing_new():
    assert (
        novelty(np.zeros((10, 2), np.float32), np.zeros((10, 2), bool), default_baseline(NAMES))
        == 0.0
    )


def test_a_baseline_is_learned_from_healthy_windows():
    random = np.random.default_rng(0)
    means = random.normal((0.3, 0.8), (0.1, 0.05), (4000, 2))
    windows = np.repeat(means[:, None, :], 6, axis=1).astype(np.float32)
    fitted = fit_baseline(windows, np.ones(windows.shape, bool), NAMES)
    assert fitted.mean == pytest.approx((0.3, 0.8), abs=0.01)
    assert fitted.std == pytest.approx((0.1, 0.05), abs=0.01)


def test_a_signal_that_drifted_while_healthy_may_go_on_drifting():
    levels = np.where(np.arange(100) < 50, 0.3, 0.5).astype(np.float32)
    windows = np.tile(levels[:, None, None], (1, 4, 1))
    fitted = fit_baseline(windows, np.ones(windows.shape, bool), ('a',))
    assert fitted.mean == pytest.approx((0.4,))
    assert fitted.std == pytest.approx((0.1005 + 0.2,), abs=0.0001)


def test_a_signal_that_never_moved_or_never_came_does_not_make_everything_novel():
    windows = np.full((50, 4, 2), 0.4, np.float32)
    valid = np.ones(windows.shape, bool)
    valid[:, :, 1] = False
    fitted = fit_baseline(windows, valid, NAMES)
    assert fitted.mean == pytest.approx((0.4, 0.5))
    assert fitted.std == (0.02, 0.25)


def test_a_baseline_can_be_stored():
    baseline = Baseline(NAMES, (0.1, 0.2), (0.3, 0.4))
    assert baseline_from_dict(baseline.to_dict(), NAMES, 'x') == baseline


@pytest.mark.parametrize(
    ('values', 'expected'),
    [
        ({'signals': ['b', 'a'], 'mean': [0, 0], 'std': [1, 1]}, r"expected \['a', 'b'\]"),
        ({'signals': ['a', 'b'], 'mean': [0], 'std': [1, 1]}, 'mean: expected 2 finite numbers'),
        ({'signals': ['a', 'b'], 'mean': [0, 0], 'std': [1, float('nan')]}, 'std: expected'),
        ({}, 'for signals None'),
    ],
)
def test_a_stored_baseline_that_does_not_fit_is_refused(values, expected):
    with pytest.raises(PolicyError, match=expected):
        baseline_from_dict(values, NAMES, 'baseline.json')


def test_windows_of_another_robot_are_refused():
    with pytest.raises(PolicyError, match=r'\[N, T, 2\]'):
        fit_baseline(np.zeros((5, 4, 3), np.float32), np.ones((5, 4, 3), bool), NAMES)


@given(
    hnp.arrays(np.float32, (6, 2), elements=st.floats(-10, 10, width=32)),
    hnp.arrays(np.bool_, (6, 2)),
)
def test_a_number_whatever_comes(window, valid):
    found = novelty(np.where(valid, window, 0), valid, default_baseline(NAMES))
    assert 0 <= found <= 42.01
