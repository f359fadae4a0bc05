# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`experience from-bag`: what a robot's node would have recorded of a bag, without ROS."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip('sqlite_utils')
pytest.importorskip('pydantic')
pytest.importorskip('onnx')
rosbag2 = pytest.importorskip('rosbags.rosbag2')
typesys = pytest.importorskip('rosbags.typesys')

from thinking_policy.experience.record import Experience, from_line  # noqa: E402

START = 1_700_000_000
SECONDS = 60
TEXT, FEEDBACK = 'std_msgs/msg/String', 'thinking_policy/msg/ThinkingFeedback'
ROBOT = """\
/**/thinking_policy:
  ros__parameters:
    robot_id: walker
    tick_period_s: 1.0
    window_length: 4
    signal_names: [heat, dust]
    signals:
      heat: {topic: heat, type: std_msgs/msg/Float32, field: data, unit: degC,
             nominal_low: 0.0, nominal_high: 100.0, baseline_mean: 40.0, baseline_spread: 10.0,
             limit_high: 80.0}
      dust: {topic: '', unit: g, nominal_low: 0.0, nominal_high: 1.0}
    %s
"""


@pytest.fixture(scope='module')
def store(checkout):
    """Return the message types, with the package's own."""
    types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    text = (checkout / 'msg' / 'ThinkingFeedback.msg').read_text()
    types.register(typesys.get_types_from_msg(text, FEEDBACK))
    return types


def write_bag(path: Path, store, told=()):
    """Write a bag that is hot from 20 s to 30 s; `told`: (second, topic, text or fields)."""
    types = store.types
    messages = [
        (i, 'heat', 'std_msgs/msg/Float32', 90.0 if 20 <= i < 30 else 40.0 + i % 3)
        for i in range(SECONDS)
    ]
    for second, topic, what in told:
        messages.append((second, topic, TEXT if isinstance(what, str) else FEEDBACK, what))
    with rosbag2.Writer(path, version=9) as writer:
        connections = {}
        for second, topic, kind, what in sorted(messages, key=lambda message: message[0]):
            if topic not in connections:
                connections[topic] = writer.add_connection(f'/{topic}', kind, typestore=store)
            if isinstance(what, dict):
                time, header = types['builtin_interfaces/msg/Time'], types['std_msgs/msg/Header']
                at = what.get('at', 0)
                stamp = header(
                    time(START + int(at), round(at % 1 * 1e9)) if at else time(0, 0), ''
                )
                fields = {
                    'experience_id': '', 'episode': '', 'kind': 1, 'code': '',
                    'reward': float('nan'), 'expected': [], 'verified': False, 'source': '',
                    'text': '', **{key: value for key, value in what.items() if key != 'at'},
                }  # fmt: skip
                message = types[FEEDBACK](header=stamp, **fields)
            else:
                message = types[kind](what)
            raw = store.serialize_cdr(message, kind)
            writer.write(connections[topic], round((START + second) * 1e9), raw)


