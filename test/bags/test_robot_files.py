# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped robot files read what these robots really publish, in the right units."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thinking_policy.bags.message_definitions import TypeCatalog
from thinking_policy.bags.storage import Definition
from thinking_policy.situation import SignalState, SituationTracker, load_configuration

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
SEVEN = ('temperature', 'current', 'vibration', 'distance', 'visibility', 'motion', 'load')

# What the vendors' packages define, as far as the robot files use it.
VENDORS = {
    'irobot_create_msgs/msg/WheelStatus': (
        'std_msgs/Header header\nint16 current_ma_left\nint16 current_ma_right\n'
        'int16 pwm_left\nint16 pwm_right\nbool wheels_enabled'
    ),
    'clearpath_platform_msgs/msg/Power': (
        'std_msgs/Header header\nint8 shore_power_connected\nint8 battery_connected\n'
        'int8 power_12v_user_nominal\nint8 charging_complete\n'
        'float32[] measured_voltages\nfloat32[] measured_currents'
    ),
    'clearpath_platform_msgs/msg/Temperature': ('std_msgs/Header header\nfloat32[] temperatures'),
    'ur_msgs/msg/ToolDataMsg': (
        'int8 analog_input_range2\nint8 analog_input_range3\nfloat64 analog_input2\n'
        'float64 analog_input3\nuint8 tool_output_voltage\nfloat64 tool_current\n'
        'float64 tool_temperature\nuint8 tool_mode'
    ),
}


@pytest.fixture(scope='module')
def vendor_messages(messages):
    for name, text in VENDORS.items():
        if name not in messages.store.fielddefs:
            messages.define(name, text)
    return messages


@pytest.fixture(scope='module')
def catalog():
    return TypeCatalog(Definition(name, 'ros2msg', text) for name, text in VENDORS.items())


@pytest.fixture
def readings(checkout, catalog, vendor_messages):
    """Return a function: robot file, (topic, message) pairs of one tick → readings by name."""

    def read(robot, pairs):
        configuration = load_configuration(checkout / f'config/robots/{robot}.yaml', '/fleet/r1')
        tracker = SituationTracker(configuration)
        types = {request.topic: request.type for request in tracker.requests}
        for topic, kind in types.items():
            tracker.bind(topic, catalog.message_type(kind))
        for topic, values in pairs:
            raw = serialized(vendor_messages, types[topic], values)
            tracker.receive(topic, raw, START)
        (situation,) = tracker.advance(START)
        return {reading.name: reading for reading in situation.readings}

    return read


def serialized(messages, kind, values):
    message = filled(messages.store, kind, values)
    return bytes(messages.store.serialize_cdr(message, kind))


def filled(store, kind, values):
    """Return a message whose given fields are set and whose others are 0 or empty."""
    made = []
    for name, (node, what) in store.fielddefs[kind][1]:
        given = values.get(name)
        if node == 2:
            made.append(filled(store, what, given or {}))
        elif node == 1:
            made.append(given if given is not None else '' if what[0] == 'string' else 0)
        elif what[0][1][0] == 'string':
            made.append(list(given or []))
        else:
            made.append(np.array([0] * what[1] if given is None else given, dtype=what[0][1][0]))
    return store.types[kind](*made)


def robot_names():
    return ('turtlebot3', 'turtlebot4', 'husky_a200', 'jackal', 'universal_robots', 'skab')


@pytest.mark.parametrize('robot', robot_names())
def test_a_robot_file_has_the_seven_signals_and_only_fields_that_exist(robot, checkout, catalog):
    configuration = load_configuration(checkout / f'config/robots/{robot}.yaml', '/fleet/r1')
    assert configuration.names == SEVEN
    tracker = SituationTracker(configuration)
    assert len(tracker.requests) >= 3
    for request in tracker.requests:
        message_type = catalog.message_type(request.type)
        assert message_type is not None, request.type
        tracker.bind(request.topic, message_type)  # raises where a field does not exist


@pytest.mark.parametrize('robot', robot_names())
def test_limits_lie_outside_of_the_nominal_range(robot, checkout):
    for signal in load_configuration(checkout / f'config/robots/{robot}.yaml').signals:
        if signal.name in ('distance', 'visibility'):  # what is short of range there is low
            continue
        assert not signal.limit_high <= signal.nominal_high, signal.name
        assert not signal.limit_low >= signal.nominal_low, signal.name


