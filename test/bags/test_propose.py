# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`bag info --propose`: a robot file from what a robot recorded."""

from __future__ import annotations

import math
import sqlite3

import numpy as np
import pytest

from thinking_policy.bags import BagError, open_bag, situations_of
from thinking_policy.bags.proposal_file import write_proposal
from thinking_policy.bags.propose import propose
from thinking_policy.bags.signal_rules import SEVEN
from thinking_policy.cli.main import main
from thinking_policy.policy.artifact import read_artifact
from thinking_policy.policy.compatibility import check_configuration
from thinking_policy.shipped import config_folder
from thinking_policy.situation import (
    EventConfig,
    SignalConfig,
    SignalState,
    SituationConfig,
    load_configuration,
)

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
MOTORS = """string name
float32 motor_temperature
int32 current_ma
float32 current_distance
bool current_state
float64[] temperatures
"""


class Recording:
    """Rows of a bag, topic by topic, each over the same 60 seconds."""

    def __init__(self, messages):
        self.messages = messages
        self.rows = []

    def add(self, topic, kind, make, rate_hz=4.0, seconds=60.0):
        """Add messages made of (time in seconds, index)."""
        for i in range(round(seconds * rate_hz)):
            at = i / rate_hz
            message = make(at, i)
            raw = bytes(self.messages.store.serialize_cdr(message, kind))
            self.rows.append((topic, kind, START + round(at * SECOND), raw))
        return self

    def of(self, kind, *values):
        return self.messages.make(self.messages.store, kind, *values)

    def number(self, topic, values, kind='std_msgs/msg/Float32', **more):
        return self.add(topic, kind, lambda at, i: self.of(kind, values(at)), **more)

    def temperature(self, topic, values, **more):
        kind, header = 'sensor_msgs/msg/Temperature', self.messages.header(0)
        return self.add(topic, kind, lambda at, i: self.of(kind, header, values(at), 0.0), **more)

    def vector(self, at):
        return self.of('geometry_msgs/msg/Vector3', 0.1 * math.sin(7 * at), 0.0, 9.8)

    def imu(self, topic, **more):
        kind, header = 'sensor_msgs/msg/Imu', self.messages.header(0)
        turned, none = self.of('geometry_msgs/msg/Quaternion', 0.0, 0.0, 0.0, 1.0), np.zeros(9)
        return self.add(topic, kind, lambda at, i: self.of(
            kind, header, turned, none, self.vector(at), none, self.vector(at), none), **more
        )  # fmt: skip

    def battery(self, topic, current, voltage=12.0, temperature=0.0):
        kind = 'sensor_msgs/msg/BatteryState'
        filler = (math.nan, math.nan, math.nan, 0.5, 0, 0, 0, True)
        cells = np.zeros(0, np.float32)
        return self.add(topic, kind, lambda at, i: self.of(
            kind, self.messages.header(0), voltage + 0.1 * math.sin(at), temperature, current(at),
            *filler, cells, cells, '', '')
        )  # fmt: skip

    def motors(self, topic):
        kind = 'robot_msgs/msg/Motors'
        self.messages.define(kind, MOTORS)
        return self.add(topic, kind, lambda at, i: self.of(
            kind, 'left', 40.0 + math.sin(at), 1500 + i % 100, 1.0, True,
            np.array([30.0, 31.0 + at]),
        ))  # fmt: skip

    def write(self, write_bag, **more):
        return write_bag(sorted(self.rows, key=lambda row: row[2]), 'mcap', **more)


@pytest.fixture
def recording(messages):
    return Recording(messages)


def sources(proposal):
    return {name: (made.signal.topic, made.signal.field) for name, made in proposal.chosen.items()}


def wave(at):
    return 20.0 + 5.0 * math.sin(at)


