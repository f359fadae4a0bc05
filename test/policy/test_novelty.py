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
    NoveltyHold,
    baseline_of,
    default_baseline,
    novelty,
)
from thinking_policy.situation import SignalConfig, SituationConfig

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


def test_a_baseline_is_stated_in_the_signals_unit():
    warm = SignalConfig(
        name='a', nominal_low=20.0, nominal_high=60.0, baseline_mean=30.0, baseline_spread=2.0
    )
    found = baseline_of(SituationConfig(signals=(warm, SignalConfig(name='b'))))
    assert found == Baseline(NAMES, (0.25, 0.5), (0.05, 0.25))


def test_another_nominal_range_leaves_the_stated_baseline_where_it_was():
    window = np.array([[24.0], [32.0]], np.float32)
    for low, high in ((0.0, 100.0), (20.0, 40.0)):
        signal = SignalConfig(
            name='a', nominal_low=low, nominal_high=high, baseline_mean=30.0, baseline_spread=2.0
        )
        baseline = baseline_of(SituationConfig(signals=(signal,)))
        scaled = ((window - low) / (high - low)).astype(np.float32)
        assert novelty(scaled, np.ones((2, 1), bool), baseline) == pytest.approx(1.0, abs=1e-5)


def test_what_was_novel_stays_so_until_a_window_later():
    hold = NoveltyHold(3)
    found = [hold.update(value, 'e1') for value in (1, 5, 2, 1, 0, 0.5, 0, 0)]
    assert found == [1, 5, 5, 5, 5, 2, 1, 0.5]


def test_another_episode_begins_with_nothing_held():
    hold = NoveltyHold(3)
    hold.update(5.0, 'e1')
    assert hold.update(1.0, 'e2') == 1.0


@given(
    hnp.arrays(np.float32, (6, 2), elements=st.floats(-10, 10, width=32)),
    hnp.arrays(np.bool_, (6, 2)),
)
def test_a_number_whatever_comes(window, valid):
    found = novelty(np.where(valid, window, 0), valid, default_baseline(NAMES))
    assert 0 <= found <= 42.01