def test_turtlebot3_takes_range_and_visibility_from_a_scan_with_infinite_beams(readings):
    scan = {'ranges': [math.inf, 1.0, math.nan, 2.0], 'range_min': 0.12, 'range_max': 3.5}
    found = readings(
        'turtlebot3',
        [
            ('scan', scan),
            ('odom', {'twist': {'twist': {'linear': {'x': -0.03, 'y': 0.04}}}}),
            ('imu', {'linear_acceleration': {'z': 9.8}}),
            ('imu', {'linear_acceleration': {'z': 9.4}}),
        ],
    )
    assert found['distance'].value == pytest.approx(1.0)
    assert found['visibility'].value == pytest.approx(0.5)
    assert found['motion'].value == pytest.approx(0.05)
    assert found['vibration'].value == pytest.approx(0.2)
    for name in ('temperature', 'current', 'load'):  # never set, or empty, on this robot
        assert found[name].state == SignalState.NEVER


def test_turtlebot4_turns_milliampere_into_ampere_and_takes_away_signs(readings):
    found = readings(
        'turtlebot4',
        [
            ('wheel_status', {'current_ma_left': -350, 'current_ma_right': 9000}),
            ('battery_state', {'current': -1.25, 'temperature': 28.5}),
        ],
    )
    assert found['load'].value == pytest.approx(0.35)
    assert found['current'].value == pytest.approx(1.25)
    assert found['temperature'].value == pytest.approx(28.5)


@pytest.mark.parametrize(
    ('robot', 'topic'),
    [
        ('turtlebot4', 'battery_state'),
        ('husky_a200', 'platform/bms/state'),
    ],
)
def test_a_temperature_that_was_never_set_is_not_zero_degrees(robot, topic, readings):
    for never in (0.0, math.nan):
        found = readings(robot, [(topic, {'temperature': never, 'current': -2.0})])
        assert found['temperature'].state == SignalState.INVALID
        assert found['current'].value == pytest.approx(2.0)


def test_husky_takes_the_hardest_working_driver_and_minus_one_for_not_applicable(readings):
    power = 'platform/mcu/status/power'
    found = readings('husky_a200', [(power, {'measured_currents': [2.0, 3.5, 7.25]})])
    assert found['load'].value == pytest.approx(7.25)
    found = readings('husky_a200', [(power, {'measured_currents': [-1.0, -1.0, -1.0]})])
    assert found['load'].state == SignalState.INVALID


def test_jackal_reads_its_own_indices(readings):
    found = readings(
        'jackal',
        [
            ('platform/mcu/status/power', {'measured_currents': [6.0, 1.5, 4.25, 0.25]}),
            ('platform/mcu/status/temperature', {'temperatures': [51.0, 38.5]}),
        ],
    )
    assert found['current'].value == pytest.approx(6.0)
    assert found['load'].value == pytest.approx(4.25)
    assert found['temperature'].value == pytest.approx(38.5)


def test_universal_robots_effort_is_ampere_and_found_by_the_joints_name(readings):
    joints = {
        'name': ['shoulder_pan_joint', 'elbow_joint', 'shoulder_lift_joint'],
        'effort': [0.5, -1.0, -2.5],
        'velocity': [0.3, 0.0, -0.4],
    }
    found = readings(
        'universal_robots',
        [
            ('joint_states', joints),
            ('io_and_status_controller/tool_data', {'tool_temperature': 34.5}),
            (
                'force_torque_sensor_broadcaster/wrench',
                {'wrench': {'force': {'x': 3.0, 'y': 4.0}}},
            ),
            ('force_torque_sensor_broadcaster/wrench', {'wrench': {'force': {'z': 9.0}}}),
        ],
    )
    assert found['current'].value == pytest.approx(math.sqrt((0.25 + 1.0 + 6.25) / 3))
    assert found['load'].value == pytest.approx(2.5)
    assert found['motion'].value == pytest.approx(math.sqrt(0.25 / 3))
    assert found['temperature'].value == pytest.approx(34.5)
    assert found['vibration'].value == pytest.approx(2.0)  # std of 5 N and 9 N
