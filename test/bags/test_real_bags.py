# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Bags that robots and ROS itself recorded: what must be read of each, or which error."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import Reader as RosbagsReader

from thinking_policy.bags import BagError, open_bag, situations_of
from thinking_policy.bags.csv_map import load_csv_map
from thinking_policy.bags.from_csv import bag_from_csv
from thinking_policy.bags.proposal_file import write_proposal
from thinking_policy.bags.propose import propose
from thinking_policy.situation import (
    EventConfig,
    SignalConfig,
    SignalState,
    SituationConfig,
    load_configuration,
)

SECOND = 1_000_000_000
RESOURCES = 'bags/ros2_rosbag2'
REINDEX = f'{RESOURCES}/rosbag2_tests/resources/reindex_test_bags'
TRANSPORT = f'{RESOURCES}/rosbag2_transport/test/resources'
PYTHON = f'{RESOURCES}/rosbag2_py/test/resources'
CPP = f'{RESOURCES}/rosbag2_cpp/test/rosbag2_cpp/bags'
WALK = 'bags/tb3_walking_bag/results/walking_bag'
STINGER = 'bags/stinger/test_bag'
INORBIT = 'bags/inorbit_temperature/inorbit_republisher/test/sample_data/hardcodedRosbag'
INORBIT_ROS1 = (
    'bags/inorbit_temperature_ros1/inorbit_republisher/test/sample_data/fake_sensors_sample.bag'
)
RAZOR = 'bags/imu_tools_ros1/sparkfun_razor.bag'
PERFORMANCE = (
    f'{RESOURCES}/rosbag2_performance/rosbag2_performance_benchmarking/'
    'rosbag2_performance_test_results/test_mixed_110Mbs_no_transport_2022-08-19_00-17-33/'
    'run_0_10000000_default_compression_1_0_default_config_0'
)
WITHOUT = {'no metadata.yaml, read without it': 1}

# Path → messages per topic that has any, topics of unknown type, what is noticed.
READABLE = {
    WALK: (
        {
            '/clock': 199, '/cmd_vel': 99, '/imu': 3963, '/joint_states': 580, '/odom': 582,
            '/parameter_events': 51, '/performance_metrics': 101, '/robot_description': 1,
            '/rosout': 37, '/scan': 99, '/tf': 966, '/tf_static': 1,
        },
        {'/performance_metrics'}, {},
    ),
    STINGER: ({'/imu/data': 104}, set(), {}),
    INORBIT: ({'/my_temperature': 17, '/my_magnetic_field': 17}, set(), {}),
    INORBIT_ROS1: ({'/my_temperature': 10, '/my_magnetic_field': 10}, set(), {}),
    RAZOR: ({'/imu/data_raw': 2144, '/imu/mag': 2144}, set(), {}),
    f'{RESOURCES}/ros2bag/test/resources/empty_bag': ({}, set(), {}),
    f'{RESOURCES}/ros2bag/test/resources/reindexing/reindex_test': (
        {'/rosout': 305, '/topic': 143}, set(), WITHOUT),
    # Its metadata.yaml names files that are not there, the folder below it holds the one bag.
    f'{RESOURCES}/ros2bag/test/resources/reindexing': (
        {'/rosout': 305, '/topic': 143}, set(), WITHOUT),
    f'{CPP}/only_services.mcap': (
        {'/add_two_ints/_service_event': 12}, {'/add_two_ints/_service_event'}, {}),
    f'{CPP}/only_topics.mcap': ({'/parameter_events': 7}, set(), {}),
    f'{CPP}/topics_and_services.db3': (
        {'/parameter_events': 7, '/add_two_ints/_service_event': 6},
        {'/add_two_ints/_service_event', '/add_two_ints2/_service_event'}, {}),
    f'{CPP}/topics_and_services.mcap': (
        {'/parameter_events': 7, '/add_two_ints/_service_event': 6},
        {'/add_two_ints/_service_event', '/add_two_ints2/_service_event'}, {}),
    f'{PYTHON}/mcap/convert_b': ({'a_empty': 25, 'c_strings': 50}, set(), {}),
    f'{PYTHON}/sqlite3/convert_b': (
        {'a_empty': 25, 'c_strings': 50}, {'a_empty', 'c_strings'}, {}),
    f'{PYTHON}/mcap/reindex_test_bags/multiple_files': ({'/chatter': 3177}, set(), WITHOUT),
    f'{PYTHON}/sqlite3/reindex_test_bags/multiple_files': ({'/chatter': 3177}, set(), WITHOUT),
    f'{RESOURCES}/rosbag2_tests/resources/compressed_bag': ({}, set(), {}),
    f'{RESOURCES}/rosbag2_tests/resources/mcap/cdr_test': (
        {'/array_topic': 4, '/test_topic': 3}, set(), {}),
    f'{RESOURCES}/rosbag2_tests/resources/sqlite3/cdr_test': (
        {'/array_topic': 4, '/test_topic': 3}, set(), {}),
    f'{REINDEX}/file_compression': ({'/topic': 383, '/rosout': 392}, set(), WITHOUT),
    f'{REINDEX}/multiple_files': ({'/topic': 52}, set(), WITHOUT),
    f'{TRANSPORT}/mcap/rewriter_a': ({'a_empty': 100, 'b_basictypes': 50}, set(), {}),
    f'{TRANSPORT}/mcap/rewriter_b': ({'a_empty': 25, 'c_strings': 50}, set(), {}),
    f'{TRANSPORT}/mcap/test_bag_for_seek': ({'topic1': 5}, set(), {}),
    f'{TRANSPORT}/sqlite3/rewriter_a': (
        {'a_empty': 100, 'b_basictypes': 50}, {'a_empty', 'b_basictypes'}, {}),
    f'{TRANSPORT}/sqlite3/rewriter_b': (
        {'a_empty': 25, 'c_strings': 50}, {'a_empty', 'c_strings'}, {}),
    f'{TRANSPORT}/sqlite3/test_bag_for_seek': ({'topic1': 5}, {'topic1'}, {}),
}  # fmt: skip

