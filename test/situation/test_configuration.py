# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest

from thinking_policy.situation import (
    EventConfig,
    SignalConfig,
    SituationConfig,
    SituationError,
    TopicRequest,
    configuration_from_mapping,
    load_configuration,
)
from thinking_policy.situation.configuration import nanoseconds
from thinking_policy.situation.requests import topic_requests

TEMPERATURE = {
    'topic': '/temperature',
    'type': 'sensor_msgs/msg/Temperature',
    'field': 'temperature',
}


def built(signals=None, **values):
    signals = {'t': TEMPERATURE} if signals is None else signals
    return configuration_from_mapping(
        {'signal_names': list(signals), 'signals': signals, **values}, 'robot.yaml'
    )


def test_unset_values_take_the_defaults_and_whole_numbers_do_for_floats():
    config = built({'t': {**TEMPERATURE, 'nominal_high': 80}}, tick_period_s=1)
    expected = SignalConfig(name='t', nominal_high=80.0, **TEMPERATURE)
    assert config.tick_period_ns == 1_000_000_000
    assert config.names == ('t',)
    assert repr(config) == repr(SituationConfig(tick_period_s=1.0, signals=(expected,)))


def test_signals_stand_in_the_order_of_their_names():
    signals = dict.fromkeys(('b', 'a', 'c'), TEMPERATURE)
    config = configuration_from_mapping(
        {'signal_names': ['c', 'a', 'b'], 'signals': signals}, 'robot.yaml'
    )
    assert config.names == ('c', 'a', 'b')


@pytest.mark.parametrize(
    ('changes', 'complaint'),
    [
        ({'scle': 2.0}, r"signals\.t: unknown key 'scle'; did you mean 'scale'\?"),
        ({'scale': 'two'}, r"signals\.t\.scale: expected float, found 'two'"),
        ({'scale': math.inf}, 'expected scale and offset to be finite'),
        ({'scale': -(10**400)}, 'to be finite, found -inf and 0.0'),
        ({'stale_s': -(10**400)}, 'stale_s: expected a number in 0.0...inf, found -inf'),
        ({'period_ticks': 1.5}, r'signals\.t\.period_ticks: expected int, found 1\.5'),
        ({'period_ticks': True}, r'signals\.t\.period_ticks: expected int, found True'),
        ({'period_ticks': 0}, r'expected a number in 1\.\.\.100000, found 0'),
        ({'stale_s': math.nan}, r'stale_s: expected a number in 0\.0\.\.\.inf, found nan'),
        ({'sentinels': -1.0}, r'sentinels: expected a list, found -1\.0'),
        ({'over_time': 'lst'}, r"expected one of .*found 'lst'; did you mean 'last'\?"),
        ({'within_message': 'nrm'}, r"did you mean 'norm'\?"),
        ({'type': ''}, r"has topic '/temperature', but type is empty"),
        ({'field': ''}, 'but field is empty'),
        ({'field': 'a..b'}, r"signals\.t: field 'a\.\.b': expected a path"),
        ({'type': 'Temperature'}, r"signals\.t: 'Temperature': expected a message type"),
        ({'nominal_low': 1.0}, r'expected nominal_low < nominal_high, both finite'),
        ({'nominal_low': -1e308, 'nominal_high': 1e308}, 'expected nominal_low < nominal_high'),
        ({'valid_low': 2.0, 'valid_high': 1.0}, 'expected valid_low <= valid_high'),
        ({'limit_low': 2.0, 'limit_high': 2.0}, 'expected limit_low < limit_high'),
        ({'limit_hysteresis': -1.0}, r'limit_hysteresis: expected a number in 0\.0'),
    ],
)
def test_a_bad_signal_is_refused_with_key_expectation_and_finding(changes, complaint):
    with pytest.raises(SituationError, match=f'robot.yaml: .*{complaint}|{complaint}') as caught:
        built({'t': {**TEMPERATURE, **changes}})
    assert str(caught.value).startswith('robot.yaml: signals.t')


@pytest.mark.parametrize(
    ('values', 'complaint'),
    [
        ({'window_length': 0}, r'window_length: expected a number in 1\.\.\.1000, found 0'),
        ({'tick_period': 1.0}, r"unknown key 'tick_period'; did you mean 'tick_period_s'\?"),
        ({'time_source': 'now'}, r"time_source: expected one of \['receive', 'header'\]"),
        ({'signal_names': ['t', 't']}, 'names a signal twice'),
        ({'signal_names': ['t', 'x']}, r"signal_names has 'x', but signals\.x is missing"),
        ({'signal_names': []}, r'signals\.t is not in signal_names \[\]'),
        ({'signal_names': 't'}, "expected a list of names, found 't'"),
        ({'events': {'recent': 0}}, r'events\.recent: expected a number in 1\.\.\.256'),
        ({'events': 3}, 'events: expected names and values, found 3'),
        ({'episode': {'idle_gap_s': 0.0}}, r'episode\.idle_gap_s: expected a number'),
    ],
)
def test_a_bad_situation_is_refused_with_key_expectation_and_finding(values, complaint):
    with pytest.raises(SituationError, match=f'robot.yaml: {complaint}|{complaint}'):
        built(**values)


