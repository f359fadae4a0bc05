# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A simulator's clock: on the grid, back, far ahead, standing still, and a bag in a loop."""

from __future__ import annotations

import itertools

import pytest
from recordings import write_bag
from robot import TICK_S, stamp_ns, temperature
from sensor_msgs.msg import Temperature
from sim_clock import SECOND, SimClock

PERIOD = round(TICK_S * SECOND)
START = 1_000 * SECOND


@pytest.fixture
def sim_clock(observer):
    return SimClock(observer)


@pytest.fixture
def simulated(start_robot, sim_clock):
    """Return a function that starts a robot under simulated time, matched with the clock."""

    def start(**parameters):
        robot = start_robot(use_sim_time=True, **parameters)
        sim_clock.wait_until_heard()
        return robot

    return start


def test_ticks_end_on_the_grid_whatever_steps_the_clock_takes(simulated, sim_clock):
    robot = simulated()
    now = START
    sim_clock.set_until_tick(robot, now, now)
    for step in (130_000_000, 10_000_000, 130_000_000, 90_000_000, 100_000_000, 250_000_000):
        now += step
        end = now // PERIOD * PERIOD
        if end > stamp_ns(robot.situations[-1]):
            sim_clock.set_until_tick(robot, now, end)
        else:
            sim_clock.set(now)
    ticks = [s.tick for s in robot.situations]
    assert ticks == list(range(START // PERIOD, now // PERIOD + 1))
    assert [stamp_ns(s) for s in robot.situations] == [tick * PERIOD for tick in ticks]
    assert len({s.episode for s in robot.situations}) == 1
    robot.wait_for(lambda: len(robot.activations) == len(ticks), 'as many activations')
    assert [a.tick for a in robot.activations] == ticks


def test_a_clock_that_goes_back_begins_a_new_episode_with_an_empty_window(simulated, sim_clock):
    robot = simulated()
    sim_clock.set_until_tick(robot, START, START)
    sender = robot.sensor(Temperature, 'temperature')
    for i in range(1, 4):
        sender.publish(temperature(40.0))
        robot.observer.listen(0.05)  # it comes before the clock does
        last = sim_clock.set_until_tick(robot, START + i * PERIOD, START + i * PERIOD)
    assert list(last.valid) == [1, 1, 1]

    back = START - 50 * PERIOD
    after = sim_clock.set_until_tick(robot, back, back)
    assert after.episode != last.episode
    assert not any(after.valid)
    following = sim_clock.set_until_tick(robot, back + PERIOD, back + PERIOD)
    assert following.episode == after.episode
    robot.wait_for(lambda: robot.diagnosis('clock')[2].get('jumps_back') == '1', 'the count')


def test_a_clock_from_1970_to_2023_is_one_jump_and_no_storm(simulated, sim_clock):
    robot = simulated()
    first = sim_clock.set_until_tick(robot, SECOND, SECOND)
    far = 1_700_000_000 * SECOND
    after = sim_clock.set_until_tick(robot, far, far)
    assert after.episode != first.episode
    robot.observer.listen(3 * TICK_S)
    assert [stamp_ns(s) for s in robot.situations] == [SECOND, far]
    assert len(robot.activations) == 2
    robot.wait_for(lambda: robot.diagnosis('clock')[2].get('jumps_forward') == '1', 'the count')
    assert robot.diagnosis('clock')[2]['episodes'] == '2'
    assert 'ERROR' not in robot.output


def test_a_clock_that_stands_still_or_never_came_is_said(simulated, sim_clock):
    robot = simulated()
    robot.wait_for(lambda: robot.diagnosis('clock')[0] == 1, 'a warning')
    assert 'nothing came on /clock' in robot.diagnosis('clock')[1]
    sim_clock.set_until_tick(robot, START, START)
    robot.wait_for(lambda: robot.diagnosis('clock')[0] == 0, 'no warning')
    robot.wait_for(lambda: robot.diagnosis('clock')[0] == 1, 'a warning again')
    assert 'stands still' in robot.diagnosis('clock')[1]
    robot.wait_for(lambda: 'clock: stands still' in robot.output, 'the same in the log')
    assert len(robot.activations) == 1
    assert float(robot.diagnosis('clock')[2]['standing_still_s']) >= 0.5
    sim_clock.set_until_tick(robot, START + PERIOD, START + PERIOD)
    robot.wait_for(lambda: robot.diagnosis('clock')[0] == 0, 'no warning once it goes on')


def test_a_bag_in_a_loop_is_a_new_episode_each_time(start_robot, start_node, tmp_path):
    start = 1_700_000_000 * SECOND
    rows = [('/temperature', temperature(20.0 + i), start + i * SECOND // 20) for i in range(40)]
    bag = write_bag(tmp_path / 'bag', rows)
    robot = start_robot(use_sim_time=True)
    arguments = [f'bag:={bag}', 'loop:=true', 'rate:=4.0']
    player = start_node(
        'bag_player',
        ['-r', f'__ns:={robot.namespace}', *itertools.chain(*(('-p', a) for a in arguments))],
        tmp_path,
    )

    def passes():
        stamps = [stamp_ns(s) for s in robot.situations]
        return sum(after < before for before, after in itertools.pairwise(stamps)) >= 2

    robot.wait_for(passes, 'the clock to go back twice', 20.0)
    episodes = list(dict.fromkeys(s.episode for s in robot.situations))
    assert len(episodes) == 3
    for episode in episodes:
        ticks = [s.tick for s in robot.situations if s.episode == episode]
        assert ticks == sorted(set(ticks))
        # 2 s of recording and one more of silence at the end
        assert len(ticks) <= 35
    whole = [s for s in robot.situations if s.episode == episodes[1]]
    assert any(all(s.valid) for s in whole)
    assert player.end()[0] == 0
    assert 'ERROR' not in robot.output
    assert 'Traceback' not in robot.output + player.output
