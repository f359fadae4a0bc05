# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters: refused at start and when set, with the name, what is allowed, what was found."""

from __future__ import annotations

import itertools

import pytest
from lifecycle_msgs.msg import Transition
from robot import TICK_S, signal, stamp_ns, temperature
from sensor_msgs.msg import Temperature

# parameters → what the line must say
REFUSED = [
    ({'tick_period_s': 0.0}, ('tick_period_s', '0.01...3600.0', 'found 0.0')),
    ({'window_length': 0}, ('window_length', '1...1000', 'found 0')),
    ({'window_length': 2.5}, ('window_length', 'expected int', 'found 2.5')),
    ({'minimum_hold_s': -1.0}, ('minimum_hold_s', '0.0...3600.0', 'found -1.0')),
    ({'publish': 'sometimes'}, ('publish', "'every_tick', 'on_change'", "found 'sometimes'")),
    ({'episode': {'idle_gap_s': 0.0}}, ('episode.idle_gap_s', '0.1...inf', 'found 0.0')),
    ({'events': {'recent': 1000}}, ('events.recent', '1...256', 'found 1000')),
    (
        {'signals': {'temperature': signal(over_time='median')}},
        ('signals.temperature.over_time', "'mean'", "found 'median'"),
    ),
    (
        {'signals': {'temperature': signal(nominal_hgh=5.0)}},
        ('signals.temperature', "'nominal_hgh'", "did you mean 'nominal_high'?"),
    ),
    (
        {'signals': {'temperature': signal(nominal_low=200.0)}},
        ('signals.temperature', 'nominal_low < nominal_high', '200.0...100.0'),
    ),
    (
        {'signal_names': ['temperature', 'current']},
        ("signal_names has 'current'", 'signals.current is missing'),
    ),
]


def test_bad_values_are_refused_at_start(start_node, params_file, tmp_path):
    processes = [
        start_node(
            'policy_node',
            ['--params-file', str(params_file(**{'policy_path': '', **bad}))],
            tmp_path,
        )
        for bad, _ in REFUSED
    ]
    for process, (bad, words) in zip(processes, REFUSED, strict=True):
        assert process.wait(60.0) == 2, bad
        lines = process.output.strip().splitlines()
        assert len(lines) == 1, process.output
        assert all(word in lines[0] for word in words), (words, lines[0])


def test_a_broken_file_and_unknown_arguments_are_refused(start_node, tmp_path):
    broken = tmp_path / 'broken.yaml'
    broken.write_text('/**: {ros__parameters: [')
    refused = {
        str(broken): ['--params-file', str(broken)],
        'none.yaml': ['--params-file', str(tmp_path / 'none.yaml')],
        "unknown ROS arguments ['--no-such-argument']": ['--no-such-argument'],
    }
    processes = [start_node('policy_node', some, tmp_path) for some in refused.values()]
    for process, word in zip(processes, refused, strict=True):
        assert process.wait(30.0) == 2
        line = process.output.strip().splitlines()[-1]
        assert line.startswith('error: ')
        assert word in line
        assert 'Traceback' not in process.output


def test_bad_thresholds_leave_the_node_unconfigured_with_the_reason(start_robot):
    robot = start_robot(thresholds={'hazard': {'on': 1.5}}, active=False)
    robot.wait_for(lambda: 'not configured' in robot.output, 'the reason')
    line = next(line for line in robot.output.splitlines() if 'not configured' in line)
    assert 'thresholds.hazard.on' in line
    assert '0.0...1.0' in line
    assert 'found 1.5' in line
    assert robot.state() == 'unconfigured'