def test_a_topic_read_in_two_ways_is_refused():
    other = {**TEMPERATURE, 'type': 'sensor_msgs/msg/Imu'}
    with pytest.raises(
        SituationError,
        match=r'robot.yaml: /temperature: expected one type.*'
        r'signals\.t reads it as .*Temperature by receive time, signals\.u as .*Imu',
    ):
        built({'t': TEMPERATURE, 'u': other})
    with pytest.raises(SituationError, match='by header time'):
        built({'t': TEMPERATURE, 'u': {**TEMPERATURE, 'time_source': 'header'}})


def test_topics_are_asked_for_once_with_all_that_they_are_used_for():
    config = built(
        {'a': TEMPERATURE, 'none': {}, 'b': {**TEMPERATURE, 'type': 'sensor_msgs/Temperature'}},
        events={'topics': ['/said', '/other']},
        episode={'mission_topic': '/said'},
        time_source='header',
    )
    assert topic_requests(config) == (
        TopicRequest('/temperature', 'sensor_msgs/msg/Temperature', True, signals=(0, 2)),
        TopicRequest(
            '/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', True, diagnostics=True
        ),
        TopicRequest('/said', 'std_msgs/msg/String', True, events=True, mission=True),
        TopicRequest('/other', 'std_msgs/msg/String', True, events=True),
    )
    assert topic_requests(SituationConfig(events=EventConfig(diagnostics_topic=''))) == ()


FILE = """
/**:
  ros__parameters:
    tick_period_s: 0.25
    window_length: 4
thinking_policy:
  ros__parameters:
    policy_path: somewhere
    signal_names: [t]
    signals:
      t: {topic: /t, type: sensor_msgs/msg/Temperature, field: temperature}
    signals.t.unit: degC
    window_length: 5
/robot7/thinking_policy:
  ros__parameters:
    signals: {t: {nominal_high: 90.0}}
other_node:
  ros__parameters: {window_length: 7}
"""


def test_a_robot_file_is_a_ros_parameter_file(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(FILE, encoding='utf-8')
    config = load_configuration(path)
    assert (config.tick_period_s, config.window_length) == (0.25, 5)
    assert (config.signals[0].unit, config.signals[0].nominal_high) == ('degC', 90.0)


@pytest.mark.parametrize('text', ['', '- 1', 'thinking_policy: 3', 'a: b: c', '\x00', 'x: {}'])
def test_a_file_without_parameters_is_refused_by_name(tmp_path, text):
    path = tmp_path / 'robot.yaml'
    path.write_text(text, encoding='utf-8')
    with pytest.raises(SituationError, match=r'robot\.yaml: '):
        load_configuration(path)
    with pytest.raises(SituationError, match=r'missing\.yaml: not a readable YAML file'):
        load_configuration(tmp_path / 'missing.yaml')


def test_durations_in_nanoseconds_have_an_end():
    assert nanoseconds(0.1) == 100_000_000
    assert nanoseconds(math.inf) == nanoseconds(1e300) == 2**62


@pytest.mark.parametrize(
    ('section', 'namespace', 'reaches'),
    [
        ('thinking_policy', '', True),
        ('thinking_policy', '/robot1', False),
        ('/robot1/thinking_policy', '/robot1', True),
        ('/robot1/thinking_policy', 'robot2', False),
        ('/robot1/thinking_policy', None, True),
        ('/**/thinking_policy', '', True),
        ('/**/thinking_policy', '/fleet/robot1', True),
        ('/*/thinking_policy', '/robot1', True),
        ('/*/thinking_policy', '/fleet/robot1', False),
        ('/**', '/fleet/robot1', True),
        ('/fleet/**', '/fleet/robot1', True),
        ('/fleet/**', '/other', False),
    ],
)
def test_the_sections_that_ros_gives_the_node_count(section, namespace, reaches, tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(f'{section}:\n  ros__parameters:\n    window_length: 3\n')
    if reaches:
        assert load_configuration(path, namespace).window_length == 3
    else:
        with pytest.raises(SituationError, match=r'for the namespace /|found the sections'):
            load_configuration(path, namespace)


def test_a_power_of_ten_that_yaml_takes_for_text_is_explained():
    with pytest.raises(
        SituationError, match=r"f: tick_period_s: .* found '1e0'; YAML reads .*e\+3"
    ):
        configuration_from_mapping({'tick_period_s': '1e0'}, 'f')


@pytest.mark.parametrize(
    'given',
    [
        {'baseline_mean': 1.0},
        {'baseline_spread': 1.0},
        {'baseline_mean': 1.0, 'baseline_spread': 0.0},
        {'baseline_mean': math.inf, 'baseline_spread': 1.0},
    ],
)
def test_half_a_baseline_is_refused(given):
    with pytest.raises(SituationError, match=r'signals.t: expected baseline_mean and baseline_sp'):
        built({'t': {**TEMPERATURE, **given}})
