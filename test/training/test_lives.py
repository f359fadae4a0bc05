# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Rows as a robot would see them, and what they call for."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.training.lives import (
    CLEAN,
    OVER_AFTER,
    Disturbance,
    Recording,
    draw_learning_set,
    draw_recording,
    labels_of,
    situations_of,
    windows_of,
)
from thinking_policy.training.scenarios import ACTIVITIES, PHASES, SIGNAL_NAMES

G = {name: i for i, name in enumerate(ACTIVITIES)}
F = {name: i for i, name in enumerate(SIGNAL_NAMES)}


def recording(*phases, ticks=12, unseen=(), pace=1.0):
    """Return a life of phases, each `ticks` long, in which some signals never come."""
    count = ticks * len(phases)
    values = np.arange(count, dtype=np.float32)[:, None].repeat(7, 1)
    valid = np.ones((count, 7), np.bool_)
    for name in unseen:
        valid[:, F[name]] = False
    return Recording(
        np.where(valid, values, 0).astype(np.float32),
        valid,
        [PHASES[p] for p in phases for _ in range(ticks)],
        np.tile(np.arange(1, ticks + 1), len(phases)),
        pace,
    )


def labelled(life):
    return labels_of(life, windows_of(life)[1])


def test_windows_end_at_their_tick_and_begin_empty():
    windows, valid = windows_of(recording('healthy'), length=4)
    assert windows[0, :, 0].tolist() == [0, 0, 0, 0]
    assert valid[0, :, 0].tolist() == [False, False, False, True]
    assert windows[2, :, 0].tolist() == [0, 0, 1, 2]
    assert windows[11, :, 0].tolist() == [8, 9, 10, 11]
    assert valid[11].all()


def test_health_calls_for_nothing():
    labels, weight = labelled(recording('healthy'))
    assert labels.sum() == 0
    assert weight.min() == 1


def test_a_phase_calls_for_its_thinking_as_soon_as_it_can_be_told():
    labels, weight = labelled(recording('healthy', 'rising'))
    trend = G['trend']
    assert PHASES['rising'].seen_after == 5
    assert weight[12:24, trend].tolist() == [0] * 4 + [1] * 8
    assert labels[16:24, trend].tolist() == [1] * 8
    assert weight[12:24, G['recovery']].tolist() == [1] * 12
    assert labels[:, G['recovery']].sum() == 0


def test_thinking_may_linger_after_its_phase():
    labels, weight = labelled(recording('rising', 'high'))
    trend = G['trend']
    assert weight[12:24, trend].tolist() == [0] * (OVER_AFTER - 1) + [1] * (13 - OVER_AFTER)
    assert labels[12:24, trend].sum() == 0
    # Called for before and after: no doubt between.
    assert weight[12:24, G['hazard']].tolist() == [1] * 12
    assert labels[12:24, G['hazard']].tolist() == [1] * 12


def test_a_quick_robot_can_be_told_earlier():
    _, weight = labelled(recording('healthy', 'rising', pace=2.0))
    assert weight[12:24, G['trend']].tolist() == [0] * 2 + [1] * 10


def test_what_nobody_can_see_is_not_asked_for():
    labels, weight = labelled(recording('healthy', 'rising', unseen=('temperature', 'current')))
    assert labels[16:].sum() == 0
    assert weight[16:].min() == 1


def test_where_half_is_seen_either_answer_is_right():
    labels, weight = labelled(recording('healthy', 'rising', unseen=('current',)))
    assert weight[16:, G['trend']].max() == 0
    del labels


def test_two_signals_cannot_be_compared_when_one_is_not_there():
    labels, weight = labelled(recording('healthy', 'heating', unseen=('current',)))
    compare = G['cross_signal_temperature_current']
    assert labels[16:, compare].max() == 0
    assert weight[16:, compare].min() == 1


def test_rows_are_packed_as_the_robot_packs(random):
    life = draw_recording('rising', 30, random, Disturbance(drop=0.3))
    rows = situations_of(life)
    windows, valid = windows_of(life)
    packed = rows.packed()[0]
    assert packed.shape == (30, 140)
    assert np.array_equal(packed[7, :70].reshape(10, 7), windows[7])
    assert np.array_equal(packed[7, 70:].reshape(10, 7), valid[7])


def test_invalid_samples_show_nothing(random):
    life = draw_recording('delayed_onset', 200, random, Disturbance(drop=0.5))
    assert not life.values[~life.valid].any()
    assert life.valid.mean() == pytest.approx(0.5, abs=0.2)
    assert np.isfinite(life.values).all()


def test_clean_lives_lose_nothing(random):
    assert draw_recording('rising', 50, random, CLEAN).valid.all()


def test_the_same_seed_gives_the_same_rows():
    one, two, other = (draw_learning_set(12, 20, np.random.default_rng(s)) for s in (3, 3, 4))
    assert one.sha256 == two.sha256 != other.sha256


def test_every_activity_is_in_the_rows_and_most_of_the_time_there_is_none():
    rows = draw_learning_set(150, 60, np.random.default_rng(0))
    assert (rows.labels.sum(axis=0) > 50).all()
    assert (rows.labels.sum(axis=1) == 0).mean() > 0.5
    assert rows.weight.mean() > 0.85
