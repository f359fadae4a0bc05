# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.situation.window import CLIP, Window, scaled


def test_the_nominal_range_is_zero_to_one():
    assert [scaled(value, 20.0, 60.0) for value in (20.0, 30.0, 60.0, 0.0)] == [
        0.0,
        0.25,
        1.0,
        -0.5,
    ]


def test_what_is_far_outside_is_clipped():
    assert scaled(1e30, 0.0, 1.0) == CLIP == 10.0
    assert scaled(-3.4e38, 0.0, 1e-300) == -CLIP


def test_columns_move_on_their_own_oldest_first():
    window = Window(3, [(0.0, 1.0), (0.0, 10.0)])
    for value in (0.1, 0.2, 0.3, 0.4):
        window.push(0, value)
    window.push(1, 5.0)
    window.push(1, None)
    values, valid = window.snapshot()
    assert values.tolist() == np.array([[0.2, 0.0], [0.3, 0.5], [0.4, 0.0]], np.float32).tolist()
    assert valid.tolist() == [[True, False], [True, True], [True, False]]
    assert values.dtype == np.float32
    assert valid.dtype == np.bool_


def test_a_window_of_one_sample_shows_the_newest():
    window = Window(1, [(0.0, 1.0)])
    window.push(0, 0.25)
    window.push(0, 0.5)
    assert window.snapshot()[0].tolist() == [[0.5]]


def test_a_snapshot_stays_as_it_was_and_cannot_be_written():
    window = Window(2, [(0.0, 1.0)])
    window.push(0, 0.5)
    values, _ = window.snapshot()
    window.push(0, 1.0)
    window.clear()
    assert values.tolist() == [[0.0], [0.5]]
    with pytest.raises(ValueError, match='read-only'):
        values[0, 0] = 1.0


@given(
    st.lists(st.none() | st.floats(-3.4e38, 3.4e38), max_size=12),
    st.tuples(st.floats(-1e300, 1e300), st.floats(5e-324, 1e300)),
)
def test_a_window_is_never_nan_and_zero_where_invalid(samples, nominal):
    low, width = nominal
    window = Window(4, [(low, max(low + width, float(np.nextafter(low, np.inf))))])
    for value in samples:
        window.push(0, value)
    values, valid = window.snapshot()
    assert (np.abs(values) <= CLIP).all()
    assert (values[~valid] == 0.0).all()
    assert valid[:, 0].tolist()[::-1] == ([s is not None for s in samples[::-1]] + [False] * 4)[:4]
