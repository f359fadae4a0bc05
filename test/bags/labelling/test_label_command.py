# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy label`, from bags to a table and pictures."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest

from thinking_policy.bags.labelling import LabelError, joined, read_labels
from thinking_policy.bags.labelling.recording import load_recording
from thinking_policy.cli import main

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND

ROBOT = """\
thinking_policy:
  ros__parameters:
    tick_period_s: 0.5
    window_length: 4
    signal_names: [heat, load]
    signals:
      heat:
        topic: /temperature
        type: sensor_msgs/msg/Temperature
        field: temperature
        unit: degC
        nominal_low: 0.0
        nominal_high: 100.0
        limit_high: 60.0
      load: {topic: ''}
"""
RULES = """\
rules:
  - {name: hot, activities: [hazard], when: {level: {signal: heat, above: 50}}}
outcomes:
  - {name: limit, event: heat_high, within: 2, before: [future_impact], end_of_episode: known}
"""


@pytest.fixture
def walk(write_bag, temperatures, tmp_path, monkeypatch):
    """Return a bag whose heat rises by ten each half second, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'robot.yaml').write_text(ROBOT)
    (tmp_path / 'rules.yaml').write_text(RULES)
    return write_bag(temperatures([10.0 * i for i in range(10)]), name='bags/walk')


def label(*words):
    return main(['label', *map(str, words)])


def test_a_bag_becomes_a_table_and_a_summary(walk, capsys):
    code = label(walk, '--config', './robot.yaml', '--rules', 'rules.yaml', '-o', 'labels.csv')
    assert code == 0
    said = capsys.readouterr().out
    table = read_labels(walk.parent.parent / 'labels.csv')
    assert table.activities == ('hazard', 'future_impact')
    assert table.bags == ('walk',)
    count = len(table)
    assert f'labels.csv: {count} rows; {count} of {count} situations of 1 recording' in said
    hazard = table.stamp_ns[table.label[:, 0]]
    # Above 50 from the sixth reading on, and above the limit of 60 from the eighth.
    assert (hazard.min() - START) / SECOND == pytest.approx(3.0, abs=0.5)
    ahead = table.stamp_ns[table.label[:, 1]]
    assert len(ahead) == 4
    assert re.search(r'hazard +\d+ .* rule:hot \d+', said)
    assert re.search(r'future_impact +4 .* outcome:limit 4', said)
    assert 'conflicts: none' in said


def test_rows_have_the_stamps_of_exported_situations(walk, tmp_path):
    assert main(['bag', 'situations', str(walk), '--config', './robot.yaml', '-o', 'w.npz']) == 0
    common = '--rules', 'rules.yaml', '-o'
    assert label(walk, '--config', './robot.yaml', *common, 'bag.csv') == 0
    assert label('w.npz', *common, 'npz.parquet') == 0
    with np.load('w.npz') as file:
        stamps = file['stamp_ns']
    by_bag, by_file = read_labels(tmp_path / 'bag.csv'), read_labels(tmp_path / 'npz.parquet')
    found = joined(by_bag, 'walk', stamps, by_bag.activities)
    assert found.labelled.all()
    assert found.unmatched == 0
    for name in ('bag', 'stamp_ns', 'episode', 'label', 'confidence', 'origin'):
        np.testing.assert_array_equal(getattr(by_file, name), getattr(by_bag, name))


def test_a_stride_thins_the_table_and_not_what_rules_see(walk, tmp_path):
    common = walk, '--config', './robot.yaml', '--rules', 'rules.yaml', '-o'
    assert label(*common, 'all.csv') == 0
    assert label(*common, 'few.csv', '--stride', 2) == 0
    every, few = read_labels(tmp_path / 'all.csv'), read_labels(tmp_path / 'few.csv')
    kept = every.stamp_ns // (SECOND // 2) % 2 == 0
    np.testing.assert_array_equal(few.stamp_ns, every.stamp_ns[kept])
    np.testing.assert_array_equal(few.label, every.label[kept])


def test_situations_with_ticks_left_out_are_not_labelled_as_if_they_were_all(walk, capsys):
    export = ['bag', 'situations', str(walk), '--config', './robot.yaml', '-o', 'w.npz']
    assert main([*export, '--stride', '3']) == 0
    assert label('w.npz', '--rules', 'rules.yaml', '-o', 'labels.csv') == 2
    assert 'w.npz: holds only every 3. tick' in capsys.readouterr().err
    assert not (walk.parent.parent / 'labels.csv').exists()


def test_a_person_counts_more_and_the_conflict_is_listed(walk, tmp_path, capsys):
    (tmp_path / 'anna.csv').write_text('from,to,activity\n0,9,!hazard\n')
    common = walk, '--config', './robot.yaml', '--rules', 'rules.yaml', '--spans', 'anna.csv'
    assert label(*common, '-o', 'labels.csv') == 0
    said = capsys.readouterr().out
    assert not read_labels(tmp_path / 'labels.csv').label[:, 0].any()
    assert re.search(r'walk .* hazard  kept person:anna \(not called for\)  not rule:hot', said)


def test_spans_alone_label_only_the_recordings_that_they_lie_in(
    walk, write_bag, temperatures, tmp_path
):
    write_bag(temperatures([1.0] * 5), name='bags/run')
    (tmp_path / 'anna.csv').write_text('bag,from,to,label\nwalk,1,2,Expect harm\n')
    common = 'bags', '--config', './robot.yaml', '--spans', 'anna.csv'
    assert label(*common, '-o', 'labels.csv') == 0
    table = read_labels(tmp_path / 'labels.csv')
    assert table.bags == ('walk',)
    assert table.label.any()
    assert not table.label.all()


def test_a_broken_bag_is_left_out_and_named(walk, tmp_path, capsys):
    (tmp_path / 'bags' / 'cut.mcap').write_bytes(b'version https://git-lfs.github.com/spec/v1\n')
    common = '--config', './robot.yaml', '--rules', 'rules.yaml', '-o', 'labels.csv'
    assert label('bags', *common) == 0
    said = capsys.readouterr().out
    assert 'left out, since not readable: 1 recording' in said
    assert 'a Git LFS pointer' in said
    (tmp_path / 'bad').mkdir()
    for name in 'ab':
        (tmp_path / 'bad' / f'{name}.mcap').write_bytes(b'')
    assert label('bad', *common, '--force') == 2
    assert 'a.mcap, b.mcap: the file is empty' in capsys.readouterr().err
    assert label(tmp_path / 'bags' / 'cut.mcap', *common, '--force') == 2
    assert 'a Git LFS pointer' in capsys.readouterr().err


def test_what_a_bag_leaves_out_is_said(walk, write_bag, messages, temperatures, capsys):
    rows = temperatures([10.0 * i for i in range(10)])
    rows[3] = (*rows[3][:3], rows[3][3][:9])
    write_bag(rows, name='bags/cut')
    common = '--config', './robot.yaml', '--rules', 'rules.yaml', '-o', 'labels.csv'
    assert label('bags', *common) == 0
    said = capsys.readouterr().out
    assert 'messages of /temperature left out (`bag situations` says why): cut\n' in said


def test_the_page_is_whole_and_needs_no_network(walk, tmp_path, capsys):
    (tmp_path / 'anna.csv').write_text('from,to,activity\n0,9,!hazard\n3,4,cause\n')
    common = walk, '--config', './robot.yaml', '--rules', 'rules.yaml', '--spans', 'anna.csv'
    assert label(*common, '-o', 'labels.csv', '--plot', 'page.html') == 0
    page = (tmp_path / 'page.html').read_text()
    assert not re.search(r'(src|href)="(?!#)', page)
    assert 'http' not in page
    for words in ('heat', 'person:anna', 'rule:hot', 'heat_high', 'Without readings: load'):
        assert words in page
    assert 'page.html: written' in capsys.readouterr().out


def test_a_name_in_a_bag_cannot_become_part_of_the_page(write_bag, temperatures, walk, tmp_path):
    bag = write_bag(temperatures([1.0] * 5), name='bags/<script>"x"&')
    common = bag, '--config', './robot.yaml', '--rules', 'rules.yaml', '-o', 'labels.csv'
    assert label(*common, '--plot', 'page.html') == 0
    page = (tmp_path / 'page.html').read_text()
    assert page.count('<script>') == 1
    assert '&lt;script&gt;' in page


def test_pictures_are_png_one_for_each_bag(walk, write_bag, temperatures, tmp_path, capsys):
    write_bag(temperatures([1.0] * 5), name='bags/run')
    common = '--config', './robot.yaml', '--rules', 'rules.yaml', '-o', 'labels.csv'
    assert label('bags', *common, '--plot', 'pictures') == 0
    found = sorted((tmp_path / 'pictures').iterdir())
    assert [path.name for path in found] == ['run.png', 'walk.png']
    assert all(path.read_bytes().startswith(b'\x89PNG') for path in found)
    assert label('bags', *common[:-1], 'more.csv', '--plot', 'pictures') == 2
    assert 'pictures/run.png: exists already' in capsys.readouterr().err
    assert label('bags', *common, '--plot', 'one.png', '--force') == 2
    assert 'a picture shows one recording, there are 2' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'complaint'),
    [
        (('bags', '--config', './robot.yaml'), 'expected --rules, --spans or both'),
        (('bags', '--rules', 'rules.yaml'), '--config is missing'),
        (
            ('bags', '--config', './robot.yaml', '--rules', 'genral'),
            'shipped rules: general',
        ),
        (
            ('w.npz', '--config', './robot.yaml', '--rules', 'rules.yaml'),
            '--config: .npz files',
        ),
        (('w.npz', 'bags', '--rules', 'rules.yaml'), 'found both: w.npz and bags'),
        (('w.npz', '--rules', 'rules.yaml'), 'w.npz: no such file'),
        (('nothing', '--config', './robot.yaml', '--rules', 'rules.yaml'), 'nothing: no such'),
        (('bags', '--config', './robot.yaml', '--spans', 'b.csv'), 'b.csv: no such file'),
    ],
)
def test_a_wrong_call_says_what_is_expected(walk, capsys, words, complaint):
    assert label(*words, '-o', 'labels.csv') == 2
    assert complaint in capsys.readouterr().err


def test_a_table_that_somebody_may_have_corrected_is_not_replaced(walk, tmp_path, capsys):
    common = walk, '--config', './robot.yaml', '--rules', 'rules.yaml', '-o'
    (tmp_path / 'labels.csv').write_text('mine')
    assert label(*common, 'labels.csv') == 2
    assert 'exists already' in capsys.readouterr().err
    assert (tmp_path / 'labels.csv').read_text() == 'mine'
    assert label(*common, 'rules.csv', '--plot', 'rules.yaml') == 2
    assert label(*common, 'labels.txt') == 2
    assert label(*common, 'labels.csv', '--force') == 0
    assert len(read_labels(tmp_path / 'labels.csv'))


def test_nothing_is_written_where_one_of_the_places_cannot_be(walk, tmp_path, capsys):
    words = (walk, '--config', './robot.yaml', '--rules', 'rules.yaml', '-o', 'labels.csv')
    assert label(*words, '--plot', '/proc/look.html') == 2
    assert '/proc/look.html: cannot be written: ' in capsys.readouterr().err
    assert not (tmp_path / 'labels.csv').exists()
    assert label(*words) == 0


def test_a_folder_of_bags_and_situations_leaves_neither_out_unseen(walk, capsys):
    (walk.parent / 'old.npz').write_bytes(b'')
    for config in ((), ('--config', './robot.yaml')):
        words = (walk.parent, *config, '--rules', 'rules.yaml', '-o', 'labels.csv')
        assert label(*words) == 2
        assert 'bags: holds bags (walk) and .npz files (old.npz); name those that are meant' in (
            capsys.readouterr().err
        )


def test_a_rule_on_an_event_that_never_came_is_noticed(walk, tmp_path, capsys):
    (tmp_path / 'rules.yaml').write_text(
        'rules:\n  - {name: after, activities: [hazard], when: '
        '{any: [{event: {code: bump, within: 5}}, {level: {signal: heat, above: 50}}]}}\n'
    )
    words = (walk, '--config', './robot.yaml', '--rules', 'rules.yaml', '-o', 'labels.csv')
    assert label(*words) == 0
    assert "rule after: event 'bump' never occurred; events that did: heat_high" in (
        capsys.readouterr().out
    )


def test_help_shows_examples(capsys):
    assert label('--help') == 0
    assert 'thinking-policy label bags/ --config' in capsys.readouterr().out


@pytest.mark.parametrize('content', [b'', b'PK', b'not an archive'])
def test_a_damaged_file_of_situations_is_named(walk, tmp_path, capsys, content):
    (tmp_path / 'w.npz').write_bytes(content)
    assert label('w.npz', '--rules', 'rules.yaml', '-o', 'labels.csv') == 2
    assert 'w.npz: not a file of situations, or damaged' in capsys.readouterr().err


def test_no_kind_of_damage_to_a_file_of_situations_is_a_traceback(walk, tmp_path):
    assert main(['bag', 'situations', str(walk), '--config', './robot.yaml', '-o', 'w.npz']) == 0
    whole = (tmp_path / 'w.npz').read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 300)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        (tmp_path / 'd.npz').write_bytes(damaged)
        with contextlib.suppress(LabelError):
            load_recording(tmp_path / 'd.npz')