@pytest.fixture(scope='module')
def folder(tmp_path_factory, store):
    """Return a folder with a policy whose hazard is half the newest heat, and robot files."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location('replay', Path(__file__).with_name('test_replay_policy.py'))
    replay = module_from_spec(spec)
    spec.loader.exec_module(replay)
    folder = tmp_path_factory.mktemp('bags')
    replay.write_policy(folder / 'policy.onnx')
    (folder / 'robot.yaml').write_text(ROBOT % '')
    write_bag(folder / 'walk', store)
    return folder


@pytest.fixture
def record(folder, experience, tmp_path):
    """Return a function that records a bag into lines → records, and what was said as JSON."""

    def run(*words, bag=None, robot='robot.yaml'):
        file = tmp_path / 'lived.jsonl'
        code, out, err = experience(
            'from-bag', bag or folder / 'walk', '--policy', folder / 'policy.onnx',
            '--config', folder / robot, '-o', file, '--force', '--json', *words,
        )  # fmt: skip
        assert code == 0, err
        records = [from_line(line) for line in file.read_bytes().splitlines()]
        return records, json.loads(out)

    return run


def seconds(records):
    return [
        (one.situation.stamp_ns / 1e9 - START, [reason.value for reason in one.reasons])
        for one in records
    ]


def test_a_bag_gives_what_the_rules_say(record):
    records, said = record('--sample-s', 0)
    assert seconds(records) == [
        (20.0, ['change', 'event']),
        (22.0, ['novelty']),
        (30.0, ['change']),
    ]
    assert {one.robot for one in records} == {'walker'}
    assert all(one.situation.episode.startswith('walker-') for one in records)
    assert records[0].active == ('hazard',)
    (bag,) = said['bags']
    assert bag['ticks'] == SECONDS
    assert bag['reasons']['change'] == 2
    assert bag['counts']['experiences'] == len(records)


def test_rules_are_those_that_are_given(record):
    records, _ = record('--no-change', '--no-novelty', '--no-event', '--sample-s', 20)
    assert [reasons for _, reasons in seconds(records)] == [['sample']] * 3
    records, _ = record('--no-event', '--no-novelty', '--sample-s', 0)
    assert [(at, reasons) for at, reasons in seconds(records)] == [
        (20.0, ['change']),
        (30.0, ['change']),
    ]


def test_the_robot_files_thresholds_count(folder, record):
    (folder / 'never.yaml').write_text(ROBOT % 'thresholds: {hazard: {on: 0.9, off: 0.8}}')
    records, _ = record('--no-event', '--no-novelty', '--sample-s', 0, robot='never.yaml')
    assert records == []


def test_the_same_bag_gives_the_same_records_and_comes_once(folder, record, experience, tmp_path):
    first, _ = record()
    lines = (tmp_path / 'lived.jsonl').read_bytes()
    record(bag=folder / 'walk')
    assert (tmp_path / 'lived.jsonl').read_bytes() == lines
    words = ('--policy', folder / 'policy.onnx', '--config', folder / 'robot.yaml')
    words = ('from-bag', folder / 'walk', *words, '--db', tmp_path / 'lived.db')
    assert f'{len(first)} new records, 0 known' in experience(*words)[1]
    assert f'0 new records, {len(first)} known' in experience(*words)[1]
    code, out, _ = experience('import', tmp_path / 'lived.jsonl', '--db', tmp_path / 'lived.db')
    assert (code, f'0 new records, {len(first)} known' in out) == (0, True)


def test_other_rules_never_change_what_is_there(folder, experience, tmp_path):
    words = ('--policy', folder / 'policy.onnx', '--config', folder / 'robot.yaml')
    words = ('from-bag', folder / 'walk', *words, '--db', tmp_path / 'lived.db')
    assert experience(*words)[0] == 0
    before = experience('list', '--db', tmp_path / 'lived.db', '--json')[1]
    out = experience(*words, '--no-event')[1]
    assert 'that differ from records of the same id, made with other rules or thresholds' in out
    after = experience('list', '--db', tmp_path / 'lived.db', '--json')[1]
    assert set(before.splitlines()) <= set(after.splitlines())


def test_outcomes_actions_and_feedback_find_their_moments(store, record, tmp_path):
    write_bag(tmp_path / 'told', store, [
        (10.5, 'result', 'arrived'),  # a text: of the moment before
        (22.2, 'doing', 'slow_down'),  # an action of a moment that was not recorded: kept
        (22.7, 'result', 'stuck'),  # makes that moment an experience
        (40.5, 'thinking/feedback', {'at': 20.5, 'kind': 2, 'reward': -0.5, 'code': 'late',
                                     'expected': ['hazard'], 'verified': True, 'source': 'anna'}),
        (41.5, 'thinking/feedback', {'kind': 9}),
        (41.6, 'thinking/feedback', {'kind': 2, 'code': 'named',
                                     'experience_id': '0197a3f0-5b8c-7d3e-9f10-2b6f0c1d2e3f'}),
        (41.7, 'thinking/feedback', {'kind': 2, 'code': 'elsewhere', 'episode': 'another'}),
    ])  # fmt: skip
    records, said = record(
        '--sample-s', 0, '--no-novelty', '--outcome', 'result', '--action', 'doing',
        bag=tmp_path / 'told',
    )  # fmt: skip
    own = {at: one for (at, _), one in zip(seconds(
        [r for r in records if isinstance(r, Experience)]),
        [r for r in records if isinstance(r, Experience)], strict=True)}  # fmt: skip
    assert sorted(own) == [10.0, 20.0, 22.0, 30.0]
    assert [one.code for one in own[10.0].observations] == ['arrived']
    assert [(one.kind.value, one.code) for one in own[22.0].observations] == [
        ('action', 'slow_down'),
        ('outcome', 'stuck'),
    ]
    (amendment,) = (one for one in records if not isinstance(one, Experience))
    assert amendment.id == own[20.0].id
    seen = amendment.observation
    assert (seen.kind.value, seen.code, seen.reward) == ('feedback', 'late', -0.5)
    assert (seen.expected, seen.verified, seen.source) == (('hazard',), True, 'anna')
    (bag,) = said['bags']
    assert bag['reasons']['outcome'] == 2
    assert (bag['counts']['broken'], bag['counts']['named'], bag['counts']['unplaced']) == (
        1,
        1,
        1,
    )
    assert any('kind: expected one of 0, 1, 2, found 9' in note for note in bag['notes'])


def test_told_twice_is_told_the_same(store, record, tmp_path):
    write_bag(tmp_path / 'told', store, [(10.5, 'result', 'arrived'), (40.5, 'result', 'stuck'),
                                         (40.7, 'result', 'again')])  # fmt: skip
    words = ('--outcome', 'result')
    record(*words, bag=tmp_path / 'told')
    lines = (tmp_path / 'lived.jsonl').read_bytes()
    record(*words, bag=tmp_path / 'told')
    assert (tmp_path / 'lived.jsonl').read_bytes() == lines


def test_feedback_on_a_moment_long_ago_is_found(store, record, tmp_path, monkeypatch):
    from thinking_policy.experience import recorder

    monkeypatch.setattr(recorder, 'MOST_REMEMBERED', 10)
    episode = 'walker-20231114T221320.000'
    write_bag(tmp_path / 'told', store, [
        (50.5, 'thinking/feedback', {'at': 25.5, 'episode': episode, 'code': 'late'}),
    ])  # fmt: skip
    records, _ = record('--sample-s', 0, bag=tmp_path / 'told')
    assert records[0].situation.episode == episode
    (amendment,) = (one for one in records if not isinstance(one, Experience))
    assert amendment.observation.code == 'late'


def test_a_topic_that_is_not_there_is_said(record, experience, folder):
    _, said = record('--outcome', 'result', '--feedback', 'heat')
    notes = ' '.join(said['bags'][0]['notes'])
    assert 'not heard: result: not in the bag' in notes
    assert 'not heard: heat: expected thinking_policy/msg/ThinkingFeedback or std_msgs' in notes


def test_a_broken_bag_is_no_obstacle(store, folder, experience, tmp_path):
    shutil.copytree(folder / 'walk', tmp_path / 'bags' / 'walk')
    (tmp_path / 'bags' / 'c.mcap').write_bytes(b'no bag at all')
    code, out, _ = experience(
        'from-bag', tmp_path / 'bags', '--policy', folder / 'policy.onnx',
        '--config', folder / 'robot.yaml', '-o', tmp_path / 'lived.jsonl',
    )  # fmt: skip
    assert code == 0
    assert 'c.mcap: ' in out
    assert 'walk' in out


@pytest.mark.parametrize(('words', 'expected'), [
    ((), 'expected either -o FILE.jsonl or --db PATH: where shall it go?'),
    (('-o', '{}/x.jsonl', '--db', '{}/x.db'), 'expected either -o FILE.jsonl or --db PATH'),
    (('-o', '{}/x.csv'), 'x.csv: expected a name that ends in .jsonl'),
    (('-o', '{}/x.jsonl', '--outcome', 'a', '--action', 'a'), 'a: expected each topic once'),
    (('-o', '{}/x.jsonl', '--clock', 'sun'), 'clock: expected one of auto, record, clock'),
    (('-o', '{}/x.jsonl', '--policy', '{}/no.onnx'), 'no.onnx'),
])  # fmt: skip
def test_a_slip_is_said_before_the_work(words, expected, folder, experience, tmp_path):
    code, out, err = experience(
        'from-bag', folder / 'walk', '--policy', folder / 'policy.onnx',
        '--config', folder / 'robot.yaml', *(word.format(tmp_path) for word in words),
    )  # fmt: skip
    assert (code, out) == (2, '')
    assert expected in err
    assert list(tmp_path.iterdir()) == []
