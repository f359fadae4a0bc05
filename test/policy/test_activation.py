# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes active, stays active and ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.policy import ActivationFilter, PolicyError

S = 1_000_000_000


def run(switch, probabilities, period_s=0.5, episode='one', start_ns=0):
    return [
        bool(
            switch.update(np.array([p], np.float32), start_ns + round(k * period_s * S), episode)[
                0
            ]
        )
        for k, p in enumerate(probabilities)
    ]


def test_on_at_the_threshold_off_only_below_the_lower_one():
    switch = ActivationFilter([0.7], [0.4], 0.0)
    assert run(switch, [0.69, 0.7, 0.5, 0.4, 0.39, 0.5, 0.69]) == [
        False,
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_published_probability_that_equals_the_published_threshold_is_active():
    for threshold in (0.1, 0.3, 0.7, 0.9):
        switch = ActivationFilter([threshold], [0.0], 0.0)
        assert run(switch, [np.float32(threshold)]) == [True]


def test_stays_for_the_minimum_hold_even_if_the_probability_is_gone():
    switch = ActivationFilter([0.7], [0.4], 2.0)
    # Every 0.5 s: on at 0.5 s, so off not before 2.5 s.
    assert run(switch, [0, 1, 0, 0, 0, 0, 0]) == [False, True, True, True, True, False, False]


def test_becoming_active_is_never_delayed():
    switch = ActivationFilter([0.7], [0.4], 2.0)
    assert run(switch, [1, 0, 0, 0, 0, 1]) == [True, True, True, True, False, True]


def test_another_episode_starts_with_nothing_active():
    switch = ActivationFilter([0.7], [0.4], 60.0)
    assert run(switch, [1.0, 0.5]) == [True, True]
    assert run(switch, [0.5], episode='two', start_ns=2 * S) == [False]


def test_a_clock_that_goes_back_does_not_hold_an_activity_for_ever():
    switch = ActivationFilter([0.7], [0.4], 1.0)
    run(switch, [1.0], start_ns=1000 * S)
    assert run(switch, [0, 0, 0], start_ns=0) == [True, True, False]


def test_activities_do_not_touch_each_other():
    switch = ActivationFilter([0.5, 0.5, 0.5], [0.2, 0.2, 0.2], 0.0)
    first = switch.update(np.array([0.9, 0.1, 0.6], np.float32), 0, 'e')
    second = switch.update(np.array([0.1, 0.9, 0.3], np.float32), S, 'e')
    assert first.tolist() == [True, False, True]
    assert second.tolist() == [False, True, True]


def test_no_number_changes_nothing():
    switch = ActivationFilter([0.7], [0.4], 0.0)
    assert run(switch, [np.nan, 1.0, np.nan, 0.0]) == [False, True, True, False]


def test_reset_forgets_what_was_active():
    switch = ActivationFilter([0.7], [0.4], 60.0)
    run(switch, [1.0])
    switch.reset()
    assert run(switch, [0.5]) == [False]


def test_other_thresholds_count_from_the_next_update_on():
    switch = ActivationFilter([0.7], [0.4], 0.0)
    run(switch, [0.8])
    switch.configure([0.9], [0.85], 0.0)
    assert run(switch, [0.86, 0.84, 0.86], start_ns=S) == [True, False, False]


@pytest.mark.parametrize(
    ('on', 'off', 'hold', 'expected'),
    [
        ([0.4], [0.7], 1.0, '0 <= off <= on <= 1'),
        ([1.2], [0.7], 1.0, '0 <= off <= on <= 1'),
        ([np.nan], [0.7], 1.0, '0 <= off <= on <= 1'),
        ([0.7, 0.7], [0.4], 1.0, 'one length'),
        ([0.7], [0.4], -1.0, 'minimum hold'),
        ([0.7], [0.4], float('nan'), 'minimum hold'),
    ],
)
def test_wrong_settings_are_refused(on, off, hold, expected):
    with pytest.raises(PolicyError, match=expected):
        ActivationFilter(on, off, hold)


def test_refused_settings_leave_the_old_ones_in_force():
    switch = ActivationFilter([0.7], [0.4], 0.0)
    with pytest.raises(PolicyError, match='expected 1 values, found 2'):
        switch.configure([0.1, 0.1], [0.0, 0.0], 0.0)
    assert run(switch, [0.6]) == [False]


probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@given(probabilities, st.integers(0, 8))
def test_never_flickers_faster_than_the_hold(values, hold_ticks):
    active = run(ActivationFilter([0.6], [0.4], hold_ticks * 0.5), values)
    starts = [k for k in range(len(active)) if active[k] and (k == 0 or not active[k - 1])]
    ends = [k for k in range(1, len(active)) if active[k - 1] and not active[k]]
    for start, end in zip(starts, ends, strict=False):
        assert end - start >= max(hold_ticks, 1)


@given(probabilities)
def test_active_wherever_on_and_never_started_below(values):
    active = run(ActivationFilter([0.6], [0.4], 1.0), values)
    for k, (p, now) in enumerate(zip(np.array(values, np.float32), active, strict=True)):
        if p >= np.float32(0.6):
            assert now
        if now and (k == 0 or not active[k - 1]):
            assert p >= np.float32(0.6)


@given(probabilities)
def test_without_hold_and_gap_it_is_eq_16_itself(values):
    active = run(ActivationFilter([0.5], [0.5], 0.0), values)
    assert active == [bool(np.float32(p) >= np.float32(0.5)) for p in values]
