# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy experiment`: the real command, in the quick form."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from thinking_policy.cli import main
from thinking_policy.cli.experiment import parse_seeds
from thinking_policy.cli.experiment_progress import Shares, remaining
from thinking_policy.experiments.catalogue import EXPERIMENTS, load
from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Cell
from thinking_policy.training.learning_files import load_learning_set

# Where tests run in the background, Ctrl-C is ignored, and children inherit that.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from thinking_policy.cli import main
raise SystemExit(main(sys.argv[1:]))
"""
COMMAND = (sys.executable, '-c', PROGRAM, 'experiment')


def experiment(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)


def quick(name: str, out: Path, *words: str) -> dict:
    """Run the quick form and return results.json."""
    done = experiment(name, '--quick', '--out', str(out), *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('QUICK FORM, not the experiment itself')
    return json.loads((out / 'results.json').read_text())


def mean(content: dict, name: str, method: str, metric: str = 'f1') -> float:
    return content['aggregates'][name][method][metric]['mean']


def check_complete(content: dict, out: Path) -> None:
    """Check that everything is there that a reader of results needs."""
    assert content['quick'] is True
    assert content['options']['seeds'] == [0, 1]
    assert content['paper']
    assert set(content['machine']) >= {'processor', 'cores', 'system'}
    for library in ('python', 'numpy', 'torch', 'onnxruntime', 'faiss-cpu', 'scikit-learn'):
        assert content['versions'][library][0].isdigit()
    assert content['wall_s']['elapsed'] > 0
    assert all(cell['wall_s'] > 0 and cell['figures'] for cell in content['cells'])
    (figure,) = out.glob('*.png')
    assert figure.read_bytes().startswith(b'\x89PNG')
    assert (out / 'table.md').read_text().startswith('# QUICK FORM')


@pytest.mark.slow
def test_ordering_shows_that_only_the_policy_learns_the_order(tmp_path):
    content = quick('ordering', tmp_path)
    check_complete(content, tmp_path)
    for policy in ('reference policy', 'robot policy'):
        assert mean(content, 'ordering', policy) >= 0.99
    assert mean(content, 'ordering', 'Summary-RAG') == pytest.approx(0.54, abs=0.03)
    assert mean(content, 'ordering', 'RF-Summary') == pytest.approx(0.38, abs=0.05)
    again = experiment('ordering', '--quick', '--out', str(tmp_path))
    assert '6 of 6 cells are there already, nothing to run' in again.stderr
    assert json.loads((tmp_path / 'results.json').read_text()) == content


@pytest.mark.slow
def test_evolution_shows_that_the_last_sample_is_not_enough(tmp_path):
    content = quick('evolution', tmp_path)
    check_complete(content, tmp_path)
    for policy in ('reference policy', 'robot policy'):
        assert mean(content, 'evolution', policy) >= 0.99
    for method in ('Current-State-Only', 'Current-State-Only, robot network'):
        assert 0.55 <= mean(content, 'evolution', method) <= 0.78


@pytest.mark.slow
def test_scalability_shows_what_retrieval_costs(tmp_path):
    content = quick('scalability', tmp_path)
    check_complete(content, tmp_path)
    for history in (500, 2000):
        name = f'N{history}'
        assert mean(content, name, 'robot policy') >= 0.99
        assert mean(content, name, 'Sequence-RAG, flat') == 1.0
        assert mean(content, name, 'Sequence-RAG, HNSW') >= 0.98
        assert mean(content, name, 'Sequence-RAG, HNSW', 'recall@4') >= 0.75
        assert mean(content, name, 'Summary-RAG') == pytest.approx(0.482, abs=0.03)
        assert mean(content, name, 'Sequence-RAG, flat', 'bytes') == 312 * history
        assert mean(content, name, 'robot policy', 'bytes') <= 30_000
        assert mean(content, name, 'robot policy', 'online records') == 0
    assert mean(content, 'N500', 'reference policy') >= 0.99
    assert mean(content, 'N500', 'reference policy', 'bytes') == 7_358_240
    timing = content['aggregates']['timing']
    assert timing['identity graph']['warm p50 ms']['mean'] > 0
    for state in ('warm', 'after sleep', 'batched'):
        for contender in ('robot policy, ONNX Runtime', 'Sequence-RAG, flat, 2,000'):
            assert timing[contender][f'{state} p50 ms']['mean'] > 0


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path):
    words = [*COMMAND, 'ordering', '--quick', '--seeds', '0', '--jobs', '1', '--out']
    out = tmp_path / 'out'
    with subprocess.Popen(
        [*words, str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said, rest = process.communicate()
    assert first.startswith('1/3 cells: ordering-')
    assert process.returncode == 130
    assert 'finished cells are kept' in said
    assert 'Traceback' not in rest
    kept = {path.name: path.stat().st_mtime_ns for path in (out / 'cells').iterdir()}
    assert 1 <= len(kept) < 3
    content = quick('ordering', out, '--seeds', '0')
    assert mean(content, 'ordering', 'robot policy') >= 0.99
    assert all((out / 'cells' / name).stat().st_mtime_ns == time for name, time in kept.items())


def test_the_sets_of_a_seed_can_be_written_for_train_and_evaluate(tmp_path, capsys):
    assert main(['experiment', 'ordering', '--seeds', '100', '--write-data', str(tmp_path)]) == 0
    assert 'ordering-seed100-test.npz (400 situations)' in capsys.readouterr().out
    train = load_learning_set(tmp_path / 'ordering-seed100-train.npz')
    assert train.sha256 == load('ordering').data_sets(100, False)['train'].sha256


def test_the_thinking_of_a_robot_is_not_overwritten_by_that_of_the_sets(tmp_path, capsys):
    robots = tmp_path / 'thinking.yaml'
    robots.write_text('activities: []\n')
    words = ['experiment', 'ordering', '--seeds', '100', '--write-data']
    assert main([*words, str(tmp_path)]) == 2
    assert 'is there already with other content' in capsys.readouterr().err
    assert robots.read_text() == 'activities: []\n'
    assert main([*words, str(robots)]) == 2
    assert 'thinking.yaml: cannot be written' in capsys.readouterr().err


def test_a_disk_that_is_full_leaves_no_half_list_of_activities(tmp_path, capsys, monkeypatch):
    def full(path, text, **_):
        with path.open('w') as file:
            file.write(text[:10])
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(Path, 'write_text', full)
    words = ['experiment', 'ordering', '--seeds', '100', '--write-data', str(tmp_path)]
    assert main(words) == 2
    assert 'No space left on device' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('name', EXPERIMENTS)
def test_every_experiment_of_the_catalogue_is_there_under_its_name(name):
    assert load(name).name == name


def test_the_list_names_every_experiment(capsys):
    assert main(['experiment', 'list']) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(EXPERIMENTS)


def test_an_unknown_experiment_is_one_line_that_names_those_there_are(capsys):
    assert main(['experiment', 'guessing']) == 2
    said = capsys.readouterr().err
    assert said.count('\n') == 1
    assert "no experiment 'guessing'; expected one of scalability, ordering" in said


def test_a_missing_library_is_named_with_the_extra_that_brings_it(monkeypatch, capsys):
    monkeypatch.setattr('thinking_policy.cli.experiment.NEEDED', ('torch', 'no_such_library'))
    assert main(['experiment', 'ordering']) == 2
    said = capsys.readouterr().err
    assert "no_such_library not installed; install the extra: pip install 'thinking" in said
    assert 'thinking_policy[experiments]' in said


@pytest.mark.parametrize(
    ('text', 'seeds'),
    [('0-4', (0, 1, 2, 3, 4)), ('0,1,2', (0, 1, 2)), ('7', (7,)), ('1-2,9', (1, 2, 9))],
)
def test_seeds_may_be_ranges_and_lists(text, seeds):
    assert parse_seeds(text) == seeds


def test_seeds_that_no_library_takes_are_refused():
    assert parse_seeds('2147483647') == (2147483647,)
    with pytest.raises(ExperimentError, match='expected seeds up to 2,147,483,647'):
        parse_seeds('2147483648')


@pytest.mark.parametrize('text', ['', 'a', '1-', '4-1', '0,0', '-1', '0-99999999'])
def test_odd_seeds_are_refused(text):
    with pytest.raises(ExperimentError, match='expected whole numbers from 0 on'):
        parse_seeds(text)


def test_the_time_left_goes_by_the_pace_of_this_run_only():
    clock = iter([100.0, 110.0]).__next__
    shares = Shares(clock)
    shares.finish(4, 8, None)  # found at the start
    assert shares.seconds_left() is None
    shares.finish(5, 8, Cell('a', 0))
    shares.advance(Cell('b', 0), 0.5)
    assert shares.completed == 5.5
    assert shares.seconds_left() == pytest.approx(10 / 1.5 * 2.5)
    assert remaining(20.4) == 'about 20 s left,'
    assert remaining(200) == 'about 3 min left,'
    assert remaining(None) == ''
