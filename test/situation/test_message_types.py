# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib

import pytest

from thinking_policy.situation import SituationError, message_type_from_fields
from thinking_policy.situation.message_types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    TEXT,
    UINT8,
    UINT32,
    Array,
    Field,
    MessageType,
    Sequence,
    Text,
    full_name,
)

TYPES = {
    'a_msgs/msg/Time': {'sec': 'int32', 'nanosec': 'uint32'},
    'a_msgs/msg/Idl': {
        'stamp': 'a_msgs/Time',
        'on': 'boolean',
        'level': 'octet',
        'numbers': 'sequence<double>',
        'bounded': 'sequence<float, 3>',
        'matrix': 'double[9]',
        'texts': 'sequence<string<10>, 3>',
        'text': 'string<10>',
        'wide': 'wstring',
        'times': 'a_msgs/Time[2]',
    },
    'a_msgs/msg/Msg': {
        'stamp': 'a_msgs/msg/Time',
        'on': 'bool',
        'level': 'byte',
        'numbers': 'float64[]',
        'bounded': 'float32[<=3]',
        'matrix': 'float64[9]',
        'texts': 'string<=10[<=3]',
        'text': 'string<=10',
        'wide': 'wstring',
        'times': 'a_msgs/msg/Time[2]',
    },
}


@pytest.mark.parametrize('name', ['a_msgs/msg/Idl', 'a_msgs/Msg'])
def test_the_spellings_of_rclpy_and_of_msg_files_mean_the_same(name):
    time = MessageType('a_msgs/msg/Time', (Field('sec', INT32), Field('nanosec', UINT32)))
    found = message_type_from_fields(name, TYPES.__getitem__)
    assert found == MessageType(
        full_name(name),
        (
            Field('stamp', time),
            Field('on', BOOL),
            Field('level', UINT8),
            Field('numbers', Sequence(FLOAT64)),
            Field('bounded', Sequence(FLOAT32)),
            Field('matrix', Array(FLOAT64, 9)),
            Field('texts', Sequence(TEXT)),
            Field('text', TEXT),
            Field('wide', Text(wide=True)),
            Field('times', Array(time, 2)),
        ),
    )


@pytest.mark.parametrize(
    'name',
    [
        'sensor_msgs/msg/Imu',
        'sensor_msgs/msg/JointState',
        'sensor_msgs/msg/BatteryState',
        'sensor_msgs/msg/PointCloud2',
        'diagnostic_msgs/msg/DiagnosticArray',
        'nav_msgs/msg/Odometry',
        'std_msgs/msg/Float64MultiArray',
    ],
)
def test_rclpy_and_a_bag_describe_a_type_alike(name, messages):
    package, _, kind = name.split('/')
    module = pytest.importorskip(f'{package}.msg')

    def from_rclpy(wanted):
        package, _, kind = wanted.split('/')
        module = importlib.import_module(f'{package}.msg')
        return getattr(module, kind).get_fields_and_field_types()

    assert hasattr(module, kind)
    assert message_type_from_fields(name, from_rclpy) == messages.type(name)


@pytest.mark.parametrize(
    ('fields', 'complaint'),
    [
        ({'value': 'quaternionish'}, r"a/msg/T\.value: 'quaternionish' is not a type"),
        ({'value': 'long double'}, r"a/msg/T\.value: 'long double' is not a type"),
        ({'value': 'b_msgs/Unheard'}, r'the type b_msgs/msg/Unheard is not known'),
        ({'inner': 'a/T'}, r'a/msg/T contains itself'),
        ({'inner': 'sequence<a/T>'}, r'a/msg/T contains itself'),
    ],
)
def test_what_cannot_be_described_is_refused_with_the_field(fields, complaint):
    with pytest.raises(SituationError, match=complaint):
        message_type_from_fields('a/msg/T', {'a/msg/T': fields}.__getitem__)


def test_types_that_grow_without_bound_are_refused():
    doubling = {f'a/msg/T{i}': {'x': f'a/T{i + 1}[]', 'y': f'a/T{i + 1}'} for i in range(30)}
    doubling['a/msg/T30'] = {'x': 'bool'}
    with pytest.raises(SituationError, match=r'a/msg/T\d+ has more than 20000 members'):
        message_type_from_fields('a/msg/T0', doubling.__getitem__)
    chain = {f'a/msg/T{i}': {'x': f'a/T{i + 1}'} for i in range(3000)}
    with pytest.raises(SituationError, match='structs are nested deeper than 40'):
        message_type_from_fields('a/msg/T0', chain.__getitem__)


@pytest.mark.parametrize('name', ['Imu', '', 'sensor_msgs/', 'a/b/c', 'sensor_msgs/msg/Imu/x'])
def test_what_is_no_type_name_is_refused(name):
    with pytest.raises(SituationError, match='expected a message type such as'):
        full_name(name)
