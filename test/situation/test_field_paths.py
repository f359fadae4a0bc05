# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from thinking_policy.situation import SituationError
from thinking_policy.situation.field_paths import (
    PathStep,
    numeric_paths,
    parse_path,
    resolve_path,
    sibling,
)
from thinking_policy.situation.message_types import FLOAT32, FLOAT64, Sequence


@pytest.mark.parametrize(
    ('text', 'steps'),
    [
        ('temperature', [('temperature', None)]),
        ('pose.pose.position', [('pose', None), ('pose', None), ('position', None)]),
        ('temperatures[2]', [('temperatures', 2)]),
        ('effort[shoulder_pan_joint]', [('effort', 'shoulder_pan_joint')]),
        ('effort[arm/joint.1 left]', [('effort', 'arm/joint.1 left')]),
        ("effort['2'].x", [('effort', '2'), ('x', None)]),
        ('effort["2"]', [('effort', '2')]),
        ('status[0].temperature', [('status', 0), ('temperature', None)]),
    ],
)
def test_paths_are_split_into_steps(text, steps):
    assert parse_path(text) == tuple(PathStep(*step) for step in steps)


@pytest.mark.parametrize(
    'text',
    ['', '.', 'a.', '.a', 'a..b', 'a[', 'a[]', 'a]', 'a[1]b', 'a[1][2]', '2a', 'a b', 'a[b'],
)
def test_what_is_no_path_is_refused(text):
    with pytest.raises(SituationError, match='expected a path such as'):
        parse_path(text)


def test_a_path_ends_in_numbers(messages):
    assert resolve_path(messages.type('sensor_msgs/msg/Temperature'), 'temperature') == FLOAT64
    assert resolve_path(messages.type('sensor_msgs/msg/LaserScan'), 'ranges') == Sequence(FLOAT32)
    imu = messages.type('sensor_msgs/msg/Imu')
    assert resolve_path(imu, 'linear_acceleration') == imu.field('linear_acceleration').type


@pytest.mark.parametrize(
    ('name', 'path', 'complaint'),
    [
        ('Temperature', 'temprature', r"there is no 'temprature' .* did you mean 'temperature'\?"),
        ('Temperature', 'temperature.x', r"there is no 'x' in float64"),
        ('Temperature', 'header.frame_id', r'text is no number'),
        ('Temperature', 'header', r'std_msgs/msg/Header is no number'),
        ('Temperature', 'temperature[0]', r"'temperature' is no array"),
        ('Imu', 'orientation_covariance[9]', r"'orientation_covariance' has only 9 entries"),
        ('LaserScan', 'ranges[front]', r"'ranges' has no names, only indices"),
        ('JointState', 'name[0]', r'text is no number'),
        ('PointCloud2', 'fields', r'an array of sensor_msgs/msg/PointField is no number'),
    ],
)
def test_a_path_that_does_not_exist_is_refused_with_those_that_do(messages, name, path, complaint):
    kind = messages.type(f'sensor_msgs/msg/{name}')
    with pytest.raises(SituationError, match=complaint) as caught:
        resolve_path(kind, path)
    assert f'There are: {", ".join(numeric_paths(kind))}' in str(caught.value)


def test_every_listed_path_exists(messages):
    for name in (
        'sensor_msgs/msg/JointState',
        'diagnostic_msgs/msg/DiagnosticArray',
        'nav_msgs/msg/Odometry',
        'sensor_msgs/msg/PointCloud2',
    ):
        kind = messages.type(name)
        for path in numeric_paths(kind):
            resolve_path(kind, path)
    assert 'status[0].level' in numeric_paths(messages.type('diagnostic_msgs/msg/DiagnosticArray'))


@pytest.mark.parametrize(
    ('path', 'beside'),
    [
        ('ranges', 'range_min'),
        ('scan.ranges', 'scan.range_min'),
        ('scans[2].ranges[3]', 'scans[2].range_min'),
        ('scans[front.left]', 'range_min'),
    ],
)
def test_a_sibling_is_in_the_same_struct(path, beside):
    assert sibling(path, 'range_min') == beside