def test_types_that_many_robots_publish_find_their_place(recording, write_bag):
    recording.temperature('/motor/heat', wave).imu('/imu/data').number('/load', wave)
    path = recording.battery('/battery', lambda at: -2.0 - math.sin(at)).write(write_bag)
    found = propose([path])
    assert sources(found) == {
        'temperature': ('/motor/heat', 'temperature'),
        'current': ('/battery', 'current'),
        'vibration': ('/imu/data', 'linear_acceleration'),
        'motion': ('/imu/data', 'angular_velocity'),
        'load': ('/load', 'data'),
    }
    assert found.config.names == SEVEN
    current = found.chosen['current'].signal
    assert current.absolute
    assert 0.5 <= current.nominal_low < 1.5 < 2.5 < current.nominal_high <= 3.5
    spare = {(other.signal.topic, other.signal.field): other.usable for other in found.others}
    assert spare == {
        ('/battery', 'voltage'): True,
        ('/battery', 'percentage'): True,
        ('/battery', 'temperature'): False,  # 0.0 stands for a sensor that is not there
    }


def test_what_a_driver_never_sets_is_not_used(recording, write_bag):
    path = recording.battery('/battery', lambda at: 0.0).imu('/imu').write(write_bag)
    found = propose([path])
    assert 'current' not in found.chosen
    notes = {other.signal.field: other.notes for other in found.others}
    assert notes['current'][-1] == 'Always 0.0 in this bag: the driver does not set it.'
    assert notes['temperature'][-1] == 'Always NaN, empty or invalid in this bag.'


def test_numbers_of_other_types_are_told_by_their_names(recording, write_bag):
    found = propose([recording.motors('/motors').write(write_bag)])
    assert sources(found) == {
        'temperature': ('/motors', 'motor_temperature'),
        'current': ('/motors', 'current_ma'),
        'distance': ('/motors', 'current_distance'),
    }
    current = found.chosen['current'].signal
    assert current.scale == 0.001
    assert 1.4 < current.nominal_low < current.nominal_high < 1.7
    (array,) = (other.signal for other in found.others)
    assert (array.field, array.within_message) == ('temperatures', 'max')


def test_a_type_with_hundreds_of_numbers_is_cut_short_and_says_so(recording, write_bag):
    kind = 'robot_msgs/msg/Cells'
    recording.messages.define(kind, ''.join(f'float32 voltage_{i}\n' for i in range(100)))
    recording.add('/cells', kind, lambda at, i: recording.of(kind, *np.arange(100) + at))
    found = propose([recording.write(write_bag)])
    everything = (*found.chosen.values(), *found.others)
    assert len(everything) == 20
    assert [m for m in everything if '80 more numbers of this topic are not tried' in m.notes[0]]


def test_types_of_shipped_robot_files_are_read_as_these_do(recording, write_bag):
    known = SituationConfig(signals=(
        SignalConfig(name='load', topic='wheels', type='robot_msgs/msg/Motors', field='current_ma',
                     scale=0.002, unit='A', nominal_high=9.0),
    ))  # fmt: skip
    found = propose([recording.motors('/motors').write(write_bag)], [known])
    assert sources(found) == {'load': ('/motors', 'current_ma')}
    assert found.chosen['load'].signal.scale == 0.002
    assert found.chosen['load'].signal.nominal_high < 4.0


def test_a_bare_number_means_what_its_own_topic_says(recording, write_bag):
    known = SituationConfig(signals=(
        SignalConfig(name='motion', topic='flow', type='std_msgs/msg/Float32', field='data'),
    ))  # fmt: skip
    found = propose([recording.number('/load', wave).write(write_bag)], [known])
    assert sources(found) == {'load': ('/load', 'data')}


def test_the_topic_that_moves_is_preferred_to_one_that_does_not(recording, write_bag):
    path = (
        recording.temperature('/a', lambda at: 25.0)
        .temperature('/b_longer', wave)
        .write(write_bag)
    )
    found = propose([path])
    assert sources(found) == {'temperature': ('/b_longer', 'temperature')}
    (other,) = found.others
    assert 'It does not vary from 25 in this bag: the range is a guess.' in other.notes
    assert other.signal.nominal_low < 25.0 < other.signal.nominal_high


