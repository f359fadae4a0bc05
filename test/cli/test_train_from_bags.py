# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From a folder of recordings and a table of labels to a policy that a robot runs."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from thinking_policy.cli.main import main
from thinking_policy.policy import PolicyRuntime
from thinking_policy.situation import load_configuration

pytest.importorskip('torch')
pytest.importorskip('rosbags')

ROBOT = """\
/**/thinking_policy:
  ros__parameters:
    tick_period_s: 1.0
    window_length: 10
    signal_names: [flow, heat]
    signals:
      flow: {topic: flow, type: std_msgs/msg/Float32, field: data, unit: L/min,
             nominal_low: 29.0, nominal_high: 31.0, limit_low: 25.0}
      heat: {topic: heat, type: std_msgs/msg/Float32, field: data, unit: degC,
             nominal_low: 0.0, nominal_high: 100.0}
"""
MAP = """\
time: {column: t, format: s}
columns:
  flow: {topic: /flow, type: std_msgs/msg/Float32, field: data}
  heat: {topic: /heat, type: std_msgs/msg/Float32, field: data}
"""
RULES = """\
outcomes:
  - name: lost
    when: {level: {signal: flow, below: 26.0}}
    before: [hazard]
    within: 2
    at: [hazard]
rules:
  - name: hot
    activities: [cause]
    when: {level: {signal: heat, above: 90.0}}
  - name: never
    activities: [trend]
    when: {level: {signal: heat, above: 900.0}}
"""
SECONDS, LOST_FROM, LOST_TO, RUNS = 90, 50, 70, 6


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return a folder with six recordings of a pump that loses its flow for 20 s, and labels."""
    folder = tmp_path_factory.mktemp('pump')
    random = np.random.default_rng(100)
    tables = []
    for run in range(RUNS):
        flow = 30.0 + 0.2 * random.standard_normal(SECONDS)
        flow[LOST_FROM:LOST_TO] -= 8.0
        heat = np.full(SECONDS, 50.0) + 45.0 * (np.arange(SECONDS) < 20)
        rows = [
            f'{1_700_000_000 + 1000 * run + i},{flow[i]:.3f},{heat[i]}' for i in range(SECONDS)
        ]
        tables.append(folder / f'run{run}.csv')
        tables[-1].write_text('\n'.join(['t,flow,heat', *rows]))
    for name, text in (('robot.yaml', ROBOT), ('map.yaml', MAP), ('rules.yaml', RULES)):
        (folder / name).write_text(text)
    words = [*map(str, tables), '--map', f'{folder}/map.yaml', '-o', f'{folder}/bags']
    assert main(['bag', 'from-csv', *words]) == 0
    words = [
        f'{folder}/bags',
        '--config',
        f'{folder}/robot.yaml',
        '--rules',
        f'{folder}/rules.yaml',
    ]
    assert main(['label', *words, '-o', f'{folder}/labels.csv']) == 0
    return folder


@pytest.fixture
def say(folder, capsys):
    """Return a function that runs a command on the recordings → (exit code, stdout, stderr)."""

    def run(*words):
        capsys.readouterr()
        code = main([*map(str, words)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def given(folder, labels='labels.csv'):
    return '--config', folder / 'robot.yaml', '--labels', folder / labels


def trained(say, folder, output, *words):
    bags = [folder / 'bags' / f'run{run}' for run in range(4)]
    return say(
        'train', *bags, *given(folder), '-o', output, '--steps', 300, '--robot', 'pump', *words
    )


def test_a_policy_learned_from_bags_knows_others(say, folder, tmp_path):
    path = tmp_path / 'policy.onnx'
    code, out, _ = trained(say, folder, path)
    assert code == 0
    assert f'{4 * SECONDS} of {4 * SECONDS} situations of 4 recordings are labelled' in out
    assert 'other recordings in the table, not used: 2' in out
    assert 'not learned, since no label names them: trend' in out
    runtime = PolicyRuntime.load(path, config=load_configuration(folder / 'robot.yaml'))
    manifest = runtime.manifest
    assert [activity.id for activity in manifest.activities] == ['hazard', 'cause']
    assert manifest.robot == 'pump'
    assert manifest.sources[:4] == ('run0', 'run1', 'run2', 'run3')
    assert manifest.sources[4].startswith('labels ')
    assert [(s.name, s.nominal_low) for s in manifest.signals] == [('flow', 29.0), ('heat', 0.0)]
    others = [folder / 'bags' / f'run{run}' for run in (4, 5)]
    code, out, _ = say('evaluate', path, *others, *given(folder), '--json')
    assert code == 0
    found = json.loads(out)
    assert found['rows'] == 2 * SECONDS
    assert found['overall']['f1'] > 0.95
    code, out, _ = say('evaluate', path, *others, *given(folder))
    assert code == 0
    assert 'labels that the policy does not know: trend' in out


def test_the_same_command_gives_the_same_bytes(say, folder, tmp_path):
    for name in ('one.onnx', 'two.onnx'):
        assert trained(say, folder, tmp_path / name)[0] == 0
    assert (tmp_path / 'one.onnx').read_bytes() == (tmp_path / 'two.onnx').read_bytes()


def test_exported_situations_and_the_bags_themselves_give_the_same(say, folder, tmp_path):
    code, *_ = say('bag', 'situations', folder / 'bags', '--config', folder / 'robot.yaml',
                   '-o', tmp_path / 'exported')  # fmt: skip
    assert code == 0
    words = ('--labels', folder / 'labels.csv', '--steps', 100, '--robot', 'pump', '-o')
    assert say('train', tmp_path / 'exported', *words, tmp_path / 'one.onnx')[0] == 0
    code, *_ = say('train', folder / 'bags', '--config', folder / 'robot.yaml', *words,
                   tmp_path / 'two.onnx')  # fmt: skip
    assert code == 0
    assert (tmp_path / 'one.onnx').read_bytes() == (tmp_path / 'two.onnx').read_bytes()


def test_the_times_of_the_recording_that_the_table_knows_are_said(say, folder, tmp_path):
    (tmp_path / 'late.csv').write_text('bag,time,activities\nrun3,1600000000,hazard\n')
    words = ('--config', folder / 'robot.yaml', '--labels', tmp_path / 'late.csv')
    code, _, err = say('train', folder / 'bags', *words, '-o', tmp_path / 'p.onnx')
    assert code == 2
    assert 'none of its 1 rows of run3' in err
    # run3 begins 3,000 s after 1,700,000,000 = 2023-11-14 22:13:20.
    assert 'the recording 2023-11-14 23:03:2' in err
    assert '--stride' in err


def test_what_has_no_label_is_left_out_and_counted(say, folder, tmp_path):
    with (folder / 'labels.csv').open(newline='') as file:
        heading, *rows = list(csv.reader(file))
    # The first row of a bag says what the table answers for.
    kept = [row for i, row in enumerate(rows) if i % SECONDS == 0 or i % 3 == 0]
    late = [row.copy() for row in rows[1:4]]
    for row in late:
        row[1] = f'{float(row[1]) + 0.25:.9f}'
    with (tmp_path / 'some.csv').open('w', newline='') as file:
        csv.writer(file).writerows([heading, *kept, *late])
    words = ('--config', folder / 'robot.yaml', '--labels', tmp_path / 'some.csv', '--steps', 20)
    code, out, _ = say('train', folder / 'bags', *words, '-o', tmp_path / 'p.onnx')
    assert code == 0
    total = RUNS * SECONDS
    assert f'{total // 3} of {total} situations of 6 recordings are labelled' in out
    assert f'without a label, not used: {total - total // 3} situations' in out
    assert 'rows of the table without a situation, not used: 3' in out


@pytest.mark.parametrize(('words', 'expected'), [
    (('{bags}',), 'is taken with --config ROBOT and --labels TABLE'),
    (('{bags}', '--labels', '{labels}'), '--config is missing'),
    (('{bags}/run0', '--labels', '{labels}', '--config', '{robot}'),
     'expected at least 3 episodes to split, found 1'),
    (('{bags}', '--labels', '{other}', '--config', '{robot}'),
     'has labels of elsewhere, none of run0, run1, run2, run3 and 2 more'),
    (('{bags}', '--labels', '{late}', '--config', '{robot}'),
     'of its 1 rows of run0 has the time of a situation'),
    (('{bags}', '--labels', '{renamed}', '--config', '{robot}'),
     'found 2; record more (each bag is one at least), or set --test 0; renamed.csv has no label '
     'of run2, run3, run4, run5, but of other, which was not given'),
    (('{bags}', '--labels', '{typo}', '--config', '{robot}'),
     "typo.csv:3: activities and unsure: no activity 'hazrd'; known are trend, hazard,"),
    (('{bags}', '--labels', 'none.csv', '--config', '{robot}'), 'none.csv: no such file'),
])  # fmt: skip
def test_what_cannot_be_learned_from_is_said(words, expected, say, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'other.csv').write_text('bag,time,activities\nelsewhere,1700000010,hazard\n')
    (tmp_path / 'late.csv').write_text('bag,time,activities\nrun0,1600000000,hazard\n')
    rows = (folder / 'labels.csv').read_text().splitlines()
    kept = [row for row in rows if row.startswith(('bag,', 'run0,', 'run1,', 'run2,'))]
    (tmp_path / 'renamed.csv').write_text('\n'.join(kept).replace('run2,', 'other,'))
    typo = 'bag,time,activities\nrun0,1700000010,hazard\nrun0,1700000011,hazrd\n'
    (tmp_path / 'typo.csv').write_text(typo)
    places = {
        'renamed': 'renamed.csv', 'typo': 'typo.csv',
        'bags': folder / 'bags', 'labels': folder / 'labels.csv', 'robot': folder / 'robot.yaml',
        'other': 'other.csv', 'late': 'late.csv',
    }  # fmt: skip
    code, _, err = say('train', *(word.format(**places) for word in words), '-o', 'p.onnx')
    assert code == 2
    assert expected in ' '.join(err.split())
    assert not (tmp_path / 'p.onnx').exists()


def test_the_bundled_policy_is_found_by_its_name(say, folder):
    code, _, err = say('evaluate', 'bundled', folder / 'bags', *given(folder))
    assert code == 2
    assert "policy.onnx: signals: made for ['temperature', " in err  # of another robot


def test_names_that_nothing_reads_in_the_robot_file_are_said(say, folder, tmp_path):
    robot = tmp_path / 'odd.yaml'
    robot.write_text(ROBOT + '    hold_s: 1.0\n')
    words = ('label', folder / 'bags/run0', '--config', robot, '--rules', folder / 'rules.yaml')
    code, out, _ = say(*words, '-o', tmp_path / 'labels.csv')
    assert code == 0
    said = "odd.yaml: unknown parameter 'hold_s' is ignored; did you mean 'minimum_hold_s'?"
    assert f'noticed in the robot file:\n  {said}' in out
