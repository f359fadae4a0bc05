# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""One situation in, one probability per activity out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thinking_policy.policy import Baseline, PolicyError, PolicyRuntime, novelty
from thinking_policy.situation import Situation

WINDOW = [[0.1, 0.2], [0.3, 0.4], [2.0, 0.6]]
HOT, COLD = [[0, 0], [0, 0], [3.0, 0]], [[0, 0], [0, 0], [-3.0, 0]]


@pytest.fixture
def runtime(write_policy):
    return PolicyRuntime.load(write_policy())


def test_answers_are_the_callers_own(runtime, make_situation):
    hot = runtime.infer(make_situation(HOT)).probability
    cold = runtime.infer(make_situation(COLD)).probability
    assert hot[0] == pytest.approx(0.9526, abs=1e-4)
    assert cold[0] == pytest.approx(0.0474, abs=1e-4)
    assert hot.dtype == np.float32


def test_nothing_of_an_earlier_situation_remains(runtime, make_situation):
    runtime.infer(make_situation(HOT))
    nothing = runtime.infer(make_situation(HOT, valid=np.zeros((3, 2))))
    assert nothing.probability.tolist() == [0.5, 0.5]
    assert nothing.novelty == 0.0


def test_the_novelty_is_that_of_the_window_to_the_bit(write_policy, make_situation):
    random = np.random.default_rng(100)
    own = Baseline(('temperature', 'current'), (0.3, 0.7), (0.11, 0.07))
    runtime = PolicyRuntime.load(write_policy(), baseline=own)
    for _ in range(50):
        window = random.random((3, 2)).astype(np.float32)
        found = runtime.infer(make_situation(window)).novelty
        assert found == novelty(window, np.ones(window.shape, bool), own)


def test_novelty_is_measured_against_the_robots_own_baseline(write_policy, make_situation):
    own = Baseline(('temperature', 'current'), (0.8, 0.4), (0.1, 0.1))
    runtime = PolicyRuntime.load(write_policy(), baseline=own)
    # Window means: temperature 0.8, current 0.7.
    window = [[0.7, 0.7], [0.8, 0.7], [0.9, 0.7]]
    assert runtime.infer(make_situation(window)).novelty == pytest.approx(3.0, abs=1e-5)


def test_other_signals_are_refused_not_misread(runtime, make_situation):
    with pytest.raises(PolicyError, match=r"situation has \['current', 'temp"):
        runtime.infer(make_situation(WINDOW, signals=('current', 'temperature')))
    equal_but_another_tuple = tuple(['temperature', 'current'])  # noqa: C409
    assert runtime.infer(make_situation(WINDOW, signals=equal_but_another_tuple))


def test_a_shorter_window_is_refused_not_repeated(runtime, make_situation):
    with pytest.raises(PolicyError, match=r'expected a window \(3, 2\), found \(1, 2\)'):
        runtime.infer(make_situation(WINDOW[:1]))


def test_time_is_told_by_the_clock_given(write_policy, make_situation):
    loaded = PolicyRuntime.load(write_policy())
    ticks = iter((10.0, 10.25))
    loaded._clock = lambda: next(ticks)
    assert loaded.infer(make_situation(WINDOW)).inference_time_s == 0.25


def test_what_is_no_probability_is_replaced_and_counted(runtime, make_situation, monkeypatch):
    def broken():
        runtime._output[0] = (np.nan, 7.0)

    monkeypatch.setattr(runtime, '_run', broken)
    answer = runtime.infer(make_situation(WINDOW))
    assert answer.probability.tolist() == [0.0, 1.0]
    assert runtime.not_finite == 1


@settings(max_examples=60, deadline=None)
@given(
    window=hnp.arrays(np.float32, (3, 2), elements=st.floats(-10, 10, width=32)),
    valid=hnp.arrays(np.bool_, (3, 2)),
)
def test_never_anything_but_probabilities(shared_runtime, window, valid):
    answer = shared_runtime.infer(
        Situation(
            1,
            1,
            'e',
            0.5,
            ('temperature', 'current'),
            np.where(valid, window, 0),
            valid,
            (),
            (),
            (),
            (),
        )
    )
    assert np.all((answer.probability >= 0) & (answer.probability <= 1))
    assert np.isfinite(answer.novelty)
    assert answer.novelty >= 0
    newest = window[-1, 0] if valid[-1, 0] else 0.0
    assert answer.probability[0] == pytest.approx(1 / (1 + np.exp(-float(newest))), abs=1e-5)
