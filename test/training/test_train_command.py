# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`train`, `evaluate` and `distil` as people call them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from thinking_policy.cli import main
from thinking_policy.cli.scores import print_scores
from thinking_policy.cli.train import too_often
from thinking_policy.policy import read_manifest
from thinking_policy.training.evaluation import evaluate
from thinking_policy.training.learning_files import save_learning_set


@pytest.fixture
def data(situations, tmp_path):
    path = tmp_path / 'walk.npz'
    save_learning_set(path, situations())
    return path


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def train(data, two_activities, output, *more):
    quick = ['--steps', '600', '--batch', '64', '--width', '16', '--patience', '0']
    return main(
        ['train', str(data), '-o', str(output), '--activities', str(two_activities), *quick, *more]
    )


def test_trained_twice_the_files_are_the_same(data, two_activities, tmp_path, capsys):
    assert train(data, two_activities, tmp_path / 'a.onnx') == 0
    told = capsys.readouterr()
    assert 'step 600 of 600' in told.err
    assert '90 test rows, never learned from' in told.out
    assert 'not learned, since no label names them: g2' in told.out
    assert read_manifest(tmp_path / 'a.onnx').version in told.out
    assert train(data, two_activities, tmp_path / 'b.onnx') == 0
    assert sha256(tmp_path / 'a.onnx') == sha256(tmp_path / 'b.onnx')
    assert sorted(p.suffix for p in tmp_path.iterdir()) == ['.npz', '.onnx', '.onnx', '.yaml']


def test_the_time_comes_from_the_data_and_not_from_the_clock(
    data, two_activities, tmp_path, monkeypatch
):
    with np.load(data) as file:
        content = {name: file[name] for name in file.files}
    np.savez(data, **content, stamp_ns=np.arange(600) + 1_700_000_000 * 10**9)
    assert train(data, two_activities, tmp_path / 'a.onnx') == 0
    assert read_manifest(tmp_path / 'a.onnx').created == '2023-11-14T22:13:20Z'
    monkeypatch.setenv('SOURCE_DATE_EPOCH', '1600000000')
    assert train(data, two_activities, tmp_path / 'b.onnx') == 0
    assert read_manifest(tmp_path / 'b.onnx').created == '2020-09-13T12:26:40Z'


def test_a_time_that_is_no_number_is_said(data, two_activities, tmp_path, monkeypatch, capsys):
    for said in ('yesterday', '²', '99999999999999'):
        monkeypatch.setenv('SOURCE_DATE_EPOCH', said)
        assert train(data, two_activities, tmp_path / 'a.onnx') == 2
        assert 'SOURCE_DATE_EPOCH: expected seconds since 1970' in capsys.readouterr().err


def test_false_activation_that_no_threshold_keeps_to_is_said():
    found = SimpleNamespace(activities=('a', 'b'), false_activation=np.array([0.02, 0.0]))
    assert list(too_often(found, 0.02)) == []
    assert list(too_often(found, 0.001)) == [
        'more often active without need than 0.001 of the rows: a 0.0200'
    ]


def test_events_none_leaves_packed_events_unread(data, two_activities, tmp_path):
    with np.load(data) as file:
        content = {name: file[name] for name in file.files}
    rows = len(content['window'])
    events = {
        'vocabulary': np.array(['bump']),
        'recent_code': np.ones((rows, 2), np.int64),
        'recent_age': np.ones((rows, 2), np.float32),
        'code_age': np.ones((rows, 1), np.float32),
        'code_count': np.ones((rows, 1), np.float32),
    }
    np.savez(data, **content, **events)
    for words, known in (((), ()), (('--events', 'all'), ('bump',))):
        path = tmp_path / f'{len(words)}.onnx'
        assert train(data, two_activities, path, *words, '--steps', '10') == 0
        assert read_manifest(path).event_vocabulary == known
        # A policy is measured on what it learned from, whether it reads the events or not.
        assert main(['evaluate', str(path), str(data)]) == 0


