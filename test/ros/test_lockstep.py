# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The live node's tensors and answers to a bag, in lockstep, are the file's, bit for bit."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from policy_files import write_policy
from recordings import clock, write_bag
from robot import TICK_S, signal, stamp_ns, temperature
from sensor_msgs.msg import Imu
from std_msgs.msg import String

from thinking_policy.bags import open_bag, situations_of
from thinking_policy.cli.replaying import asking, replayed_bag
from thinking_policy.ros.conversions import situation_from_message, time_message
from thinking_policy.ros.wire_messages import situation_bytes
from thinking_policy.shipped import config_folder
from thinking_policy.situation import load_configuration

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND + 123_456_789
SIGNALS = {
    'temperature': signal(limit_high=70.0, limit_hysteresis=5.0, over_time='last'),
    'vibration': signal(
        'imu',
        type='sensor_msgs/msg/Imu',
        field='linear_acceleration',
        within_message='norm',
        over_time='std',
        nominal_high=4.0,
    ),
    'slow': signal(over_time='mean', period_ticks=3),
}
EVENTS = {'topics': ['mission/events'], 'recent': 4}


def recorded(random, namespace, seconds=5.0):
    """Yield what a robot might send: ties, NaN, late and unstamped messages, events."""
    for at in np.arange(0.0, seconds, 0.031):
        record = START + round(at * SECOND)
        stamp = record - int(random.integers(0, 80_000_000))
        stamp = random.choice([stamp, stamp, stamp, stamp - 400_000_000, 0])
        value = 60.0 + 25.0 * np.sin(at * 2.0) + random.normal()
        value = float(random.choice([value, value, value, value, np.nan]))
        yield f'{namespace}/temperature', temperature(value, int(stamp)), record
        if random.random() < 0.3:  # a tie in both times
            yield f'{namespace}/temperature', temperature(value + 5.0, int(stamp)), record
    for at in np.arange(0.0, seconds, 0.02):
        if not 2.0 < at < 3.0:  # silent so long that it gets stale
            record = START + round(at * SECOND)
            message = Imu()
            message.header.stamp = time_message(record - int(random.integers(0, 30_000_000)))
            message.linear_acceleration.z = 9.81 + float(random.normal())
            yield f'{namespace}/imu', message, record
    for at in np.arange(0.2, seconds, 0.37):
        record = START + round(at * SECOND)
        code = str(random.choice(['door_open', 'lift', 'goal_reached', '']))
        yield f'{namespace}/mission/events', String(data=code), record
        level = bytes([int(random.integers(0, 3))])
        array = DiagnosticArray(status=[DiagnosticStatus(name='motor left', level=level)])
        array.header.stamp = time_message(record)
        yield '/diagnostics', array, record


def smooth_clock(seconds=5.0):
    """Yield a recorded clock that runs beside the time of recording, at half the speed."""
    for at in np.arange(0.0, seconds, 0.013):
        yield '/clock', clock(START + round(at / 2 * SECOND)), START + round(at * SECOND)


def jumping_clock(seconds=5.0):
    """Yield a recorded clock that goes back, and later far ahead."""
    for at in np.arange(0.0, seconds, 0.05):
        jump = 0 if at < 1.5 else -40 * SECOND if at < 3.2 else 5_000 * SECOND
        yield '/clock', clock(START + round(at * SECOND) + jump), START + round(at * SECOND)


CLOCKS = {'record time': lambda: (), 'clock': smooth_clock, 'jumping clock': jumping_clock}


@pytest.fixture
def live_and_offline(start_robot, start_node, tmp_path):
    """Return a function (bag, robot file, namespace) → robot that heard it, situations."""

    def play(bag, file, name):
        robot = start_robot(
            file=file,
            name=name,
            arguments=['-p', 'use_sim_time:=true', '-p', 'qos_reliability:=reliable'],
        )
        topic = robot.topic('thinking/situation')
        robot.wait_for(lambda: robot.observer.node.count_publishers(topic), topic)
        player = start_node(
            'bag_player',
            ['-r', f'__ns:={robot.namespace or "/"}', '-p', f'bag:={bag}', '-p', 'rate:=0.0'],
            tmp_path,
        )
        with open_bag(bag) as opened:
            config = load_configuration(file)
            offline = list(situations_of(opened, config, namespace=name.strip('/')))
        assert player.wait(60.0) == 0, player.output
        robot.wait_for(lambda: len(robot.situations) >= len(offline), 'the last situation')
        for process in (robot.process, player):
            assert 'Traceback' not in process.output
            assert 'not acknowledged' not in process.output
        return robot, offline

    return play


