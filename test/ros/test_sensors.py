# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What comes in, what is lost, and what is said when nothing usable comes."""

from __future__ import annotations

import math

import pytest
from observer import BEST_EFFORT, RELIABLE
from rclpy.qos import DurabilityPolicy, QoSProfile
from robot import TICK_S, signal, temperature
from sensor_msgs.msg import Imu, Temperature
from std_msgs.msg import Float32

from thinking_policy.msg import SignalStatus, ThinkingActivations

OK, WARN, ERROR = 0, 1, 2


@pytest.mark.parametrize('profile', [BEST_EFFORT, RELIABLE], ids=['best effort', 'reliable'])
def test_hears_every_message_of_a_publisher(start_robot, observer, profile):
    robot = start_robot()
    sender = robot.sensor(Temperature, 'temperature', profile)
    for value in range(50):
        sender.publish(temperature(20.0 + value % 10))
    robot.wait_for(
        lambda: robot.diagnosis('signal temperature')[2].get('used') == '50', '50 messages used'
    )
    values = robot.diagnosis('signal temperature')[2]
    assert (values['received'], values['lost'], values['invalid']) == ('50', '0', '0')
    assert values['publishers'] == '1'


def test_what_is_no_number_is_counted_and_never_comes_out(start_robot, observer):
    robot = start_robot({'temperature': signal(sentinels=[-1.0], valid_high=200.0, stale_s=60.0)})
    sender = robot.sensor(Temperature, 'temperature')
    for bad in (math.nan, math.inf, -math.inf, -1.0, 200.1):
        sender.publish(temperature(bad))
    robot.wait_for_state('temperature', SignalStatus.INVALID)
    robot.wait_for(
        lambda: robot.diagnosis('signal temperature')[2].get('invalid') == '5', '5 invalid'
    )
    level, message, values = robot.diagnosis('signal temperature')
    assert (level, values['state'], values['used']) == (WARN, 'invalid', '5')
    assert 'NaN' in message
    sender.publish(temperature(50.0))
    robot.wait_for_state('temperature', SignalStatus.OK)
    robot.wait_for(lambda: any(s.valid[-1] for s in robot.situations), 'a valid sample')
    for heard in robot.activations:
        numbers = [a.probability for a in heard.activations]
        numbers += [heard.novelty, heard.valid_fraction, heard.inference_time]
        assert all(math.isfinite(number) for number in numbers)
        (status,) = heard.signals
        assert math.isnan(status.value) == (status.state != SignalStatus.OK)
    for heard in robot.situations:
        assert all(math.isfinite(value) for value in heard.window)
    assert robot.situations[-1].window[-1] == pytest.approx(0.5)


def test_a_signal_is_stale_once_its_publisher_is_gone(start_robot, observer):
    robot = start_robot()
    assert robot.next_activations()[0].signals[0].state == SignalStatus.NEVER
    sender = robot.sensor(Temperature, 'temperature')
    sender.publish(temperature(30.0))
    robot.wait_for_state('temperature', SignalStatus.OK)
    observer.node.destroy_publisher(sender)
    robot.wait_for_state('temperature', SignalStatus.STALE)
    ages = [a.signals[0].age for a in robot.activations if a.signals[0].state == SignalStatus.OK]
    assert max(ages) < 0.5 <= robot.activations[-1].signals[0].age
    robot.wait_for(lambda: robot.diagnosis('signal temperature')[0] == WARN, 'a warning')
    robot.wait_for(lambda: 'any more' in robot.diagnosis('signal temperature')[1], 'the reason')


def test_a_missing_publisher_is_said_with_what_there_is_instead(start_robot, observer, namespace):
    other = observer.speak(Temperature, f'{namespace}/temp')
    robot = start_robot()
    robot.wait_for(lambda: robot.diagnosis('signal temperature')[0] == WARN, 'a warning')
    said = (
        f'no publisher on {namespace}/temperature (sensor_msgs/msg/Temperature); '
        f'sensor_msgs/msg/Temperature is published on {other.topic_name}'
    )
    robot.wait_for(lambda: robot.diagnosis('signal temperature')[1] == said, said)
    robot.wait_for(lambda: said in robot.output, 'the same in the log')
    # it is remapped, and all is well again
    sender = observer.speak(Temperature, robot.topic('temperature'))
    observer.repeat(0.05, lambda: sender.publish(temperature(30.0)))
    robot.wait_for(lambda: robot.diagnosis('signal temperature')[1] == '30', 'the value')
    assert robot.diagnosis('signal temperature')[0] == OK


def test_another_type_on_the_topic_is_an_error_that_names_it(start_robot, observer, namespace):
    other = observer.speak(Float32, f'{namespace}/temperature')
    robot = start_robot()
    robot.wait_for(lambda: robot.diagnosis('signal temperature')[0] == ERROR, 'an error')
    assert 'it is published as std_msgs/msg/Float32' in robot.diagnosis('signal temperature')[1]
    assert other