def test_events_none_does_not_even_look_at_packed_events(data, two_activities, tmp_path, capsys):
    with np.load(data) as file:
        content = {name: file[name] for name in file.files}
    np.savez(data, **content, vocabulary=np.array(['bump']), recent_code=np.array('damaged'))
    path = tmp_path / 'p.onnx'
    assert train(data, two_activities, path, '--steps', '10') == 0
    assert read_manifest(path).event_vocabulary == ()
    path = tmp_path / 'q.onnx'
    assert train(data, two_activities, path, '--events', 'all', '--steps', '10') == 2
    assert "expected an array 'recent_age'" in capsys.readouterr().err


def test_the_robot_is_named_as_its_data_wherever_they_are(
    data, two_activities, tmp_path, monkeypatch
):
    folder = tmp_path / 'arm'
    (folder / 'inner').mkdir(parents=True)
    data.rename(folder / 'walk.npz')
    path = tmp_path / 'p.onnx'
    for here, given in ((folder, '.'), (folder / 'inner', '..'), (folder, 'walk.npz')):
        monkeypatch.chdir(here)
        assert train(given, two_activities, path, '--steps', '10', '--force') == 0
        expected = 'walk' if given == 'walk.npz' else 'arm'
        assert read_manifest(path).robot == expected


def test_a_policy_is_replaced_only_by_force(data, two_activities, tmp_path, capsys):
    path = tmp_path / 'p.onnx'
    assert train(data, two_activities, path, '--steps', '10') == 0
    first = path.read_bytes()
    assert train(data, two_activities, path, '--steps', '10', '--seed', '1') == 2
    assert 'p.onnx: exists already; choose another name or replace it with --force' in (
        capsys.readouterr().err
    )
    assert path.read_bytes() == first
    assert train(data, two_activities, path, '--steps', '10', '--seed', '1', '--force') == 0
    assert path.read_bytes() != first


def test_a_policy_is_written_under_the_name_of_one(data, two_activities, tmp_path, capsys):
    assert train(data, two_activities, tmp_path / 'notes.txt', '--force') == 2
    assert 'notes.txt: expected a name that ends in .onnx' in capsys.readouterr().err


def test_a_share_of_no_rows_is_not_shown_as_a_figure(situations, capsys):
    learning = situations()
    found = evaluate(np.zeros(learning.labels.shape, np.float32), learning, [0.5, 0.5])
    print_scores(found, 'never active')
    due = int(learning.labels[:, 0].sum())
    lines = capsys.readouterr().out.splitlines()
    # Never active: there is no precision, and everything that is due is missed.
    (row,) = (line.split() for line in lines if line.startswith(f'{learning.activities[0]} '))
    assert row[1:6] == ['0.50', str(due), '–', '0.000', '0.000']
    assert row[7:] == ['0', str(due)]


def test_where_nothing_can_be_written_is_said_before_the_work(data, two_activities, capsys):
    assert train(data, two_activities, '/proc/p.onnx') == 2
    said = capsys.readouterr()
    assert '/proc/p.onnx: cannot be written: ' in said.err
    assert 'step' not in said.err


def test_with_one_episode_no_share_is_advised(data, two_activities, tmp_path, situations, capsys):
    path = tmp_path / 'p.onnx'
    for episodes, advised in ((1, False), (2, True)):
        learning = situations()
        save_learning_set(data, dataclasses.replace(learning, episode=learning.episode % episodes))
        assert train(data, two_activities, path) == 2
        said = capsys.readouterr().err
        assert f'at least 3 episodes to split, found {episodes}' in said
        assert ('--test 0' in said) == advised
    assert train(data, two_activities, path, '--test', '0', '--steps', '10') == 0


