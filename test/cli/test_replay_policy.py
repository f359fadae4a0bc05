# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A policy over a recording without ROS: the node's answers, as spans, table and picture."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from thinking_policy.cli.checks import check_configuration
from thinking_policy.cli.finding import NOTE
from thinking_policy.cli.main import main
from thinking_policy.cli.timeline import Timeline
from thinking_policy.cli.timeline_lines import Replayed, as_json, lines
from thinking_policy.policy import Inference, thinking_settings
from thinking_policy.policy.activities import ThinkingActivity
from thinking_policy.policy.thinker import HOLD_S, NOVELTY
from thinking_policy.ros.node_options import NodeOptions
from thinking_policy.ros.running_policy import RunningPolicy
from thinking_policy.situation import (
    SignalConfig,
    Situation,
    SituationConfig,
    SituationError,
    load_configuration,
)

pytest.importorskip('rosbags')
onnx = pytest.importorskip('onnx')

START, SECONDS = 1_700_000_000, 60
ROBOT = """\
/**/thinking_policy:
  ros__parameters:
    tick_period_s: 1.0
    window_length: 4
    signal_names: [heat, dust]
    signals:
      heat: {topic: heat, type: std_msgs/msg/Float32, field: data, unit: degC,
             nominal_low: 0.0, nominal_high: 100.0, baseline_mean: 40.0, baseline_spread: 10.0}
      dust: {topic: '', unit: g, nominal_low: 0.0, nominal_high: 1.0}
    %s
"""
MAP = """\
time: {column: t, format: s}
columns:
  heat: {topic: /heat, type: std_msgs/msg/Float32, field: data}
"""


