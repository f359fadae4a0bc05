# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Thresholds and figures."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.policy import ThinkingActivity
from thinking_policy.training.scenarios import PHASES
from thinking_policy.training.watched_lives import (
    Watched,
    activations,
    choose_for_lives,
    measure,
)

HEALTHY, RISING = PHASES['healthy'], PHASES['rising']


def watched(scenario, probability, phases=None):
    """Return a life in which one activity, trend, is due in every rising phase."""
    phases = phases or [HEALTHY] * len(probability)
    since, count = [], 0
    for k, phase in enumerate(phases):
        count = 1 if k and phase is not phases[k - 1] else count + 1
        since.append(count)
    due = np.array([[float(p is RISING)] for p in phases], np.float32)
    return Watched(
        scenario,
        np.array(probability, np.float32)[:, None],
        due,
        np.ones_like(due),
        phases,
        np.array(since),
    )


FAULT = watched('rising', [0.1] * 10 + [0.2, 0.6] + [0.9] * 8, [HEALTHY] * 10 + [RISING] * 10)
TREND = (ThinkingActivity('trend', 'Trend', 'Look.', 0.5, 0.35),)


def test_the_on_threshold_keeps_a_healthy_robot_quiet():
    noisy = watched('healthy', [0.1, 0.72] * 50)
    (chosen,) = choose_for_lives(TREND, [noisy, FAULT])
    assert 0.72 < chosen.threshold <= 0.9


def test_the_on_threshold_is_not_below_what_is_asked_for():
    quiet = watched('healthy', [0.1] * 100)
    (chosen,) = choose_for_lives(TREND, [quiet, FAULT])
    assert chosen.threshold == 0.5
    strict = (ThinkingActivity('trend', 'Trend', 'Look.', 0.85, 0.35),)
    assert choose_for_lives(strict, [quiet, FAULT])[0].threshold == 0.85


def test_the_off_threshold_lies_below():
    (chosen,) = choose_for_lives(TREND, [watched('healthy', [0.1] * 100), FAULT])
    assert chosen.threshold_off <= chosen.threshold - 0.1


def test_figures_have_the_right_values():
    figures = measure(TREND, [watched('healthy', [0.1] * 99 + [0.9]), FAULT])
    # Due on 10 ticks, found on 9 of them, once without being due.
    assert figures['f1.trend'] == pytest.approx(2 * 9 / (2 * 9 + 1 + 1), abs=1e-4)
    assert figures['f1'] == figures['f1.trend']
    assert figures['healthy_active.trend'] == 0.01
    assert figures['delay_s.trend'] == 1.0
    assert figures['missed.trend'] == 0.0


def test_a_phase_without_activation_is_missed():
    deaf = watched('rising', [0.1] * 20, [HEALTHY] * 10 + [RISING] * 10)
    figures = measure(TREND, [watched('healthy', [0.1] * 100), deaf])
    assert figures['missed.trend'] == 1.0
    assert 'delay_s.trend' not in figures


def test_healthy_time_counts_with_hysteresis_and_hold():
    one_peak = watched('healthy', [0.1] * 50 + [0.9] + [0.1] * 49)
    figures = measure(TREND, [one_peak, FAULT])
    # One tick above, held for 2 s of 0.5 s ticks.
    assert figures['healthy_active.trend'] == 0.04


def test_activations_are_those_of_the_robot():
    probability = np.array([[0.9, 0.1]] + [[0.0, 0.0]] * 5, np.float32)
    assert activations(probability, [0.5, 0.5], [0.3, 0.3])[:, 0].tolist() == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]
