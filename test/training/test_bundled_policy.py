# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The policy that ships is useful on a live stream: quiet in health, quick in trouble."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.policy import DEFAULT_HOLD_S, ActivationFilter, load_activities
from thinking_policy.situation import Situation, load_configuration
from thinking_policy.training.lives import CLEAN, Disturbance
from thinking_policy.training.scenarios import (
    ACTIVITIES,
    PHASES,
    SCENARIOS,
    SIGNAL_NAMES,
    TICK_S,
)
from thinking_policy.training.simulator import SimulatedRobot
from thinking_policy.training.watched_lives import activations, measure, watch_lives


@pytest.fixture
def thresholds(bundled):
    activities = bundled.manifest.activities
    return [a.threshold for a in activities], [a.threshold_off for a in activities]


def test_it_is_small(bundled_path):
    assert bundled_path.stat().st_size <= 30_000


def test_it_fits_the_shipped_configuration(bundled_path, checkout):
    from thinking_policy.policy import PolicyRuntime

    config = load_configuration(checkout / 'config' / 'policy.yaml')
    runtime = PolicyRuntime.load(bundled_path, config=config)
    assert runtime.warnings == ()
    for signal, learned in zip(config.signals, runtime.manifest.signals, strict=True):
        assert (signal.unit, signal.nominal_low, signal.nominal_high) == (
            learned.unit,
            learned.nominal_low,
            learned.nominal_high,
        )


def test_it_tells_how_good_it_is_and_how_it_was_made(bundled):
    manifest = bundled.manifest
    assert manifest.metrics['f1'] > 0.95
    assert manifest.metrics['ece'] < 0.01
    assert manifest.training['seed'] == 0
    assert len(manifest.training_data_sha256) == 64


def test_its_activities_are_the_shipped_ones(bundled, activity_list):
    shipped = load_activities(activity_list)
    for inside, listed in zip(bundled.manifest.activities, shipped, strict=True):
        assert (inside.id, inside.title, inside.directive) == (
            listed.id,
            listed.title,
            listed.directive,
        ), 'run make policy'
        assert inside.threshold >= listed.threshold


@pytest.mark.parametrize(
    'disturbance',
    [CLEAN, Disturbance(), Disturbance(drop=0.5, missing=0)],
    ids=['clean', 'as trained', 'half lost'],
)
def test_a_healthy_robot_is_left_alone(bundled_predict, thresholds, disturbance):
    lives = watch_lives(
        bundled_predict, 60, 300, np.random.default_rng(900), disturbance, 'healthy'
    )
    active = np.concatenate([activations(life.probability, *thresholds) for life in lives])
    share = dict(zip(ACTIVITIES, active.mean(axis=0), strict=True))
    assert max(share.values()) < 0.01, share


def test_each_kind_of_thinking_is_recognised_in_robots_never_met(bundled, bundled_predict):
    lives = watch_lives(bundled_predict, 25, 120, np.random.default_rng(901), CLEAN)
    figures = measure(bundled.manifest.activities, lives)
    for name in ACTIVITIES:
        assert figures[f'f1.{name}'] > 0.9, (name, figures)
        # A phase lasts about 12 ticks; recognised within a few of them.
        assert figures[f'delay_s.{name}'] <= 8 * TICK_S, (name, figures)
        assert figures[f'missed.{name}'] <= 0.05, (name, figures)


@pytest.mark.parametrize(('drop', 'least'), [(0.1, 0.96), (0.3, 0.95), (0.5, 0.92)])
def test_lost_samples_cost_little(bundled, bundled_predict, drop, least):
    lives = watch_lives(
        bundled_predict,
        15,
        120,
        np.random.default_rng(902),
        Disturbance(drop=drop, missing=0, odd=0),
    )
    figures = measure(bundled.manifest.activities, lives)
    assert figures['f1'] > least
    assert figures['ece'] < 0.01


def lived_with(bundled, thresholds, scenario, seed, ticks):
    """Return what was called for, what of it was shown, and ticks of what never was.

    As the node does it: situation, inference, activation filter.
    """
    called, shown, wrong = set(), set(), 0
    robot = SimulatedRobot(scenario, seed=seed)
    switch = ActivationFilter(*thresholds, DEFAULT_HOLD_S)
    window = np.zeros((10, 7), np.float32)
    valid = np.zeros((10, 7), np.bool_)
    for tick in range(1, ticks + 1):
        moment = robot.at(tick * TICK_S)
        window = np.vstack((window[1:], moment.values.astype(np.float32)))
        valid = np.vstack((valid[1:], np.ones(7, np.bool_)))
        stamp = round(tick * TICK_S * 1e9)
        answer = bundled.infer(
            Situation(stamp, tick, 'e', TICK_S, SIGNAL_NAMES, window, valid, (), (), (), ())
        )
        active = switch.update(answer.probability, stamp, 'e')
        now = {name for name, on in zip(ACTIVITIES, active, strict=True) if on}
        called |= set(moment.activities)
        shown |= now & set(moment.activities)
        wrong += len(now - {a for p in SCENARIOS[scenario] for a in PHASES[p].activities})
    return called, shown, wrong


@pytest.mark.parametrize('scenario', [name for name in SCENARIOS if name != 'healthy'])
def test_simulated_robots_show_their_fault_tick_by_tick(bundled, thresholds, scenario):
    robots, ticks = 5, 160
    wrong = []
    for seed in range(robots):
        called, shown, beside = lived_with(bundled, thresholds, scenario, seed, ticks)
        assert shown == called, seed
        wrong.append(beside)
    # One tick above a threshold lasts for the four of the hold.
    assert max(wrong) <= 0.05 * ticks, wrong
    assert sum(wrong) <= 0.015 * robots * ticks, wrong