# Path → situations that the proposed configuration makes, and which topic feeds which signal.
REPLAYED = {
    WALK: (40, {
        'vibration': '/imu', 'distance': '/scan', 'visibility': '/scan', 'motion': '/odom'}),
    STINGER: (22, {'vibration': '/imu/data', 'motion': '/imu/data'}),
    INORBIT: (17, {'temperature': '/my_temperature'}),
    INORBIT_ROS1: (10, {'temperature': '/my_temperature'}),
    RAZOR: (63, {'vibration': '/imu/data_raw', 'motion': '/imu/data_raw'}),
    # Numbers without a meaning; they run all the same.
    f'{RESOURCES}/rosbag2_tests/resources/mcap/cdr_test': (1, {'load': '/array_topic'}),
    f'{RESOURCES}/rosbag2_tests/resources/sqlite3/cdr_test': (1, {'load': '/array_topic'}),
    f'{TRANSPORT}/mcap/rewriter_a': (1, {'load': 'b_basictypes'}),
    f'{TRANSPORT}/mcap/test_bag_for_seek': (2, {'load': 'topic1'}),
}  # fmt: skip

# Bags of which rosbags 0.11 yields nothing, although it opens them.
SILENT = (
    f'{PYTHON}/sqlite3/convert_b',
    f'{TRANSPORT}/mcap/rewriter_a',
    f'{TRANSPORT}/sqlite3/rewriter_a',
    f'{TRANSPORT}/sqlite3/rewriter_b',
)

UNREADABLE = {
    f'{RESOURCES}/rosbag2_tests/resources/empty_dir': 'not a bag: .* found .gitkeep',
    f'{REINDEX}/target_metadata/file_compression': 'none of them is in the folder; copy the',
    f'{REINDEX}/target_metadata/multiple_files': (
        'names multiple_files_0.db3, .*, none of them is in the folder'
    ),
    CPP: 'holds 4 bags: only_services.mcap, only_topics.mcap, .*; name one of them',
}


@pytest.mark.parametrize('path', READABLE, ids=lambda p: '/'.join(p.rsplit('/', 3)[-2:]))
def test_a_real_bag_gives_all_its_messages(path, real_data):
    counts, unknown, noticed = READABLE[path]
    with open_bag(real_data / path) as bag:
        read = Counter()
        last = 0
        for topic, stamp, raw in bag.messages():
            assert stamp >= last
            assert raw[:1] == b'\0'
            read[topic] += 1
            last = stamp
        assert dict(read) == counts
        assert {t.name: t.count for t in bag.topics if t.count} == counts
        assert {t.name for t in bag.topics if t.message_type is None} == unknown
        assert dict(bag.problems) == noticed