def test_values_are_checked_when_set_and_some_wait_for_inactivity(start_robot):
    robot = start_robot()
    for name, value, words in (
        ('heartbeat_s', -1.0, ('heartbeat_s', 'Min: 0.0, Max: 3600.0', '-1.0')),
        ('heartbeat_s', 'soon', ('heartbeat_s', 'expected float', "'soon'")),
        ('publish', 'never', ('publish', "'on_change'", "'never'")),
        ('diagnostics_period_s', 0.0, ('diagnostics_period_s', 'Min: 0.1')),
        ('tick_period_s', 0.2, ('tick_period_s', 'while the node is active')),
        ('signals.temperature.topic', 'x', ('signals.temperature.topic', 'is active')),
        ('robot_id', 'other', ('robot_id', 'is active')),
        ('signal_names', ['motor'], ('read',)),
        ('autostart', False, ('read',)),
        ('thresholds.hazard.on', 2.0, ('thresholds.hazard.on', 'Max: 1.0', '2.0')),
        ('thresholds.hazard.off', 0.9, ('hazard', 'off <= on')),
        ('no_such_parameter', 1, ('undeclared',)),
    ):
        before = None if name == 'no_such_parameter' else robot.parameter(name)
        answer = robot.set_parameter(name, value)
        assert not answer.successful, name
        assert all(word in answer.reason for word in words), (name, answer.reason)
        if before is not None:
            assert robot.parameter(name) == before
    assert robot.set_parameter('heartbeat_s', 2).successful  # a whole number is a number
    assert robot.parameter('heartbeat_s') == 2

    assert robot.change_state(Transition.TRANSITION_DEACTIVATE)
    assert robot.set_parameter('tick_period_s', 2 * TICK_S).successful
    assert robot.change_state(Transition.TRANSITION_ACTIVATE)
    robot.wait_for(
        lambda: robot.situations and robot.situations[-1].period == 2 * TICK_S, 'slower ticks'
    )
    first, second = robot.next_activations(2)[-2:]
    assert stamp_ns(second) - stamp_ns(first) == 200_000_000
    assert 'Traceback' not in robot.output


def test_thresholds_set_while_active_show_at_once(start_robot, observer):
    robot = start_robot()
    sender = robot.sensor(Temperature, 'temperature')
    # 60 of 100: the tiny policy says 0.119 for hazard
    observer.repeat(0.05, lambda: sender.publish(temperature(60.0)))
    robot.wait_for_state('temperature', 0)
    hazard = robot.next_activations()[-1].activations[0]
    assert (hazard.id, hazard.active, hazard.threshold) == ('hazard', False, 0.5)
    assert hazard.probability == pytest.approx(0.1192, abs=1e-4)

    assert robot.set_parameter('thresholds.hazard.off', 0.05).successful
    assert robot.set_parameter('thresholds.hazard.on', 0.1).successful
    robot.wait_for(lambda: robot.activations[-1].activations[0].active, 'hazard to be active')
    assert robot.activations[-1].activations[0].threshold == pytest.approx(0.1)
    assert robot.taxonomies[-1].threshold[0] == pytest.approx(0.1)

    assert robot.set_parameter('novelty_threshold', 4.0).successful
    robot.wait_for(lambda: robot.activations[-1].novelty_threshold == 4.0, 'the other novelty')


def test_thresholds_of_the_parameter_file_are_in_force_and_outlive_a_reload(start_robot):
    robot = start_robot(thresholds={'hazard': {'on': 0.25}, 'hazzard': {'on': 0.2}})
    hazard = robot.next_activations()[-1].activations[0]
    assert hazard.threshold == 0.25
    assert robot.parameter('thresholds.hazard.off') == pytest.approx(0.1)  # keeps its distance
    assert "'thresholds.hazzard.on'" in robot.output
    assert "did you mean 'thresholds.hazard.on'?" in robot.output
    assert robot.reload().success
    assert robot.next_activations()[-1].activations[0].threshold == 0.25


def test_unknown_parameters_are_said_with_the_closest_known_one(start_robot):
    robot = start_robot(heartbeat=3.0)
    assert "unknown parameter 'heartbeat' is ignored; did you mean 'heartbeat_s'?" in robot.output


def test_publishes_on_change_and_with_a_heartbeat(start_robot, observer):
    robot = start_robot(publish='on_change', heartbeat_s=1.0)
    sender = robot.sensor(Temperature, 'temperature')
    value = 20.0
    observer.repeat(0.05, lambda: sender.publish(temperature(value)))
    robot.wait_for_state('temperature', 0)
    robot.next_activations(2)  # heartbeats only: nothing changes
    value = 95.0
    (changed,) = robot.next_activations(1)
    value = 20.0
    (back,) = robot.next_activations(1)
    assert [a.activations[0].active for a in (changed, back)] == [True, False]
    for before, after in itertools.pairwise(robot.activations):
        same = [a.active for a in before.activations] == [a.active for a in after.activations]
        waited = stamp_ns(after) - stamp_ns(before)
        assert waited >= 1_000_000_000 if same else waited <= 1_100_000_000
    # the situation comes at every tick all the same
    assert len(robot.situations) > 2 * len(robot.activations)
    assert robot.set_parameter('publish', 'every_tick').successful
    ticks = [a.tick for a in robot.next_activations(4)]
    assert ticks[-3:] == list(range(ticks[-3], ticks[-3] + 3))