def test_evaluate_shows_figures_as_a_table_as_json_and_as_a_picture(
    data, two_activities, tmp_path, situations, capsys
):
    train(data, two_activities, tmp_path / 'p.onnx')
    save_learning_set(tmp_path / 'other.npz', situations(200, seed=9))
    policy, other = str(tmp_path / 'p.onnx'), str(tmp_path / 'other.npz')
    capsys.readouterr()
    assert main(['evaluate', policy, other, '--robustness']) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert '50% of samples' in out
    picture = tmp_path / 'p.png'
    assert main(['evaluate', policy, other, '--json', '--plot', str(picture)]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures['rows'] == 200
    assert figures['overall']['f1'] > 0.95
    assert set(figures['activities']) == {'g0', 'g1'}
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert f'{figures["overall"]["f1"]:.3f}' in out


def test_evaluate_takes_data_that_label_only_some_of_the_activities(
    data, two_activities, tmp_path, situations, capsys
):
    train(data, two_activities, tmp_path / 'p.onnx')
    learning = situations(100, seed=9)
    save_learning_set(
        tmp_path / 'some.npz',
        dataclasses.replace(
            learning,
            activities=('g1',),
            labels=learning.labels[:, 1:],
            weight=learning.weight[:, 1:],
        ),
    )
    capsys.readouterr()
    assert main(['evaluate', str(tmp_path / 'p.onnx'), str(tmp_path / 'some.npz'), '--json']) == 0
    activities = json.loads(capsys.readouterr().out)['activities']
    assert activities['g0']['due'] == 0
    assert activities['g1']['due'] > 10


def test_distil_names_its_teacher_as_parent(data, two_activities, tmp_path, capsys):
    train(data, two_activities, tmp_path / 'p.onnx')
    words = ['distil', str(tmp_path / 'p.onnx'), str(data), '-o', str(tmp_path / 's.onnx')]
    assert main([*words, '--steps', '600', '--width', '16', '--patience', '0']) == 0
    student = read_manifest(tmp_path / 's.onnx')
    assert student.parent == read_manifest(tmp_path / 'p.onnx').version
    assert student.training['distilled'] == pytest.approx(0.7)
    assert student.network == 'centred perceptron 16-16'
    assert student.metrics['f1'] > 0.95


@pytest.mark.parametrize(
    ('options', 'says'),
    [
        (['--recipe', 'fast'], "--recipe: expected one of ['robot', 'reference'], found 'fast'"),
        (['--weights', 'int4'], "--weights: expected one of ['float32', 'float16', 'int8']"),
        (['--validation', '0.9'], 'expected shares'),
        (['--activities', 'none.yaml'], 'none.yaml'),
        (['--events', 'bump'], "expected an array 'stamp_ns'"),
        (['--events', 'bump,bump'], '--events: expected none, all, or codes'),
        (['--events', ''], '--events: expected none, all, or codes'),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    data, two_activities, tmp_path, capsys, options, says
):
    assert train(data, two_activities, tmp_path / 'p.onnx', *options) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count('\n') == 1
    assert not (tmp_path / 'p.onnx').exists()


@pytest.mark.parametrize(
    ('words', 'says'),
    [
        (['-o', 'walk.npz'], 'walk.npz: is read by this command'),
        (['-o', 'thinking.yaml'], 'thinking.yaml: is read by this command'),
        (['-o', 'pipe'], 'pipe: is there and not a file'),
        (['-o', '.'], '.: is a folder'),
        (['-o', 'walk.npz/p.onnx'], 'walk.npz/p.onnx: cannot be written'),
        (['-o', 'p.onnx', '--checkpoint', 'p.onnx'], 'p.onnx: is the output'),
        (['-o', 'p.onnx', '--checkpoint', 'walk.npz', '--fresh'], 'walk.npz: is read by'),
        (['-o', 'p.onnx', '--checkpoint', 'pipe', '--fresh'], 'pipe: is there and not a file'),
    ],
)
def test_nothing_is_replaced_that_is_no_policy_file(
    data, two_activities, tmp_path, capsys, monkeypatch, words, says
):
    monkeypatch.chdir(tmp_path)
    os.mkfifo('pipe')
    whole = data.read_bytes()
    for command in (['train', '--activities', 'thinking.yaml'], ['distil', 'thinking.yaml']):
        if command[0] == 'distil' and 'walk.npz' not in words:
            continue
        assert main([*command, 'walk.npz', *words]) == 2
        error = capsys.readouterr().err
        assert says in error
        assert error.count('\n') == 1
    assert data.read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        'pipe',
        'thinking.yaml',
        'walk.npz',
    ]


def test_data_in_the_folder_that_is_read_are_not_replaced_but_a_policy_there_is_fine(
    data, two_activities, tmp_path, capsys
):
    assert main(['train', str(tmp_path), '-o', str(data)]) == 2
    assert 'walk.npz: is read by this command' in capsys.readouterr().err
    assert train(tmp_path, two_activities, tmp_path / 'p.onnx', '--steps', '1') == 0


def test_codes_that_never_occur_are_not_learned_from(data, two_activities, tmp_path, capsys):
    with np.load(data) as file:
        content = dict(file)
    stamps = np.arange(600) * 10**9
    events = {'event_row': np.arange(600), 'event_stamp_ns': stamps}
    codes = np.where(np.arange(600) % 2, 'bump', 'slip')
    np.savez(data, **content, stamp_ns=stamps, **events, event_code=codes)
    assert train(data, two_activities, tmp_path / 'p.onnx', '--events', 'bump,fall') == 2
    assert "--events: ['fall'] never occur in" in capsys.readouterr().err
    options = ['--steps', '1', '--events', 'slip, bump']
    assert train(data, two_activities, tmp_path / 'p.onnx', *options) == 0
    assert read_manifest(tmp_path / 'p.onnx').event_vocabulary == ('slip', 'bump')


@pytest.mark.parametrize(('picture', 'says'), [
    ('p.onnx', 'p.onnx: is read by this command'),
    ('p.jpg', 'expected a name that ends with .png'),
    ('none/p.png', 'no such folder'),
])  # fmt: skip
def test_a_picture_replaces_no_policy_and_is_refused_before_all_else(
    tmp_path, capsys, monkeypatch, picture, says
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'p.onnx').write_bytes(b'kept')
    assert main(['evaluate', 'p.onnx', 'none.npz', '--plot', picture]) == 2
    assert says in capsys.readouterr().err
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [('p.onnx', b'kept')]


def test_an_empty_class_is_said(data, two_activities, tmp_path, situations, capsys):
    learning = situations()
    save_learning_set(data, dataclasses.replace(learning, labels=learning.labels * [1, 0]))
    assert train(data, two_activities, tmp_path / 'p.onnx') == 2
    assert "walk.npz: activity 'g1' is an empty class" in capsys.readouterr().err


def test_ctrl_c_keeps_the_state_and_the_same_command_goes_on(
    data, two_activities, tmp_path, capsys
):
    def words(name):
        options = ['--steps', '1000', '--batch', '16', '--width', '16', '--patience', '0']
        lists = ['--activities', str(two_activities)]
        return ['train', str(data), '-o', str(tmp_path / name), *lists, *options]

    code = 'import sys; from thinking_policy.cli import main; sys.exit(main())'
    begun = subprocess.Popen(
        [sys.executable, '-c', code, *words('p.onnx')],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert begun.stderr.readline().startswith('step 100 of 1000')
    os.kill(begun.pid, signal.SIGINT)
    said = begun.stderr.read()
    assert begun.wait(60) == 130
    assert 'the same command goes on from there' in said
    assert 'Traceback' not in said
    assert (tmp_path / 'p.onnx.checkpoint').exists()
    assert not (tmp_path / 'p.onnx').exists()
    assert main(words('p.onnx')) == 0
    assert 'step 100 of 1000' not in capsys.readouterr().err
    assert not (tmp_path / 'p.onnx.checkpoint').exists()
    assert main(words('whole.onnx')) == 0
    assert sha256(tmp_path / 'p.onnx') == sha256(tmp_path / 'whole.onnx')