def test_what_rosbags_leaves_out_is_read_as_metadata_promises(real_data):
    for path in SILENT:
        document = yaml.safe_load((real_data / path / 'metadata.yaml').read_text())
        promised = document['rosbag2_bagfile_information']['message_count']
        with RosbagsReader(real_data / path) as reader:
            assert sum(1 for _ in reader.messages()) < promised
        with open_bag(real_data / path) as bag:
            assert sum(1 for _ in bag.messages()) == promised == sum(READABLE[path][0].values())


@pytest.mark.parametrize('path', READABLE, ids=lambda p: '/'.join(p.rsplit('/', 3)[-2:]))
def test_a_proposal_runs_at_once_or_says_why_there_is_none(path, real_data, tmp_path):
    if path not in REPLAYED:
        with pytest.raises(BagError, match='no topic can feed a signal: '):
            propose([real_data / path])
        return
    count, topics = REPLAYED[path]
    found = propose([real_data / path])
    assert {name: made.signal.topic for name, made in found.chosen.items()} == topics
    write_proposal(tmp_path / 'robot.yaml', found, path)
    with open_bag(real_data / path) as bag:
        replay = situations_of(bag, load_configuration(tmp_path / 'robot.yaml'))
        situations = list(replay)
        assert dict(bag.problems) == READABLE[path][2]
    assert len(situations) == count
    for topic, used in replay.counters.topics.items():
        assert (topic, used.used) == (topic, READABLE[path][0][topic])
    last = {reading.name: reading.state for reading in situations[-1].readings}
    assert {name for name, state in last.items() if state == SignalState.OK} == set(topics)
    for column, name in enumerate(found.config.names):
        shown = np.stack([situation.window[-1, column] for situation in situations])
        assert name not in topics or 0.0 <= np.median(shown) <= 1.0


@pytest.mark.parametrize('path', UNREADABLE, ids=lambda p: p.rsplit('/', 1)[-1])
def test_a_folder_that_is_no_bag_says_why(path, real_data):
    with pytest.raises(BagError, match=UNREADABLE[path]):
        open_bag(real_data / path)


def test_434_topics_without_a_message_are_listed(real_data):
    with open_bag(real_data / PERFORMANCE) as bag:
        assert len(bag.topics) == 434
        assert bag.message_count == 0


def test_every_bag_that_is_handed_out_is_in_this_file(real_data):
    named = {real_data / path for path in (*READABLE, *UNREADABLE, PERFORMANCE)}
    storages = [
        path
        for path in (real_data / 'bags').rglob('*')
        if path.name.endswith(('.db3', '.mcap', '.bag', '.zstd'))
    ]
    assert len(storages) == 39
    assert [p for p in storages if p not in named and p.parent not in named] == []


def imu_config(topic, **options):
    signal = SignalConfig(
        name='vibration', topic=topic, type='sensor_msgs/msg/Imu', field='linear_acceleration',
        within_message='norm', over_time='std', nominal_high=2.0,
    )  # fmt: skip
    events = EventConfig(diagnostics_topic='')
    return SituationConfig(tick_period_s=0.5, signals=(signal,), events=events, **options)


