# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that lives through a scenario without end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from thinking_policy.training.scenarios import SCENARIOS, SIGNAL_NAMES, TICK_S
from thinking_policy.training.simulator import (
    SimulatedRobot,
    draw_identity,
    record,
    stretches,
)

COLUMN = {name: i for i, name in enumerate(SIGNAL_NAMES)}


def lived(scenario, phase, seed=0, times=20):
    """Return what happened in a phase, over several robots: values at its start and its end."""
    starts, ends = [], []
    for s in range(seed, seed + times):
        random = np.random.default_rng(s)
        for stretch in itertools.islice(stretches(scenario, draw_identity(random), random), 8):
            if stretch.phase.name == phase:
                starts.append(stretch.values[0])
                ends.append(stretch.values[-1])
    return np.array(starts), np.array(ends)


@pytest.mark.parametrize('scenario', SCENARIOS)
def test_the_same_seed_is_the_same_life(scenario):
    one, two = SimulatedRobot(scenario, seed=5), SimulatedRobot(scenario, seed=5)
    other = SimulatedRobot(scenario, seed=6)
    times = np.arange(0, 60, 0.7)
    first = np.array([one.at(t).values for t in times])
    assert np.array_equal(first, [two.at(t).values for t in times])
    assert not np.array_equal(first, [other.at(t).values for t in times])


def test_the_life_does_not_depend_on_how_often_one_looks():
    coarse, fine = SimulatedRobot('rising', seed=1), SimulatedRobot('rising', seed=1)
    phases = [coarse.at(t).phase for t in np.arange(0, 100, TICK_S)]
    seen = [fine.at(t).phase for t in np.arange(0, 100, TICK_S / 10)]
    assert seen[::10] == phases


def test_a_healthy_robot_stays_within_its_ranges():
    for seed in range(10):
        random = np.random.default_rng(seed)
        values, phases, _ = record('healthy', draw_identity(random), random, 400)
        assert {p.name for p in phases} == {'healthy'}
        assert np.quantile(values, 0.999) < 1.45  # free sight may exceed the range
        assert values[:, :3].max() < 0.9
        assert values.min() > -0.1


def test_rising_climbs_in_temperature_and_current_only():
    starts, ends = lived('rising', 'rising')
    climbed = (ends - starts).mean(axis=0)
    assert climbed[COLUMN['temperature']] > 0.3
    assert climbed[COLUMN['current']] > 0.3
    assert abs(climbed[COLUMN['load']]) < 0.1


def test_heating_leaves_the_current_alone():
    starts, ends = lived('cross_signal_temperature_current', 'heating')
    climbed = (ends - starts).mean(axis=0)
    assert climbed[COLUMN['temperature']] > 0.3
    assert abs(climbed[COLUMN['current']]) < 0.1


def test_blinded_and_obscured_differ_in_distance():
    _, blinded = lived('cross_signal_visibility_distance', 'blinded')
    _, obscured = lived('information_seeking', 'obscured')
    assert blinded[:, COLUMN['visibility']].max() < 0.5
    assert obscured[:, COLUMN['visibility']].max() < 0.5
    assert blinded[:, COLUMN['distance']].mean() > 0.4
    assert obscured[:, COLUMN['distance']].mean() < 0.1


def test_a_delayed_onset_accelerates():
    random = np.random.default_rng(0)
    life = stretches('delayed_onset', draw_identity(random), random)
    onset = next(s for s in life if s.phase.name == 'delayed_onset')
    steps = np.diff(onset.values[:, COLUMN['current']])
    assert steps[-1] > 2 * steps[0]


def test_in_lagging_the_vibration_follows_the_load_by_four_ticks():
    random = np.random.default_rng(2)
    identity = draw_identity(random)
    life = stretches('hidden_dependency', identity, random)
    lagging = next(s for s in life if s.phase.name == 'lagging')
    load, shaking = (lagging.values[:, COLUMN[n]] for n in ('load', 'vibration'))
    lags = range(9)
    together = [np.corrcoef(load[: len(load) - lag], shaking[lag:])[0, 1] for lag in lags]
    assert abs(int(np.argmax(together)) - 4 / identity.pace) <= 1


def test_a_simulated_robot_lives_for_hours_in_bounded_memory():
    robot = SimulatedRobot('developing_fault', seed=0)
    for t in range(0, 3 * 3600, 5):
        robot.at(float(t))
    assert len(robot._values) < 100
    assert np.isfinite(robot.at(3 * 3600.0).values).all()


def test_an_unknown_scenario_is_named():
    with pytest.raises(ValueError, match="no scenario 'boredom'"):
        SimulatedRobot('boredom')


def test_values_between_ticks_lie_between_them():
    robot = SimulatedRobot('rising', seed=3)
    robot._noise = _Silent()
    a, b, c = (robot.at(t).values for t in (20.0, 20.2, 20.5))
    assert b == pytest.approx(0.6 * a + 0.4 * c)


class _Silent:
    def standard_normal(self, count):
        return np.zeros(count)