def assert_equal(live, offline):
    assert [s.tick for s in live] == [s.tick for s in offline]
    for heard, expected in zip(live, offline, strict=True):
        seen = situation_from_message(heard)
        where = f'tick {expected.tick}'
        assert seen.window.tobytes() == expected.window.tobytes(), where
        assert seen.valid.tobytes() == expected.valid.tobytes(), where
        assert (seen.stamp_ns, seen.episode, seen.period_s, seen.signals) == (
            expected.stamp_ns,
            expected.episode,
            expected.period_s,
            expected.signals,
        )
        assert [plain(e) for e in seen.events] == [plain(e) for e in expected.events], where
        assert [(plain(r.event), r.count) for r in seen.recalled] == [
            (plain(r.event), r.count) for r in expected.recalled
        ], where
        # and so are the bytes of the whole message
        assert situation_bytes(seen) == situation_bytes(expected)


def plain(event):
    return event.stamp_ns, event.kind, event.code, event.source, np.float32(event.value).tobytes()


@pytest.mark.parametrize('time_source', ['receive', 'header'])
@pytest.mark.parametrize('clock_name', CLOCKS)
def test_a_generated_bag(
    live_and_offline, params_file, namespace, tmp_path, time_source, clock_name
):
    random = np.random.default_rng(len(time_source) * 10 + len(clock_name))
    rows = sorted([*recorded(random, namespace), *CLOCKS[clock_name]()], key=lambda row: row[2])
    bag = write_bag(tmp_path / 'bag', rows)
    file = params_file(SIGNALS, time_source=time_source, lateness_s=0.15, events=EVENTS)
    robot, offline = live_and_offline(bag, file, namespace)
    live = robot.situations
    assert_equal(live, offline)
    # something happened in there
    assert len(live) > (20 if clock_name == 'clock' else 40)
    valid = np.array([s.valid for s in live])
    assert 0.2 < valid.mean() < 1.0
    kinds = {event.kind for s in live for event in s.events}
    assert kinds == {0, 1, 2}
    assert any(s.recalled for s in live)
    episodes = {s.episode for s in live}
    assert len(episodes) == (3 if clock_name == 'jumping clock' else 1)
    period = round(TICK_S * SECOND)
    assert all(stamp_ns(s) == s.tick * period for s in live)


def assert_same_answers(robot, bag, policy, file, namespace):
    """Hold what the node published at each tick against a replay without ROS; return that."""
    asked = asking(Path(policy), file, namespace, 'auto')
    timeline = replayed_bag('bag', bag, asked)[0].timeline
    robot.wait_for(lambda: len(robot.activations) >= len(timeline), 'the last answer')
    live = robot.activations
    assert [stamp_ns(heard) for heard in live] == timeline.stamp_ns.tolist()
    for name, expected in (('probability', timeline.probability), ('active', timeline.active)):
        said = [[getattr(each, name) for each in heard.activations] for heard in live]
        assert np.array(said, expected.dtype).tobytes() == expected.tobytes(), name
    for name, expected in (('novelty', timeline.novelty), ('valid_fraction', timeline.valid)):
        said = np.array([getattr(heard, name) for heard in live], np.float32)
        assert said.tobytes() == expected.astype(np.float32).tobytes(), name
    assert [heard.episode for heard in live] == [timeline.episodes[i] for i in timeline.episode]
    assert {heard.novelty_threshold for heard in live} == {
        np.float32(asked.settings.novelty_threshold)
    }
    return timeline


@pytest.mark.parametrize('clock_name', ['record time', 'jumping clock'])
def test_answers_to_a_generated_bag(
    live_and_offline, params_file, namespace, tmp_path, clock_name
):
    random = np.random.default_rng(5)
    rows = sorted([*recorded(random, namespace), *CLOCKS[clock_name]()], key=lambda row: row[2])
    bag = write_bag(tmp_path / 'bag', rows)
    policy = write_policy(tmp_path / 'policy.onnx', signals=tuple(SIGNALS), length=3)
    file = params_file(
        SIGNALS,
        policy_path=str(policy),
        minimum_hold_s=2.0,
        novelty_threshold=1.5,
        thresholds={'hazard': {'on': 0.6, 'off': 0.55}},
    )
    robot, _ = live_and_offline(bag, file, namespace)
    timeline = assert_same_answers(robot, bag, policy, file, namespace)
    hazard = timeline.active[:, timeline.ids.index('hazard')]
    assert 0.0 < hazard.mean() < 1.0
    assert (timeline.probability[hazard][:, timeline.ids.index('hazard')] < 0.55).any()  # held


def test_a_real_bag(live_and_offline):
    root = Path(__file__).resolve().parents[2]
    data = Path(os.environ.get('THINKING_POLICY_REAL_DATA') or root.parent / 'shared' / 'data')
    bag = data / 'bags/tb3_walking_bag/results/walking_bag'
    if not bag.is_dir():
        pytest.skip(f'no {bag}; set THINKING_POLICY_REAL_DATA')
    file = config_folder() / 'robots' / 'turtlebot3.yaml'
    robot, offline = live_and_offline(bag, file, '')
    live = robot.situations
    assert_equal(live, offline)
    timeline = assert_same_answers(robot, bag, config_folder() / 'policy.onnx', file, '')
    assert timeline.active.any()
    assert np.array([s.valid for s in live]).any()