@pytest.mark.parametrize('time_source', ['receive', 'header'])
def test_the_vibration_of_a_real_boat_is_what_numpy_says(time_source, real_data, messages):
    norms = {}
    with RosbagsReader(real_data / STINGER) as reader:
        for _, stamp, raw in reader.messages():
            imu = messages.store.deserialize_cdr(raw, 'sensor_msgs/msg/Imu')
            if time_source == 'header':
                stamp = imu.header.stamp.sec * SECOND + imu.header.stamp.nanosec
            a = imu.linear_acceleration
            tick = -(-stamp // (SECOND // 2))
            norms.setdefault(tick, []).append(np.sqrt(a.x**2 + a.y**2 + a.z**2))
    with open_bag(real_data / STINGER) as bag:
        replay = situations_of(bag, imu_config('imu/data', time_source=time_source))
        found = {s.tick: s.readings[0] for s in replay}
        assert len(found) == 22
        assert replay.counters.topics['imu/data'].used == 104
    assert set(norms) <= set(found)
    for tick, values in norms.items():
        assert found[tick].value == pytest.approx(np.std(values), abs=1e-12)


def test_a_simulated_turtlebot3_walks_by_its_recorded_clock(real_data, checkout):
    configuration = load_configuration(checkout / 'config/robots/turtlebot3.yaml')
    with open_bag(real_data / WALK) as bag:
        replay = situations_of(bag, configuration)
        found = list(replay)
    assert replay.clock == 'clock'
    assert [s.tick for s in found] == list(range(1, 41))
    assert len({s.episode for s in found}) == 1
    states = {r.name: r.state for r in found[-1].readings}
    assert {name for name, state in states.items() if state == SignalState.OK} == {
        'vibration', 'distance', 'visibility', 'motion',
    }  # fmt: skip
    assert {name for name, state in states.items() if state == SignalState.NEVER} == {
        'temperature', 'current', 'load',
    }  # fmt: skip
    used = {topic: counts.used for topic, counts in replay.counters.topics.items()}
    assert used == {'imu': 3963, 'scan': 99, 'odom': 582, '/diagnostics': 0}
    assert all(np.isfinite(s.window).all() for s in found)
    last = {r.name: r.value for r in found[-1].readings}
    assert 0.12 <= last['distance'] <= 3.5
    assert 0.0 <= last['visibility'] <= 1.0


@pytest.mark.parametrize(
    ('path', 'ticks', 'low', 'high'), [(INORBIT, 34, 20.2, 29.8), (INORBIT_ROS1, 39, 0.0, 100.0)]
)
def test_temperatures_without_header_time_count_by_their_receive_time(
    path, ticks, low, high, real_data
):
    signal = SignalConfig(
        name='t', topic='my_temperature', type='sensor_msgs/msg/Temperature', field='temperature',
        over_time='mean',
    )  # fmt: skip
    made = SituationConfig(time_source='header', signals=(signal,))
    with open_bag(real_data / path) as bag:
        replay = situations_of(bag, made)
        found = list(replay)
        count = bag.topic('/my_temperature').count
    assert len(found) == ticks
    counts = replay.counters.topics['my_temperature']
    assert counts.unstamped == counts.used == count
    values = [s.readings[0].value for s in found if s.readings[0].state == SignalState.OK]
    assert low - 0.05 <= min(values) <= max(values) <= high + 0.05


def test_a_real_ros1_imu_is_read_up_to_where_it_clips(real_data):
    signal = SignalConfig(
        name='a', topic='imu/data_raw', type='sensor_msgs/msg/Imu', field='linear_acceleration',
        within_message='max', over_time='max',
    )  # fmt: skip
    with open_bag(real_data / RAZOR) as bag:
        replay = situations_of(bag, SituationConfig(signals=(signal,)))
        values = [s.readings[0].value for s in replay]
    assert len(values) == 63
    assert replay.counters.topics['imu/data_raw'].used == 2144
    assert np.nanmax(values) == pytest.approx(19.64, abs=0.05)


@pytest.mark.parametrize(('name', 'rows', 'ticks'), [('valve1/0', 1147, 1200)])
def test_a_skab_table_becomes_a_bag_and_situations(
    name, rows, ticks, real_data, checkout, tmp_path
):
    table = real_data / f'series/SKAB/data/{name}.csv'
    csv_map = load_csv_map(checkout / 'config/csv/skab.yaml')
    report = bag_from_csv(table, csv_map, tmp_path / 'bag')
    assert (report.rows, report.messages.total(), dict(report.problems)) == (rows, 9 * rows, {})
    configuration = load_configuration(checkout / 'config/robots/skab.yaml')
    with open_bag(tmp_path / 'bag') as bag:
        found = list(situations_of(bag, configuration))
    assert len(found) == ticks
    first = {r.name: r.value for r in found[0].readings}
    assert first['temperature'] == pytest.approx(79.3366)
    assert first['current'] == pytest.approx(1.3302)
    assert first['vibration'] == pytest.approx(0.0265878 * 9.80665)
    assert first['motion'] == pytest.approx(32.0)
    assert first['load'] == pytest.approx(0.054711)
    healthy = np.stack([s.window[-1] for s in found[:400]])[:, [0, 1, 2, 5, 6]]
    assert 0.2 < healthy.mean() < 0.9  # the nominal ranges fit the healthy part
