# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The `bag` commands, as somebody types them."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.cli.main import main

SECOND = 1_000_000_000
CONFIG = """
thinking_policy:
  ros__parameters:
    tick_period_s: 1.0
    signal_names: [heat, none, gone]
    signals:
      heat: {topic: temperature, type: sensor_msgs/msg/Temperature, field: temperature}
      none: {unit: m}
      gone: {topic: range, type: sensor_msgs/msg/Range, field: range}
"""


@pytest.fixture
def command(capsys):
    """Return a function that runs a command line → (exit code, stdout, stderr)."""

    def run(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def config_file(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(CONFIG)
    return path


def test_info_shows_topics_and_which_signals_would_be_fed(
    command, write_bag, temperatures, config_file
):
    path = write_bag(temperatures([1.0] * 11))
    (path / 'metadata.yaml').unlink()
    code, out, _ = command('bag', 'info', path, '--config', config_file)
    assert code == 0
    assert 'bag: sqlite3, 11 messages on 1 topic, 5.0 s' in out
    assert 'recorded 2023-11-14 22:13:20.000 UTC to 2023-11-14 22:13:25.000 UTC' in out
    assert '/temperature  sensor_msgs/msg/Temperature        11  2.2 Hz' in out
    assert 'robot.yaml: 1 of 3 signals would be fed' in out
    assert '  heat  fed      from /temperature\n' in out
    assert '  none  -        no topic configured\n' in out
    assert '  gone  missing  not in the bag, nor any other topic of type sensor_msgs/msg/R' in out
    assert '+0.000 s (+0.000 ... +0.000)' in out
    assert 'noticed:\n  no metadata.yaml, read without it\n' in out


def test_situations_writes_the_file_and_says_what_was_left_out(
    command, write_bag, temperatures, config_file, tmp_path
):
    path = write_bag(temperatures([1.0, float('nan'), 3.0]))
    file = tmp_path / 'made.npz'
    words = ('bag', 'situations', path, '--config', config_file, '-o', file)
    code, out, err = command(*words)
    assert (code, err) == (0, '')
    assert f'{file}: 2 situations of 10 x 3 in 1 episode, 0 events, by record time' in out
    assert '  heat    100%                2        1\n' in out
    assert '  not fed: range: not in the bag' in out
    assert np.load(file)['window'].shape == (2, 10, 3)
    code, _, err = command(*words)
    assert code == 2
    assert err.count('\n') == 1
    assert 'replace it with --force' in err
    assert command(*words, '--force', '--stride', '2')[0] == 0
    assert np.load(file)['window'].shape == (1, 10, 3)


def test_from_csv_takes_the_shipped_map_by_name(command, tmp_path):
    table = tmp_path / 'skab.csv'
    table.write_text(
        'datetime;Accelerometer1RMS;Accelerometer2RMS;Current;Pressure;Temperature;'
        'Thermocouple;Voltage;Volume Flow RateRMS\n'
        '2020-03-09 10:14:33;0.02;0.04;1.3;0.05;79.3;26.0;233.0;32.0\n'
        '2020-03-09 10:14:34;0.02;0.04;1.3;0.05;79.3;26.0;233.0\n'
    )
    made = tmp_path / 'made'
    code, out, _ = command('bag', 'from-csv', table, '--map', 'skab', '-o', made)
    assert code == 0
    assert f'{made}: 7 messages on 7 topics from 2 rows' in out
    assert 'not in the table: anomaly, changepoint' in out
    assert 'left out: 1 rows with another number of cells than 9' in out
    code, out, _ = command('bag', 'info', made, '--config', 'skab')
    assert '5 of 7 signals would be fed' in out


@pytest.mark.parametrize('words', [
    ('info', 'nowhere'),
    ('situations', 'nowhere', '--config', 'skab', '-o', 'x.npz'),
    ('situations', 'nowhere', '--config', 'skab', '-o', 'x.txt'),
    ('from-csv', 'nowhere.csv', '--map', 'skab', '-o', 'x'),
    ('from-csv', 'nowhere.csv', '--map', 'nomap', '-o', 'x'),
])  # fmt: skip
def test_errors_are_one_line_and_exit_2(words, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = command('bag', *words)
    assert code == 2
    assert out == ''
    assert err.startswith('thinking-policy: error: ')
    assert err.count('\n') == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('words', [(), ('info',), ('situations',), ('from-csv',)])
def test_help_has_an_example(words, command):
    code, out, _ = command('bag', *words, '--help')
    assert code == 0
    assert not words or f'thinking-policy bag {words[0]} ' in out.split('Example', 1)[1]