def write_policy(path):
    """Write a policy whose hazard is half the scaled newest heat; trend is always 0.25."""
    from onnx import TensorProto, helper, numpy_helper

    from thinking_policy.policy import Manifest, ManifestSignal
    from thinking_policy.policy.manifest import METADATA_KEY
    from thinking_policy.policy.model_file import parse_model_file
    from thinking_policy.policy.packing import input_specs

    specs = input_specs(4, 2, 0, 0)
    weights = np.zeros((16, 2), np.float32)
    weights[6, 0] = 0.5  # the newest of four samples of the first of two signals
    graph = helper.make_graph(
        [
            helper.make_node('Gemm', ['signals', 'weights', 'offsets'], ['sums']),
            helper.make_node('Clip', ['sums', 'zero', 'one'], ['probability']),
        ],
        'half',
        [helper.make_tensor_value_info('signals', TensorProto.FLOAT, ['batch', 16])],
        [helper.make_tensor_value_info('probability', TensorProto.FLOAT, ['batch', 2])],
        [
            numpy_helper.from_array(weights, 'weights'),
            numpy_helper.from_array(np.array([0.0, 0.25], np.float32), 'offsets'),
            numpy_helper.from_array(np.float32(0.0), 'zero'),
            numpy_helper.from_array(np.float32(1.0), 'one'),
        ],
    )
    manifest = Manifest(
        robot='test',
        signals=tuple(ManifestSignal(n, u, 0.0, h, 1.0) for n, u, h in
                      (('heat', 'degC', 100.0), ('dust', 'g', 1.0))),
        window_length=4,
        tick_period_s=1.0,
        activities=(
            ThinkingActivity('hazard', 'Hazard', 'Think of harm.', 0.4, 0.3),
            ThinkingActivity('trend', 'Trend', 'Think of the trend.', 0.5, 0.4),
        ),
        inputs=specs,
        opset=17,
        ir_version=8,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    digest = parse_model_file(model.SerializeToString(), str(path)).graph_sha256
    manifest = dataclasses.replace(manifest, graph_sha256=digest)
    helper.set_model_props(model, {METADATA_KEY: manifest.to_json()})
    path.write_bytes(model.SerializeToString())


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return a folder with a policy, robot files and a bag that is hot from 20 s to 30 s."""
    folder = tmp_path_factory.mktemp('replay')
    heat = [90.0 if 20 <= i < 30 else 40.0 + i % 3 for i in range(SECONDS)]
    (folder / 'walk.csv').write_text(
        '\n'.join(['t,heat', *(f'{START + i},{value}' for i, value in enumerate(heat))])
    )
    (folder / 'map.yaml').write_text(MAP)
    (folder / 'robot.yaml').write_text(ROBOT % '')
    write_policy(folder / 'policy.onnx')
    words = ['--map', f'{folder}/map.yaml', '-o', f'{folder}/walk']
    assert main(['bag', 'from-csv', f'{folder}/walk.csv', *words]) == 0
    return folder


@pytest.fixture
def replay(folder, capsys):
    """Return a function that replays the policy → (exit code, stdout, stderr)."""

    def run(*words, bag='walk', robot='robot.yaml'):
        capsys.readouterr()
        command = ['bag', 'replay-policy', f'{folder}/policy.onnx', f'{folder}/{bag}']
        code = main([*command, '--config', f'{folder}/{robot}', *map(str, words)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def real_data():
    """Return a function that finds a real file, which is not part of the project."""

    def find(name):
        root = Path(__file__).resolve().parents[2]
        data = Path(os.environ.get('THINKING_POLICY_REAL_DATA') or root.parent / 'shared' / 'data')
        if not (data / name).exists():
            pytest.skip(f'no {data / name}; set THINKING_POLICY_REAL_DATA')
        return data / name

    return find


def test_every_tick_is_what_the_node_says_bit_for_bit(folder, replay, tmp_path):
    from thinking_policy.bags import open_bag, situations_of

    assert replay('--csv', tmp_path / 'walk.csv')[0] == 0
    config = load_configuration(folder / 'robot.yaml')
    node = RunningPolicy(NodeOptions(policy_path=str(folder / 'policy.onnx')), config)
    with (
        open_bag(folder / 'walk') as bag,
        (tmp_path / 'walk.csv').open(newline='') as file,
    ):
        rows = list(csv.DictReader(file))
        for row, situation in zip(rows, situations_of(bag, config), strict=True):
            inference, active = node.think(situation)
            seconds, fraction = row['time'].split('.')
            assert int(seconds) * 10**9 + int(fraction) == situation.stamp_ns
            probability = [float(np.float32(row[f'probability.{name}'])) for name in node.ids]
            assert probability == inference.probability.tolist()
            assert [row[f'active.{name}'] == '1' for name in node.ids] == active.tolist()
            assert float(row['novelty']) == inference.novelty
            assert row['signal.heat'] == repr(situation.readings[0].value)
            assert row['signal.dust'] == ''
    assert len(rows) == SECONDS


def test_the_timeline_says_from_when_to_when(replay):
    code, out, _ = replay()
    assert code == 0
    lines = [' '.join(line.split()) for line in out.splitlines()]
    assert lines[0] == 'walk: 60 ticks of 1 s, 1 episode'
    assert 'hazard 0.40/0.30 16.7% 1 0.450 20.0 s' in lines
    assert 'never with a usable value: dust' in lines
    assert 'trend 0.50/0.40 0.0% 0 0.250 0.0 s' in lines
    wall = '2023-11-14 22:13:40 to 22:13:49'
    assert f'20.0 s 29.0 s {wall} hazard 0.450 20.0 s' in lines
    # Four samples of the window: 20 s to 29 s and what is held after the window is normal again.
    assert any(line.endswith('(novelty) 5.0 23.0 s') for line in lines)


def test_the_robot_file_decides_thresholds_hold_and_novelty_as_for_a_node(folder, replay):
    more = """thresholds: {hazard: {on: 0.2, off: 0.1}}
    minimum_hold_s: 5
    novelty_threshold: 50.0"""
    (folder / 'other.yaml').write_text(ROBOT % more)
    code, out, _ = replay('--json', robot='other.yaml')
    assert code == 0
    found = json.loads(out)
    assert found['thresholds']['hazard'] == {'on': 0.2, 'off': 0.1}
    assert found['minimum_hold_s'] == 5.0
    assert found['novelty_spans'] == []
    assert list(found['spans']) == ['hazard', 'trend']
    (span,) = found['spans']['hazard']
    assert (span['start_ns'], span['ticks']) == (START * 10**9, SECONDS)
    summary = found['summary']
    assert (summary['ticks'], summary['episodes']) == (SECONDS, 1)
    assert summary['never_seen'] == ['dust']
    assert summary['active_share'] == {'hazard': 1.0, 'trend': 0.0}
    assert summary['peak'] == pytest.approx({'hazard': 0.45, 'trend': 0.25})
    assert summary['valid_fraction'] == pytest.approx((60 * 4 - 6) / (60 * 8))


def test_the_picture_is_drawn(replay, tmp_path):
    pytest.importorskip('matplotlib')
    path = tmp_path / 'walk.png'
    assert replay('--plot', path)[0] == 0
    assert path.read_bytes().startswith(b'\x89PNG')
    code, _, err = replay('--plot', path)
    assert code == 2
    assert 'exists already' in err
    assert replay('--plot', path, '--force')[0] == 0


@pytest.mark.parametrize(('more', 'expected'), [
    ('thresholds: {hazard: {on: 2.0}}', 'thresholds.hazard.on: expected a number in 0.0...1.0'),
    ('thresholds: {hazard: {on: 0.2, off: 0.3}}', 'expected off <= on, found on 0.2 and off 0.3'),
    ('minimum_hold_s: -1.0', 'minimum_hold_s: expected a number in 0.0...3600.0, found -1.0'),
    ('thresholds: {hazard: 0.2}', 'thresholds.hazard: expected on and off, found 0.2'),
])  # fmt: skip
def test_settings_that_a_node_would_refuse_are_refused(more, expected, folder, replay):
    (folder / 'wrong.yaml').write_text(ROBOT % more)
    code, _, err = replay(robot='wrong.yaml')
    assert code == 2
    assert expected in err


def test_what_is_unused_is_said(folder, replay):
    (folder / 'slip.yaml').write_text(ROBOT % 'thresholds: {hazrd: {on: 0.2}}')
    code, out, _ = replay(robot='slip.yaml')
    assert code == 0
    assert 'slip.yaml: thresholds.hazrd: not in the policy, unused' in out


def test_names_that_no_node_reads_are_said_with_the_closest(folder, replay):
    (folder / 'odd.yaml').write_text(ROBOT % 'minimum_hold: 3.0')
    code, out, _ = replay(robot='odd.yaml')
    assert code == 0
    said = "unknown parameter 'minimum_hold' is ignored; did you mean 'minimum_hold_s'?"
    assert f'odd.yaml: {said}' in out
    _, findings = check_configuration(str(folder / 'odd.yaml'), '')
    assert (findings[-1].status, findings[-1].found) == (NOTE, said)
    # difflib alone would say 'thresholds'.
    (folder / 'odd.yaml').write_text(ROBOT % 'hold_s: 3.0')
    assert (
        "unknown parameter 'hold_s' is ignored; did you mean 'minimum_hold_s'?"
        in (replay(robot='odd.yaml')[1])
    )


@pytest.fixture(scope='module')
def several(folder):
    """Return the name of a folder with two bags and one that is broken."""
    for name in 'ab':
        words = ['--map', f'{folder}/map.yaml', '-o', f'{folder}/several/{name}']
        assert main(['bag', 'from-csv', f'{folder}/walk.csv', *words]) == 0
    (folder / 'several' / 'c.mcap').write_bytes(b'no bag at all')
    return 'several'


def test_of_a_folder_each_bag_is_replayed_and_the_broken_one_reported(replay, several):
    code, out, err = replay(bag=several)
    assert (code, err) == (0, '')
    lines = [' '.join(line.split()) for line in out.splitlines()]
    assert 'a: 60 ticks of 1 s, 1 episode' in lines
    assert 'b: 60 ticks of 1 s, 1 episode' in lines
    assert lines[-6].startswith('bag ticks valid novel active')
    assert lines[-5].startswith('a 60 ')
    assert lines[-5].endswith('% hazard 16.7%')
    assert lines[-3] == ''
    assert '2 of 3 bags replayed' in lines
    assert lines[-1].startswith('c.mcap: ')


def test_of_a_folder_there_is_one_object(replay, several):
    code, out, _ = replay('--json', bag=several)
    assert code == 0
    found = json.loads(out)
    assert [each['bag'] for each in found['bags']] == ['a', 'b']
    assert [len(each['spans']['hazard']) for each in found['bags']] == [1, 1]
    assert list(found['broken']) == ['c.mcap']


def test_nothing_readable_is_an_error_with_the_reasons(folder, replay):
    (folder / 'none').mkdir()
    for name in ('x.mcap', 'y.bag'):
        (folder / 'none' / name).write_bytes(b'no bag at all')
    code, _, err = replay(bag='none')
    assert code == 2
    assert 'none of the 2 bags can be read: ' in err
    assert 'x.mcap' in err
    assert 'y.bag' in err


def test_one_file_for_several_bags_is_refused(replay, several, tmp_path):
    for option, name in (('--csv', 'all.csv'), ('--plot', 'all.png')):
        code, _, err = replay(option, tmp_path / name, bag=several)
        assert code == 2
        assert f'{name}: is one file, and there are 3 bags; name a folder' in err
    assert not list(tmp_path.iterdir())


def test_a_folder_takes_a_table_and_a_picture_of_each_bag(replay, several, tmp_path):
    pytest.importorskip('matplotlib')
    place = tmp_path / 'replayed'
    code, out, _ = replay('--csv', place, '--plot', place, bag=several)
    assert code == 0
    assert sorted(p.name for p in place.iterdir()) == ['a.csv', 'a.png', 'b.csv', 'b.png']
    assert f'{place / "b.csv"}: written' in out
    with (place / 'b.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert [len(rows), sum(row['active.hazard'] == '1' for row in rows)] == [SECONDS, 10]
    code, _, err = replay('--csv', place, bag=several)
    assert code == 2
    assert 'a.csv: exists already' in err
    assert replay('--csv', place / 'one', '--json')[0] == 0
    assert [p.name for p in (place / 'one').iterdir()] == ['walk.csv']


def test_a_time_that_is_no_number_is_said_before_the_work(replay, tmp_path, monkeypatch):
    pytest.importorskip('matplotlib')
    monkeypatch.setenv('SOURCE_DATE_EPOCH', 'soon')
    code, out, err = replay('--plot', tmp_path / 'p.pdf')
    assert (code, out) == (2, '')
    assert 'SOURCE_DATE_EPOCH: expected seconds' in err


def test_an_activity_that_is_called_novelty_is_not_the_novelty(monkeypatch):
    found = Timeline(['novelty'], ['heat'])
    for i in range(4):
        readings = (SimpleNamespace(value=1.0),)
        situation = SimpleNamespace(
            stamp_ns=i * 10**9, episode='r-1', valid=np.ones((1, 1), bool), readings=readings
        )
        inference = Inference(np.array([0.75], np.float32), 9.0 if i == 3 else 0.0, 0.0)
        found.add(situation, inference, np.array([i < 2]))
    settings = SimpleNamespace(
        thresholds={'novelty': (0.5, 0.4)}, minimum_hold_s=0.0, novelty_threshold=3.0
    )
    replayed = Replayed('a', 'p.onnx', SimpleNamespace(version='1'), settings, 0, 1.0, found)
    said = as_json(replayed)
    assert [(s['start_ns'], s['peak']) for s in said['spans']['novelty']] == [(0, 0.75)]
    assert [(s['start_ns'], s['peak']) for s in said['novelty_spans']] == [(3 * 10**9, 9.0)]
    rows = [line.split() for line in lines(replayed)]
    assert any('novelty' in row and '0.750' in row for row in rows)
    assert any('(novelty)' in row and '9.0' in row for row in rows)


def test_the_bundled_policy_refuses_a_configuration_that_it_does_not_fit(folder, capsys):
    words = ['bag', 'replay-policy', 'bundled', f'{folder}/walk', '--config']
    assert main([*words, f'{folder}/robot.yaml']) == 2
    err = capsys.readouterr().err
    assert 'policy.onnx' in err
    assert 'heat' in err


def test_a_walking_robot_is_replayed(real_data, capsys, tmp_path):
    pytest.importorskip('matplotlib')
    bag = real_data('bags/tb3_walking_bag/results/walking_bag')
    words = ['bag', 'replay-policy', 'bundled', str(bag), '--config', 'turtlebot3', '--json']
    assert main([*words, '--plot', str(tmp_path / 'walk.png')]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['summary']['ticks'] == 40
    assert found['summary']['never_seen'] == ['temperature', 'current', 'load']
    assert (tmp_path / 'walk.png').stat().st_size > 10_000


def test_a_boat_needs_a_robot_file_of_its_own(real_data, capsys, tmp_path):
    bag, file = str(real_data('bags/stinger/test_bag')), str(tmp_path / 'stinger.yaml')
    words = ['bag', 'replay-policy', 'bundled', bag, '--json', '--config']
    assert main([*words, 'turtlebot3']) == 2
    assert 'nothing to feed: imu: not in the bag; of this type it has' in capsys.readouterr().err
    assert main(['bag', 'info', bag, '--propose', file]) == 0
    capsys.readouterr()
    assert main([*words, file]) == 0
    summary = json.loads(capsys.readouterr().out)['summary']
    assert summary['ticks'] > 0
    assert 'vibration' not in summary['never_seen']


@pytest.mark.parametrize(('words', 'expected'), [
    (('--csv', '{folder}/walk/walk.db3'), 'expected a name that ends in .csv'),
    (('--plot', '{folder}/walk/walk.db3'), 'expected a name that ends with .png'),
    (('--plot', '{folder}/policy.onnx'), 'expected a name that ends with .png'),
    (('--csv', '{folder}/walk.csv'), 'exists already'),
])  # fmt: skip
def test_nothing_of_others_is_replaced(words, expected, folder, replay):
    code, _, err = replay(*(word.format(folder=folder) for word in words))
    assert code == 2
    assert expected in err


def test_ranges_and_defaults_are_those_of_the_node():
    for name, bounds in (('minimum_hold_s', HOLD_S), ('novelty_threshold', NOVELTY)):
        (field,) = (f for f in dataclasses.fields(NodeOptions) if f.name == name)
        assert {key: field.metadata[key] for key in bounds} == bounds
        assert field.default == getattr(thinking_settings((), {}, 'file'), name)


def test_an_off_threshold_keeps_its_distance_where_only_on_is_set():
    activity = ThinkingActivity('hazard', 'Hazard', 'Think of harm.', 0.5, 0.25)
    given = {'thresholds': {'hazard': {'on': 0.75}}}
    assert thinking_settings((activity,), given, 'f').thresholds == {'hazard': (0.75, 0.5)}
    with pytest.raises(SituationError, match=r'f: thresholds: expected names and values'):
        thinking_settings((activity,), {'thresholds': 3}, 'f')


def timeline_of(flags, episodes, step_ns=10**9):
    timeline = Timeline(('hazard',), ('heat',))
    config = SituationConfig(signals=(SignalConfig(name='heat'),))
    for tick, (flag, episode) in enumerate(zip(flags, episodes, strict=True)):
        situation = Situation(
            stamp_ns=tick * step_ns, tick=tick, episode=episode, period_s=1.0,
            signals=config.names, window=np.zeros((2, 1), np.float32),
            valid=np.array([[True], [False]]), readings=(), new_events=(), events=(), recalled=(),
        )  # fmt: skip
        probability = np.array([0.5 + 0.1 * tick if flag else 0.0], np.float32)
        timeline.add(situation, Inference(probability, 0.0, 0.0), np.array([bool(flag)]))
    return timeline


def test_a_span_ends_with_its_episode():
    timeline = timeline_of((1, 1, 0, 1, 1), 'aaabb')
    spans = timeline.spans(timeline.active[:, 0], timeline.probability[:, 0])
    assert [(s.start_ns // 10**9, s.end_ns // 10**9) for s in spans] == [(0, 1), (3, 4)]
    timeline = timeline_of((1, 1, 1, 1), 'aabb')
    spans = timeline.spans(timeline.active[:, 0], timeline.probability[:, 0])
    assert [(s.start_ns // 10**9, s.end_ns // 10**9, s.ticks) for s in spans] == [
        (0, 1, 2),
        (2, 3, 2),
    ]
    assert [s.peak_ns // 10**9 for s in spans] == [1, 3]
    assert timeline.valid.tolist() == [0.5] * 4


def test_nothing_active_gives_no_span():
    timeline = timeline_of((0, 0), 'ab')
    assert timeline.spans(timeline.active[:, 0], timeline.probability[:, 0]) == []