def test_minus_one_among_larger_numbers_means_that_there_is_none(recording, write_bag):
    path = recording.number('/distance', lambda at: -1.0 if at % 4 < 1 else wave(at)).write(
        write_bag
    )
    signal = propose([path]).chosen['distance'].signal
    assert signal.sentinels == (-1.0,)
    assert signal.nominal_low > 5.0


def test_a_slow_accelerometer_counts_by_its_level(recording, write_bag):
    found = propose([recording.imu('/imu', rate_hz=1.0).write(write_bag)])
    signal = found.chosen['vibration'].signal
    assert signal.over_time == 'mean'
    assert 9.7 < signal.nominal_low < 9.8 < signal.nominal_high < 9.9


def test_slow_topics_have_a_grid_that_fits(recording, write_bag):
    path = recording.temperature('/slow', wave, rate_hz=0.1, seconds=300).imu(
        '/imu', rate_hz=1.0, seconds=300
    ).write(write_bag)  # fmt: skip
    config = propose([path]).config
    signals = {signal.name: signal for signal in config.signals}
    assert config.tick_period_s == 1.0
    assert signals['temperature'].period_ticks == 10
    assert signals['temperature'].stale_s >= 50.0
    assert config.episode.idle_gap_s >= 100.0
    with open_bag(path) as bag:
        states = [s.readings[0].state for s in situations_of(bag, config)]
    assert states.count(SignalState.OK) > 250


def test_diagnostics_become_events(recording, write_bag, messages):
    kind = 'diagnostic_msgs/msg/DiagnosticArray'
    recording.add('/robot/diagnostics', kind, lambda at, i: recording.of(
        kind, messages.header(0), []), rate_hz=1.0)  # fmt: skip
    config = propose([recording.imu('/imu').write(write_bag)]).config
    assert config.events == EventConfig(diagnostics_topic='/robot/diagnostics')


def test_a_namespace_takes_its_topics_and_names_them_relative(recording, write_bag):
    path = recording.imu('/robot1/imu').imu('/robot2/imu').write(write_bag)
    found = propose([path], namespace='robot2')
    assert sources(found)['vibration'] == ('imu', 'linear_acceleration')
    with open_bag(path) as bag:
        replay = situations_of(bag, found.config, namespace='robot2')
        assert replay.feeds[0].source.name == '/robot2/imu'


def test_every_signal_names_all_that_can_be_fed(recording, write_bag):
    path = (
        recording.battery('/battery', lambda at: 1.0 + math.sin(at)).imu('/imu').write(write_bag)
    )
    found = propose([path], every_signal=True)
    assert found.config.names == ('current', 'vibration', 'motion', 'voltage', 'charge')
    assert not [other for other in found.others if other.usable]


def test_a_number_that_means_none_of_the_seven_still_runs_and_says_so(recording, write_bag):
    found = propose([recording.number('/pump/x', wave).write(write_bag)])
    assert sources(found) == {'load': ('/pump/x', 'data')}
    assert 'takes it for load' in found.chosen['load'].notes[-1]


def test_the_bundled_policy_takes_every_proposal(recording, write_bag):
    artifact = read_artifact(config_folder() / 'policy.onnx')
    assert tuple(signal.name for signal in artifact.manifest.signals) == SEVEN
    found = propose([recording.number('/pump/x', wave).write(write_bag)])
    assert check_configuration(artifact, found.config) == []


def test_several_bags_are_proposed_for_together(messages, write_bag):
    cold = Recording(messages).temperature('/t', wave).write(write_bag, name='cold')
    warm = Recording(messages).temperature('/t', lambda at: 60 + wave(at)).imu('/imu').write(
        write_bag, name='warm'
    )  # fmt: skip
    found = propose([cold, warm])
    assert set(found.chosen) == {'temperature', 'vibration', 'motion'}
    signal = found.chosen['temperature'].signal
    assert signal.nominal_low < 17.0
    assert signal.nominal_high > 83.0


