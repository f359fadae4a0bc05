# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The `bag` commands on folders of bags: all are worked through, broken ones are reported."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from thinking_policy.cli.main import main

CONFIG = """
thinking_policy:
  ros__parameters:
    tick_period_s: 1.0
    signal_names: [heat]
    signals:
      heat: {topic: temperature, type: sensor_msgs/msg/Temperature, field: temperature}
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
def folder(tmp_path, write_bag, temperatures):
    """Make a folder of a sqlite3 bag, an mcap, a ROS 1 bag and two that are broken."""
    write_bag(temperatures([1.0] * 3), name='bags/run2')
    write_bag(temperatures([1.0] * 5), 'mcap', name='bags/run10')
    write_bag(temperatures([1.0] * 7, 'ros1'), 'ros1', name='old')
    (tmp_path / 'old.bag').rename(tmp_path / 'bags' / 'old.bag')
    (tmp_path / 'bags' / 'empty.mcap').touch()
    (tmp_path / 'bags' / 'cut.db3').write_text('version https://git-lfs.github.com/spec/v1\n')
    (tmp_path / 'robot.yaml').write_text(CONFIG)
    return tmp_path / 'bags'


def rows_of(text):
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}


def test_info_of_a_folder_has_a_line_for_each_bag_and_the_reason_of_each_broken_one(
    command, folder
):
    code, out, _ = command('bag', 'info', folder, '--config', folder.parent / 'robot.yaml')
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert [line[:4] for line in lines[1:4]] == [
        ['old.bag', 'ros1', '1', '7'],
        ['run2', 'sqlite3', '1', '3'],
        ['run10', 'mcap', '1', '5'],
    ]
    assert all(line[-3:] == ['1', 'of', '1'] for line in lines[1:4])
    assert '3 bags with 15 messages, 2 cannot be read' in out
    assert '  empty.mcap: the file is empty (0 bytes)' in out
    assert '  cut.db3: a Git LFS pointer' in out
    assert str(folder) not in out


def test_info_as_json_names_bags_and_broken_ones(command, folder):
    code, out, err = command('bag', 'info', folder, '--json')
    found = json.loads(out)
    assert (code, err) == (0, '')
    assert [(bag['bag'], bag['messages']) for bag in found['bags']] == [
        ('old.bag', 7), ('run2', 3), ('run10', 5)
    ]  # fmt: skip
    assert set(found['broken']) == {'empty.mcap', 'cut.db3'}
    one = json.loads(command('bag', 'info', folder / 'run2', '--json')[1])
    assert (one['bag'], one['topics'][0]['times']['messages']) == ('run2', 3)
    assert one['topics'][0]['times']['rate_hz'] == pytest.approx(2.0)


def test_quick_reads_no_messages_and_says_so(command, folder):
    out = command('bag', 'info', folder / 'run2', '--quick')[1]
    assert 'counts only (--quick)' in out
    assert 'longest' not in out
    assert (
        json.loads(command('bag', 'info', folder / 'run2', '--quick', '--json')[1])['topics'][0][
            'times'
        ]
        is None
    )


def situations(command, folder, *more):
    words = ('bag', 'situations', folder, '--config', folder.parent / 'robot.yaml')
    return command(*words, '-o', folder.parent / 'made', *more)


def test_situations_of_a_folder_are_a_file_each_named_as_the_bag(command, folder):
    code, out, _ = situations(command, folder)
    assert code == 0
    made = folder.parent / 'made'
    assert sorted(path.name for path in made.iterdir()) == [
        'old.bag.npz', 'run10.npz', 'run2.npz'
    ]  # fmt: skip
    assert json.loads(str(np.load(made / 'run10.npz')['meta']))['bag'] == 'run10'
    assert rows_of(out)['run10'][:2] == ['3', '1']
    assert 'situations of 3 bags written, 0 kept, 2 cannot be used' in out
    assert '  empty.mcap: the file is empty' in out


@pytest.mark.parametrize(('change', 'kept', 'said'), [
    ((), 3, 'kept, nothing has changed'),
    (('--stride', '2'), 0, 'made anew: another stride'),
    (('--robot-id', 'r'), 0, 'made anew: another robot id'),
    (('--force',), 0, 'made'),
])  # fmt: skip
def test_what_was_made_in_the_same_way_is_kept(change, kept, said, command, folder):
    situations(command, folder)
    before = {p: p.stat().st_mtime_ns for p in (folder.parent / 'made').iterdir()}
    out = situations(command, folder, *change)[1]
    assert said in out
    assert f'{kept} kept' in out
    after = {p: p.stat().st_mtime_ns for p in (folder.parent / 'made').iterdir()}
    assert (before == after) == (kept == 3)


def test_a_bag_that_is_newer_than_its_file_is_made_anew(command, folder):
    situations(command, folder)
    (storage,) = (folder / 'run2').glob('*.db3')
    os.utime(storage, (2e9, 2e9))
    out = situations(command, folder)[1]
    assert 'made anew: the bag is newer' in out
    assert '2 kept' in out


def test_a_file_that_is_not_ours_is_left_alone(command, folder):
    (folder.parent / 'made').mkdir()
    (folder.parent / 'made' / 'run2.npz').write_text('mine')
    code, _, err = situations(command, folder)
    assert code == 2
    assert 'run2.npz: is there and no file of `bag situations`' in err
    assert (folder.parent / 'made' / 'run2.npz').read_text() == 'mine'


def test_nothing_readable_is_an_error_with_all_reasons(command, folder):
    for name in ('run2', 'run10'):
        for path in (folder / name).iterdir():
            path.unlink()
    (folder / 'old.bag').unlink()
    code, out, err = situations(command, folder)
    assert (code, out) == (2, '')
    assert 'none of the 2 bags can be read' in err
    assert 'empty.mcap: the file is empty' in err
    assert 'cut.db3: a Git LFS pointer' in err
    assert err.count('\n') == 1


def test_several_bags_are_not_written_into_one_file(command, folder):
    words = ('bag', 'situations', folder, '--config', folder.parent / 'robot.yaml', '-o', 'x.npz')
    code, _, err = command(*words)
    assert code == 2
    assert 'x.npz: expected a folder, as there are 5 bags' in err


def test_no_configured_topic_names_those_of_the_same_type(
    command, tmp_path, write_bag, temperatures
):
    (tmp_path / 'robot.yaml').write_text(CONFIG)
    path = write_bag(temperatures([1.0], topic='/motor/heat'))
    words = ('bag', 'situations', path, '--config', tmp_path / 'robot.yaml', '-o', 'x.npz')
    code, _, err = command(*words)
    assert code == 2
    assert 'temperature: not in the bag; of this type it has /motor/heat' in err
    assert '--propose' in err


ROBOTS = """
/robot1/thinking_policy:
  ros__parameters:
    signal_names: [heat]
    signals:
      heat: {topic: temperature, type: sensor_msgs/msg/Temperature, field: temperature}