def test_incompatible_quality_of_service_is_said_on_both_sides(start_robot, observer):
    robot = start_robot(qos_reliability='reliable')
    sender = observer.speak(Temperature, robot.topic('temperature'), BEST_EFFORT)
    robot.wait_for(lambda: robot.diagnosis('signal temperature')[0] == ERROR, 'an error')
    message = robot.diagnosis('signal temperature')[1]
    assert f'qos_overrides.{sender.topic_name}.subscription.reliability' in message
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    observer.hear(ThinkingActivations, robot.topic('thinking/activations'), latched)
    robot.wait_for(lambda: 'ask for another durability' in robot.output, 'a line in the log')


def test_a_type_that_is_not_installed_is_said_and_the_others_are_heard(start_robot, observer):
    robot = start_robot(
        {
            'temperature': signal(),
            'charge': signal('charge', type='no_such_msgs/msg/Charge'),
        }
    )
    sender = observer.speak(Temperature, robot.topic('temperature'))
    observer.repeat(0.05, lambda: sender.publish(temperature(30.0)))
    robot.wait_for_state('temperature', SignalStatus.OK)
    assert robot.signal_states()['charge'] == SignalStatus.NEVER
    robot.wait_for(lambda: robot.diagnosis('signal charge')[0] == ERROR, 'an error')
    assert 'ros-$ROS_DISTRO-no-such-msgs' in robot.diagnosis('signal charge')[1]


def test_a_field_that_is_not_in_the_type_is_refused_with_those_that_are(start_robot):
    robot = start_robot({'temperature': signal(field='temprature')}, active=False)
    robot.wait_for(lambda: 'not activated' in robot.output, 'the reason')
    line = next(line for line in robot.output.splitlines() if 'not activated' in line)
    assert 'temprature' in line
    assert 'variance' in line
    assert robot.state() == 'inactive'
    assert 'Traceback' not in robot.output


def test_a_fast_sensor_loses_nothing(start_robot, observer):
    robot = start_robot(
        {
            'vibration': signal(
                'imu',
                type='sensor_msgs/msg/Imu',
                field='linear_acceleration',
                within_message='norm',
                over_time='count',
            )
        },
        tick_period_s=0.5,
        qos_rate_hz=200.0,
    )
    sender = robot.sensor(Imu, 'imu', BEST_EFFORT)
    message, sent = Imu(), 0

    def send():
        nonlocal sent
        sender.publish(message)
        sent += 1

    timer = observer.repeat(0.005, send)
    robot.wait_for(lambda: sent >= 500, '500 messages sent')
    timer.cancel()
    robot.wait_for(
        lambda: robot.diagnosis('signal vibration')[2].get('used') == str(sent),
        f'{sent} messages used',
    )
    values = robot.diagnosis('signal vibration')[2]
    assert (values['received'], values['lost'], values['dropped']) == (str(sent), '0', '0')
    # several a tick: the counts of all ticks are the messages sent
    assert sum(a.signals[0].value for a in robot.activations if a.signals[0].state == 0) == sent


def test_a_queue_grows_before_it_overflows_and_nothing_is_taken_twice(start_robot, observer):
    robot = start_robot(qos_rate_hz=1.0)  # the first queue: the smallest
    sender = robot.sensor(Temperature, 'temperature')
    sent = 0
    for burst in (20, 25, 60, 100, 100):
        for _ in range(burst):
            sender.publish(temperature(30.0))
        sent += burst
        robot.wait_for(
            lambda: robot.diagnosis('signal temperature')[2].get('received') == str(sent),  # noqa: B023
            f'{sent} messages',
        )
        robot.next_activations(4)  # in which the longer queue takes over
    values = robot.diagnosis('signal temperature')[2]
    assert (values['received'], values['lost']) == (str(sent), '0')
    assert int(values['queue']) > 100
    assert 'queue grown' in robot.output


def test_lost_messages_are_counted_and_said(start_robot, observer):
    robot = start_robot(qos_depth=5, tick_period_s=5 * TICK_S)
    sender = robot.sensor(Temperature, 'temperature')
    sender.publish(temperature(30.0))
    robot.wait_for(
        lambda: robot.diagnosis('signal temperature')[2].get('received') == '1', 'a message'
    )
    for _ in range(100):
        sender.publish(temperature(30.0))

    def counted():
        values = robot.diagnosis('signal temperature')[2]
        return int(values['received']) + int(values['lost']) == 101

    robot.wait_for(counted, 'every message to be received or lost')
    assert int(robot.diagnosis('signal temperature')[2]['lost']) > 0
    robot.wait_for(
        lambda: f'messages lost on {sender.topic_name}' in robot.output, 'a line in the log'
    )


def test_depth_and_reliability_of_one_topic_can_be_overridden(start_robot, observer, namespace):
    topic = f'{namespace}/temperature'
    policies = {'reliability': 'reliable', 'depth': 77}
    robot = start_robot(qos_overrides={topic: {'subscription': policies}})
    (info,) = robot.wait_for(
        lambda: observer.node.get_subscriptions_info_by_topic(topic), 'the subscription'
    )
    assert info.qos_profile.reliability.name == 'RELIABLE'
    robot.wait_for(
        lambda: robot.diagnosis('signal temperature')[2].get('queue') == '77', 'the depth'
    )
