# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The experience node's lifecycle and parameters."""

from __future__ import annotations

import dataclasses
import signal as signals

import pytest
import yaml
from lifecycle_msgs.msg import Transition

from thinking_policy.ros.experience_options import ExperienceSettings
from thinking_policy.shipped import config_folder

# parameters → what the line must say
REFUSED = [
    ({'drain_period_s': 0.0}, ('drain_period_s', '0.01...10.0', 'found 0.0')),
    ({'recording': {'sample_s': -1.0}}, ('recording.sample_s', 'found -1.0')),
    ({'recording': {'change': 'yes please'}}, ('recording.change', 'expected bool')),
    ({'recording': 5}, ('recording', 'expected names', 'found 5')),
    ({'buffer': {'sync': 'never'}}, ('buffer.sync', "'commit', 'interval'", "'never'")),
    ({'buffer': {'most_bytes': 1000}}, ('buffer.most_bytes', '1048576', 'found 1000')),
    ({'topics': {'qos_reliability': 'maybe'}}, ('topics.qos_reliability', "'maybe'")),
    (
        {'topics': {'outcome_texts': ['out'], 'action_texts': ['out']}},
        ('each topic in one list', "'out'"),
    ),
    ({'robot_id': 'r' * 300}, ('robot_id', '256', 'found 300')),
]


def test_bad_values_are_refused_at_start(start_node, tmp_path):
    processes = []
    for number, (bad, _) in enumerate(REFUSED):
        file = tmp_path / f'{number}.yaml'
        file.write_text(yaml.safe_dump({'/**': {'ros__parameters': bad}}))
        processes.append(start_node('experience_node', ['--params-file', str(file)], tmp_path))
    for process, (bad, words) in zip(processes, REFUSED, strict=True):
        assert process.wait(60.0) == 2, bad
        lines = process.output.strip().splitlines()
        assert len(lines) == 1, process.output
        assert all(word in lines[0] for word in words), (words, lines[0])


def test_values_are_checked_when_set_and_some_wait_for_inactivity(start_experience, tmp_path):
    robot = start_experience()
    for name, value, words in (
        ('recording.sample_s', -1.0, ('recording.sample_s', 'Min: 0.0')),
        ('recording.sample_s', 'often', ('recording.sample_s', 'expected float', "'often'")),
        ('buffer.sync', 'interval', ('buffer.sync', 'while the node is active')),
        ('database_path', 'elsewhere.db', ('database_path', 'is active')),
        ('autostart', False, ('read',)),
    ):
        answer = robot.set_parameter(name, value)
        assert not answer.successful, name
        assert all(word in answer.reason for word in words), (name, answer.reason)
    assert robot.set_parameter('recording.sample_s', 30).successful  # a whole number

    robot.tick(active=('hazard',))
    robot.wait_for_records(1)
    assert robot.change_state(Transition.TRANSITION_DEACTIVATE)
    elsewhere = tmp_path / 'elsewhere.db'
    assert robot.set_parameter('database_path', str(elsewhere)).successful
    assert robot.set_parameter('buffer.sync', 'interval').successful
    assert robot.change_state(Transition.TRANSITION_ACTIVATE)
    robot.database = elsewhere
    robot.wait_until_heard()
    robot.tick(active=('hazard',))
    robot.wait_for(robot.lines, 'a record in the other file')
    robot.end()


def test_unknown_names_are_said_and_those_of_the_policy_node_are_not(start_experience):
    robot = start_experience(tick_period_s=0.5, signal_names=['x'], drain_periods=1.0)
    line = "unknown parameter 'drain_periods' is ignored; did you mean 'drain_period_s'?"
    assert line in robot.output
    assert robot.output.count('unknown parameter') == 1


def test_goes_through_all_states_and_hears_only_while_active(start_experience, observer):
    robot = start_experience(autostart=False, active=False)
    assert robot.state() == 'unconfigured'
    assert not robot.database.exists()
    assert robot.change_state(Transition.TRANSITION_CONFIGURE)
    robot.wait_for(robot.database.exists, 'the file')
    topic = f'{robot.namespace}/thinking/situation'
    assert observer.node.count_subscribers(topic) == 0
    robot.wait_for_level('buffer', 0)
    assert robot.diagnosis('recording')[:2] == (0, 'inactive')

    for episode in ('one', 'two'):
        assert robot.change_state(Transition.TRANSITION_ACTIVATE)
        robot.diagnostics.clear()
        robot.wait_until_heard()
        robot.tick(active=('hazard',), episode=episode)
        robot.wait_for(
            lambda episode=episode: episode in {e.situation.episode for e in robot.experiences()},
            'an experience',
        )
        assert robot.change_state(Transition.TRANSITION_DEACTIVATE)
        robot.wait_for(lambda: not observer.node.count_subscribers(topic), 'no subscription')
    assert robot.change_state(Transition.TRANSITION_CLEANUP)
    assert robot.state() == 'unconfigured'
    assert not robot.change_state(Transition.TRANSITION_ACTIVATE)
    assert robot.change_state(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)
    assert len(robot.records()) == 2
    robot.end()


def test_what_came_last_is_recorded_when_it_is_deactivated(start_experience):
    robot = start_experience(drain_period_s=10.0, buffer={'gather_s': 30.0})
    stamp = robot.tick(active=('hazard',))
    robot.give_feedback(stamp + 1000, kind=1, code='done')
    robot.observer.listen(0.3)  # until the middleware has delivered it
    assert robot.change_state(Transition.TRANSITION_DEACTIVATE)
    robot.end()
    assert [record.kind for record in robot.records()] == ['experience', 'amendment']


@pytest.mark.parametrize('number', [signals.SIGINT, signals.SIGTERM])
def test_ends_at_a_signal_and_keeps_what_it_had(start_experience, number):
    robot = start_experience(buffer={'gather_s': 30.0})
    robot.tick(active=('hazard',))
    robot.wait_for_count('experiences', 1)
    code, seconds = robot.process.end(number)
    assert (code, seconds < 5.0) == (0, True)
    assert 'Traceback' not in robot.output
    assert len(robot.records()) == 1


def test_ends_while_it_starts(start_node, observer, tmp_path):
    for delay in (0.0, 0.2, 0.4, 0.7):
        process = start_node('experience_node', [], tmp_path)
        observer.wait_for(lambda process=process: process.handles_signals, 'its first line')
        observer.listen(delay)
        code, seconds = process.end()
        assert (code, seconds < 5.0) == (0, True), (delay, seconds, process.output)
        assert 'Traceback' not in process.output, delay


def test_the_shipped_file_explains_every_parameter_with_its_default():
    file = config_folder() / 'experience.yaml'
    values = yaml.safe_load(file.read_text())['/**/thinking_experience']['ros__parameters']
    settings = ExperienceSettings()
    expected = dataclasses.asdict(settings.node)
    for group in dataclasses.fields(settings):
        if group.name != 'node':
            expected[group.name] = {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in dataclasses.asdict(getattr(settings, group.name)).items()
            }
    assert values == expected


def test_the_shipped_file_is_taken_as_it_is(start_node, observer, tmp_path):
    file = config_folder() / 'experience.yaml'
    process = start_node('experience_node', ['--params-file', str(file)], tmp_path)
    observer.wait_for(lambda: 'active: ' in process.output, 'its line')
    assert 'WARN' not in process.output
    assert process.end()[0] == 0