def test_topics_that_no_signal_can_be_made_of_are_an_error_that_names_them(recording, write_bag):
    text = 'std_msgs/msg/String'
    path = recording.add('/log', text, lambda at, i: recording.of(text, 'x')).write(write_bag)
    with pytest.raises(BagError, match=r'no topic can feed a signal: std_msgs/msg/String \(240\)'):
        propose([path])


def test_messages_that_cannot_be_decoded_are_named_as_the_reason(recording, write_bag):
    path = write_bag(recording.imu('/imu').rows)
    with sqlite3.connect(path / 'bag.db3') as database:
        database.execute("UPDATE topics SET serialization_format = 'json'")
    reason = "/imu: serialized as 'json', only cdr and ros1 can be decoded"
    with pytest.raises(BagError, match=f'no messages that can be read: {reason}'):
        propose([path])
    config = SituationConfig(signals=(SignalConfig('a', '/imu', 'a/msg/B', 'x'),))
    with open_bag(path) as bag, pytest.raises(BagError, match=f'can be read: {reason}'):
        situations_of(bag, config)


def test_topics_that_ros_does_not_allow_are_passed_over(recording, write_bag):
    path = recording.imu('/with space').imu('/fine').write(write_bag)
    assert sources(propose([path]))['vibration'][0] == '/fine'


def test_the_file_is_read_back_as_it_was_meant_and_explains_itself(recording, write_bag, tmp_path):
    path = recording.temperature('/t', lambda at: math.nan if at < 6 else wave(at)).battery(
        '/battery', lambda at: 0.0
    ).write(write_bag)  # fmt: skip
    found = propose([path])
    write_proposal(tmp_path / 'robot.yaml', found, 'a bag')
    assert repr(load_configuration(tmp_path / 'robot.yaml')) == repr(found.config)
    text = (tmp_path / 'robot.yaml').read_text()
    plain = ' '.join(text.replace('#', ' ').split())
    assert '240 messages, 4 Hz; 15.04 to 24.96 in 109 samples. 10.0% of its messages' in plain
    assert 'Not used: /battery current:' in plain
    assert 'voltage: 240 messages' in plain
    assert max(map(len, text.splitlines())) <= 99


@pytest.fixture
def command(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_the_command_writes_a_file_that_the_next_command_takes(
    command, recording, write_bag, tmp_path
):
    path = recording.temperature('/t', wave).write(write_bag)
    file = tmp_path / 'robot.yaml'
    code, out, err = command('bag', 'info', path, '--propose', file)
    assert (code, err) == (0, '')
    assert 'temperature  /t temperature' in out
    assert f'wrote {file}: 1 of 7 signals are fed' in out
    words = ('bag', 'situations', path, '--config', file, '-o', tmp_path / 'x.npz')
    assert command(*words)[0] == 0
    assert np.load(tmp_path / 'x.npz')['window'].shape[1:] == (10, 7)
    code, _, err = command('bag', 'info', path, '--propose', file)
    assert code == 2
    assert 'exists already' in err
    assert command('bag', 'info', path, '--propose', file, '--force')[0] == 0


@pytest.mark.parametrize(('name', 'said'), [
    ('bag/metadata.yaml', 'is a bag or a part of one'),
    ('robot.txt', 'expected a name that ends in .yaml'),
])  # fmt: skip
def test_a_proposal_never_replaces_what_is_not_one(
    name, said, command, recording, write_bag, tmp_path
):
    path = recording.temperature('/t', wave, seconds=5).write(write_bag)
    before = {file: file.read_bytes() for file in path.iterdir()}
    code, out, err = command('bag', 'info', path, '--propose', tmp_path / name, '--force')
    assert (code, out) == (2, '')
    assert said in err
    assert {file: file.read_bytes() for file in path.iterdir()} == before
