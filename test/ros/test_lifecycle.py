# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The node's lifecycle, through the services that a lifecycle manager calls."""

from __future__ import annotations

from lifecycle_msgs.msg import Transition
from policy_files import write_policy
from robot import TICK_S, temperature
from sensor_msgs.msg import Temperature


def test_starts_by_itself_and_thinks(start_robot):
    robot = start_robot()
    robot.next_activations()
    assert robot.state() == 'active'


def test_goes_through_all_states_and_hears_only_while_active(start_robot, observer):
    robot = start_robot(autostart=False, active=False)
    topic = robot.topic('temperature')
    publisher = observer.speak(Temperature, topic)
    observer.repeat(0.05, lambda: publisher.publish(temperature(20.0)))

    def subscribers():
        return observer.node.count_subscribers(topic)

    assert robot.state() == 'unconfigured'
    assert robot.change_state(Transition.TRANSITION_CONFIGURE)
    assert robot.state() == 'inactive'
    observer.listen(3 * TICK_S)
    assert (subscribers(), robot.activations, robot.taxonomies) == (0, [], [])

    assert robot.change_state(Transition.TRANSITION_ACTIVATE)
    robot.wait_for_state('temperature', 0)
    assert subscribers() == 1

    assert robot.change_state(Transition.TRANSITION_DEACTIVATE)
    robot.wait_for(lambda: not subscribers(), 'the end of the subscription')
    before = len(robot.activations)
    observer.listen(3 * TICK_S)
    assert len(robot.activations) == before
    assert robot.state() == 'inactive'

    assert robot.change_state(Transition.TRANSITION_ACTIVATE)
    # the first ticks of a new activation have heard nothing: the window is empty again
    assert robot.next_activations()[0].valid_fraction < 1.0
    robot.wait_for_state('temperature', 0)

    assert robot.change_state(Transition.TRANSITION_DEACTIVATE)
    assert robot.change_state(Transition.TRANSITION_CLEANUP)
    assert robot.state() == 'unconfigured'
    robot.wait_for(
        lambda: not observer.node.count_publishers(robot.topic('thinking/activations')),
        'the end of the publishers',
    )
    assert robot.change_state(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)
    assert robot.process.end()[0] == 0
    assert 'Traceback' not in robot.output


def test_shuts_down_from_active(start_robot):
    robot = start_robot()
    assert robot.change_state(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert robot.state() == 'finalized'
    assert robot.process.end()[0] == 0
    assert 'Traceback' not in robot.output


def test_refuses_an_invalid_transition_and_lives(start_robot):
    robot = start_robot()
    assert not robot.change_state(Transition.TRANSITION_CONFIGURE)
    assert not robot.change_state(99)
    assert robot.state() == 'active'
    robot.next_activations()
    assert 'Traceback' not in robot.output


def test_waits_for_a_policy_that_is_missing_at_first(start_robot, tmp_path):
    path = tmp_path / 'late.onnx'
    robot = start_robot(policy_path=str(path), active=False)
    robot.wait_for(lambda: str(path) in robot.output, 'the reason in the log')
    assert 'not configured' in robot.output
    assert robot.state() == 'unconfigured'
    assert not robot.reload().success

    other = write_policy(tmp_path / 'found.onnx', signals=('temperature',), length=3)
    assert robot.set_parameter('policy_path', str(other)).successful
    assert robot.change_state(Transition.TRANSITION_CONFIGURE)
    assert robot.change_state(Transition.TRANSITION_ACTIVATE)
    robot.next_activations()
    assert 'Traceback' not in robot.output
