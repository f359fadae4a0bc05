# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.situation import SignalConfig, SignalState
from thinking_policy.situation.signals import SignalTrack, to_unit

INF, NAN = math.inf, math.nan
SECOND = 1_000_000_000


def converted(config, *numbers):
    return to_unit(config, np.array(numbers, float)).tolist()


def test_raw_numbers_are_scaled_shifted_and_made_positive_in_that_order():
    config = SignalConfig(scale=0.001, offset=-1.0, absolute=True)
    assert converted(config, 3000.0, 250.0) == [2.0, 0.75]


def test_values_outside_of_the_valid_range_and_not_finite_ones_are_refused():
    config = SignalConfig(valid_low=-40.0, valid_high=85.0)
    found = converted(config, -40.0, 85.0, -40.1, 85.1, NAN, INF, -INF)
    assert found == pytest.approx([-40.0, 85.0] + [NAN] * 5, nan_ok=True)


def test_values_that_a_message_could_not_carry_are_refused():
    assert converted(SignalConfig(scale=1e300), 1e300, 1e-290) == pytest.approx(
        [NAN, 1e10], nan_ok=True
    )
    assert converted(SignalConfig(), 3.5e38, -3.5e38, 3.3e38) == pytest.approx(
        [NAN, NAN, 3.3e38], nan_ok=True
    )


def test_zero_has_no_sign():
    assert [math.copysign(1, value) for value in converted(SignalConfig(), -0.0, 0.0)] == [1, 1]


@given(
    st.lists(st.floats(), max_size=5),
    st.builds(
        SignalConfig,
        scale=st.floats(allow_nan=False, allow_infinity=False),
        offset=st.floats(allow_nan=False, allow_infinity=False),
        absolute=st.booleans(),
        valid_low=st.floats(),
        valid_high=st.floats(),
    ),
)
def test_whatever_comes_in_what_goes_out_is_finite_or_nan(numbers, config):
    found = to_unit(config, np.array(numbers, float))
    usable = found[~np.isnan(found)]
    assert (np.abs(usable) <= 3.4e38).all()
    assert not (usable < config.valid_low).any()
    assert not (usable > config.valid_high).any()


class Run:
    """A signal with ticks of one second."""

    def __init__(self, **settings):
        self.track = SignalTrack(SignalConfig(name='s', **settings))
        self.tick = 0

    def __call__(self, *messages):
        """Let a tick pass with (seconds before its end, value); return its reading."""
        self.tick += 1
        end = self.tick * SECOND
        stamps = np.array([end - round(before * SECOND) for before, _ in messages], np.int64)
        if len(stamps):
            values = np.array([value for _, value in messages], float)
            self.track.add(stamps, values, np.zeros(len(stamps), np.int64), int(stamps.max()))
        if self.track.completes(self.tick):
            self.track.complete(end)
        found = self.track.reading(end)
        return found.state, found.value, found.age_s


OK, STALE, INVALID, NEVER = SignalState


def test_a_signal_without_messages_was_never_there():
    run = Run()
    assert run() == (NEVER, pytest.approx(NAN, nan_ok=True), -1.0)


def test_a_value_is_held_until_it_is_stale():
    run = Run(stale_s=2.0)
    assert run((0.25, 7.0)) == (OK, 7.0, 0.25)
    assert run() == (OK, 7.0, 1.25)
    assert run()[0] == STALE
    assert run((0.5, 8.0)) == (OK, 8.0, 0.5)


def test_a_value_exactly_as_old_as_the_stale_time_is_not_stale():
    run = Run(stale_s=2.0)
    run((0.0, 7.0))
    assert run() == (OK, 7.0, 1.0)
    assert run() == (OK, 7.0, 2.0)
    assert run()[0] == STALE


def test_unusable_messages_make_a_signal_invalid_until_they_are_stale():
    run = Run(stale_s=2.0)
    run((0.5, 7.0))
    state, value, age = run((0.5, NAN))
    assert (state, age) == (INVALID, 0.5)
    assert math.isnan(value)
    assert run()[0] == INVALID
    assert run()[0] == STALE


def test_one_usable_message_in_a_period_is_enough():
    assert Run()((0.7, 7.0), (0.2, NAN)) == (OK, 7.0, 0.2)


def test_counting_nothing_is_zero_only_where_something_came_lately():
    run = Run(over_time='count', stale_s=2.0)
    assert run()[0] == NEVER
    assert run((0.9, 1.0), (0.5, 1.0))[:2] == (OK, 2.0)
    assert run()[:2] == (OK, 0.0)
    assert run()[0] == STALE


def test_a_slow_signal_has_one_sample_per_sampling_period():
    run = Run(over_time='mean', period_ticks=3, stale_s=10.0)
    assert run((0.5, 1.0))[0] == NEVER  # its first sampling period is under way
    run((0.5, 2.0))
    assert run((0.5, 6.0))[:2] == (OK, 3.0)
    assert run((0.5, 100.0)) == (OK, 3.0, 0.5)
    assert run() == (OK, 3.0, 1.5)
    assert run()[:2] == (OK, 100.0)


def test_a_signal_that_is_forgotten_starts_as_new():
    run = Run(period_ticks=2)
    run((0.5, 1.0))
    run((0.5, 2.0))
    run((0.5, 3.0))
    run.track.forget()
    assert run()[0] == NEVER
    assert run()[2] == -1.0
