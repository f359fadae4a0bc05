# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Message types by name, and messages into this package's own types."""

from __future__ import annotations

import pytest
from sensor_msgs.msg import Imu

from thinking_policy.msg import Situation as SituationMessage
from thinking_policy.ros.conversions import (
    message_class,
    message_type_of,
    situation_from_message,
    time_message,
)
from thinking_policy.situation import SituationError


@pytest.mark.parametrize('name', ['sensor_msgs/msg/Imu', 'sensor_msgs/Imu'])
def test_a_class_is_found_by_both_ways_to_write_a_type(name):
    assert message_class(name) is Imu


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('no_such_msgs/msg/Thing', ['no_such_msgs', 'apt install ros-$ROS_DISTRO-no-such-msgs']),
        ('sensor_msgs/msg/Imo', ['sensor_msgs', 'no message Imo']),
        ('Imu', ['package/msg/Name']),
        ('../etc/msg/Imu', ['package/msg/Name']),
    ],
)
def test_a_type_that_is_not_there_is_said_with_what_to_do(name, words):
    with pytest.raises(SituationError) as error:
        message_class(name)
    for word in (name, *words):
        assert word in str(error.value)


def test_a_type_is_described_with_what_is_nested_in_it():
    imu = message_type_of('sensor_msgs/Imu')
    assert imu.name == 'sensor_msgs/msg/Imu'
    acceleration = imu.field('linear_acceleration').type
    assert [field.name for field in acceleration.fields] == ['x', 'y', 'z']
    assert imu.field('linear_acceleration_covariance').type.length == 9


def test_a_time_keeps_its_nanoseconds():
    time = time_message(1_796_059_985_335_399_681)
    assert (time.sec, time.nanosec) == (1_796_059_985, 335_399_681)


def test_a_situation_message_whose_arrays_do_not_fit_is_refused():
    message = SituationMessage(length=2, signals=['a', 'b'], window=[0.0] * 3, valid=[1] * 4)
    with pytest.raises(SituationError, match='expected 4 values for 2 x 2, found 3 and 4'):
        situation_from_message(message)