/robot2/thinking_policy:
  ros__parameters:
    signal_names: [heat]
    signals:
      heat: {topic: other, type: sensor_msgs/msg/Temperature, field: temperature}
"""


def test_a_file_for_several_robots_asks_which_one_and_takes_its_section(
    command, tmp_path, write_bag, temperatures
):
    (tmp_path / 'robots.yaml').write_text(ROBOTS)
    path = write_bag(temperatures([1.0, 2.0], topic='/robot1/temperature'))
    words = ('bag', 'info', path, '--config', tmp_path / 'robots.yaml')
    code, _, err = command(*words)
    assert code == 2
    assert 'sections for several robots: /robot1, /robot2; say which one with --namespace' in err
    assert 'heat  fed  from /robot1/temperature' in command(*words, '--namespace', 'robot1')[1]
    assert 'heat  missing  not in the bag' in command(*words, '--namespace', '/robot2')[1]
    code, _, err = command(*words, '--namespace', 'robot3')
    assert code == 2
    assert 'for the namespace /robot3, found the sections /robot1' in err


MAP = """
time: {column: t, format: s}
columns:
  x: {topic: /x, type: std_msgs/msg/Float64, field: data}
"""


def test_several_tables_become_a_bag_each(command, tmp_path):
    (tmp_path / 'map.yaml').write_text(MAP)
    for name in 'abc':
        (tmp_path / f'{name}.csv').write_text('t,x\n1,2.0\n2,3.0\n' if name != 'b' else 'u\n1\n')
    tables = [tmp_path / f'{name}.csv' for name in 'abc']
    words = ('bag', 'from-csv', *tables, '--map', tmp_path / 'map.yaml', '-o', tmp_path / 'bags')
    code, out, err = command(*words)
    assert (code, err) == (0, '')
    assert f'{tmp_path / "bags"}: 2 bags of 3 tables' in out
    assert f"  {tmp_path / 'b.csv'}: expected columns separated by ',', found one: 'u'" in out
    assert sorted(path.name for path in (tmp_path / 'bags').iterdir()) == ['a', 'c']
    assert '2 bags with 4 messages' in command('bag', 'info', tmp_path / 'bags')[1]
    code, _, err = command(*words)
    assert code == 2
    assert 'bags/c: exists already' in err


def test_two_tables_of_one_name_are_refused_before_any_work(command, tmp_path):
    (tmp_path / 'map.yaml').write_text(MAP)
    code, _, err = command(
        'bag', 'from-csv', 'one/a.csv', 'two/a.csv', '--map', tmp_path / 'map.yaml', '-o',
        tmp_path / 'bags',
    )  # fmt: skip
    assert code == 2
    assert 'one/a.csv and two/a.csv: both would become' in err
    assert not (tmp_path / 'bags').exists()
