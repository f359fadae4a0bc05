# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Running cells: in processes, kept one by one, gone on with, refused where they don't belong."""

from __future__ import annotations

import importlib
import json
import math
import sys

import pytest

from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Options
from thinking_policy.experiments.run import Watching, run

# Real worker processes import it, so it is a real module.
TOY = """
import os, signal
from pathlib import Path
from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Cell, Experiment

LOG = Path(__file__).with_name('log')

def plan(options):
    settings = {'factor': 1 if options.quick else 10}
    return [
        Cell(name, seed, settings=settings, alone=name == 'last')
        for seed in options.seeds for name in ('last', 'one', 'two')
    ]

def run_cell(cell, tell):
    print('noise on standard output')
    with LOG.open('a') as file:
        file.write(f'{cell.key} {os.getpid()} {os.environ["OMP_NUM_THREADS"]}\\n')
    tell('working', 0.5)
    if cell.seed == 13:
        raise ExperimentError('an unlucky seed')
    if cell.seed == 14:
        os.kill(os.getpid(), signal.SIGKILL)
    if cell.seed == 15:
        1 / 0
    none = {'lost': float('nan')} if cell.seed == 12 else {}
    return {'toy': {'f1': cell.seed * cell.settings['factor'], **none}}

EXPERIMENT = Experiment('toy', 1, 'A toy', plan, run_cell, lambda r: [], lambda r, f: None)
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    folder = tmp_path / 'code'
    folder.mkdir()
    (folder / 'toy_experiment.py').write_text(TOY)
    monkeypatch.syspath_prepend(folder)
    sys.modules.pop('toy_experiment', None)
    yield importlib.import_module('toy_experiment')
    sys.modules.pop('toy_experiment', None)


def ran(toy) -> list[str]:
    """Return the keys of the cells that were computed, in order."""
    if not toy.LOG.exists():
        return []
    return [line.split()[0] for line in toy.LOG.read_text().splitlines()]


def figures(results) -> list[float]:
    return [result.figures['toy']['f1'] for result in results.cells]


@pytest.mark.parametrize('jobs', [1, 3])
def test_results_come_in_the_order_of_the_plan_for_any_number_of_jobs(toy, tmp_path, jobs):
    results = run(toy.EXPERIMENT, Options((1, 2)), tmp_path / 'out', jobs=jobs)
    assert [result.cell.key for result in results.cells] == [
        f'{name}-seed{seed}' for seed in (1, 2) for name in ('last', 'one', 'two')
    ]
    assert figures(results) == [10.0] * 3 + [20.0] * 3
    assert results.stat('one', 'toy').mean == 15.0
    # What measures time runs when nothing else does, each process on one thread.
    assert sorted(ran(toy)[-2:]) == ['last-seed1', 'last-seed2']
    lines = [line.split() for line in toy.LOG.read_text().splitlines()]
    assert {line[2] for line in lines} == {'1'}
    assert len({line[1] for line in lines if not line[0].startswith('last')}) == jobs


def test_a_second_run_computes_nothing_and_more_seeds_only_the_new_ones(toy, tmp_path):
    out = tmp_path / 'out'
    first = run(toy.EXPERIMENT, Options((1,)), out)
    told = []
    watching = Watching(cell=lambda done, total, cell: told.append((done, total, cell)))
    again = run(toy.EXPERIMENT, Options((1,)), out, watching=watching)
    assert (figures(again), len(ran(toy))) == (figures(first), 3)
    assert told == [(3, 3, None)]
    assert again.elapsed_s == pytest.approx(first.elapsed_s, abs=1e-3)
    more = run(toy.EXPERIMENT, Options((1, 2)), out)
    assert figures(more) == [10.0] * 3 + [20.0] * 3
    assert len(ran(toy)) == 6


def test_a_failed_run_keeps_what_was_finished_and_goes_on(toy, tmp_path):
    out = tmp_path / 'out'
    with pytest.raises(ExperimentError, match='one-seed13: an unlucky seed'):
        run(toy.EXPERIMENT, Options((1, 13)), out)
    assert ran(toy) == ['one-seed1', 'two-seed1', 'one-seed13']
    run(toy.EXPERIMENT, Options((1, 2)), out)
    assert sorted(ran(toy)[3:]) == ['last-seed1', 'last-seed2', 'one-seed2', 'two-seed2']


@pytest.mark.parametrize(
    ('seed', 'said'),
    [
        (14, 'one-seed14: its process ended .killed by signal 9.; perhaps memory ran out'),
        (15, 'one-seed15: ZeroDivisionError: division by zero'),
    ],
)
def test_a_process_that_dies_is_an_error_that_names_the_cell(toy, tmp_path, seed, said):
    with pytest.raises(ExperimentError, match=said):
        run(toy.EXPERIMENT, Options((seed,)), tmp_path / 'out')


def test_damaged_and_outdated_cells_are_run_again(toy, tmp_path):
    out = tmp_path / 'out'
    run(toy.EXPERIMENT, Options((1,)), out)
    (out / 'cells' / 'one-seed1.json').write_text('{"fig')
    other = out / 'cells' / 'two-seed1.json'
    other.write_text(other.read_text().replace('"factor": 10', '"factor": 11'))
    changed = json.loads(other.read_text())
    other.write_text(json.dumps({**changed, 'fingerprint': '0' * 16}))
    assert figures(run(toy.EXPERIMENT, Options((1,)), out)) == [10.0] * 3
    assert sorted(ran(toy)[3:]) == ['one-seed1', 'two-seed1']


def test_a_figure_that_does_not_exist_is_the_same_when_gone_on_with(toy, tmp_path):
    for _ in range(2):
        results = run(toy.EXPERIMENT, Options((12,)), tmp_path / 'out')
        assert math.isnan(results.cells[0].figures['toy']['lost'])
        assert results.stat('one', 'toy', 'lost').n == 0
    assert len(ran(toy)) == 3


@pytest.mark.parametrize('figures', ['[1]', '{"toy": 1}', '{"toy": {"f1": "high"}}', '7'])
def test_a_cell_without_figures_is_run_again(toy, tmp_path, figures):
    out = tmp_path / 'out'
    first = run(toy.EXPERIMENT, Options((1,)), out)
    path = out / 'cells' / 'one-seed1.json'
    path.write_text(json.dumps({**json.loads(path.read_text()), 'figures': json.loads(figures)}))
    again = run(toy.EXPERIMENT, Options((1,)), out)
    assert [r.figures for r in again.cells] == [r.figures for r in first.cells]
    assert ran(toy)[3:] == ['one-seed1']


def test_a_folder_of_another_plan_is_refused_unless_fresh(toy, tmp_path):
    out = tmp_path / 'out'
    run(toy.EXPERIMENT, Options((1,)), out)
    with pytest.raises(ExperimentError, match=r'another plan \(quick False instead of True\)'):
        run(toy.EXPERIMENT, Options((1,), quick=True), out)
    mine = [out / 'mine.txt', out / 'mine.png', out / 'cells' / 'mine.json']
    for file in (*mine, out / 'toy.png'):
        file.write_text('kept')
    assert figures(run(toy.EXPERIMENT, Options((1,), quick=True), out, fresh=True)) == [1.0] * 3
    assert [file.read_text() for file in mine] == ['kept'] * 3
    assert not (out / 'toy.png').exists()


def test_a_folder_of_a_run_that_was_killed_at_its_very_start_is_taken(toy, tmp_path):
    out = tmp_path / 'out'
    out.mkdir()
    (out / '.plan.json.4711.partial').write_text('{"exp')
    assert figures(run(toy.EXPERIMENT, Options((1,)), out)) == [10.0] * 3


@pytest.mark.parametrize('text', ['', '{"exp', '[]', '7', '{}'])
def test_a_damaged_plan_is_said_and_can_be_replaced(toy, tmp_path, text):
    out = tmp_path / 'out'
    out.mkdir()
    (out / 'plan.json').write_text(text)
    with pytest.raises(ExperimentError, match=r'plan\.json: is damaged'):
        run(toy.EXPERIMENT, Options((1,)), out)
    assert figures(run(toy.EXPERIMENT, Options((1,)), out, fresh=True)) == [10.0] * 3


@pytest.mark.parametrize('what', ['numpy', 'code'])
def test_results_of_other_libraries_or_other_code_are_not_gone_on_with(toy, tmp_path, what):
    out = tmp_path / 'out'
    run(toy.EXPERIMENT, Options((1,)), out)
    plan = json.loads((out / 'plan.json').read_text())
    plan['versions'][what] = '1.0'
    (out / 'plan.json').write_text(json.dumps(plan))
    with pytest.raises(ExperimentError, match=rf'versions {what} 1.0 instead of {what} \w'):
        run(toy.EXPERIMENT, Options((1,)), out)


def test_a_folder_with_other_things_is_left_alone(toy, tmp_path):
    (tmp_path / 'letter.txt').write_text('dear')
    for fresh in (False, True):
        with pytest.raises(ExperimentError, match=r'found other files and no plan\.json'):
            run(toy.EXPERIMENT, Options((1,)), tmp_path, fresh=fresh)
    assert (tmp_path / 'letter.txt').read_text() == 'dear'


def test_a_caller_that_stops_ends_the_processes_and_keeps_what_is_finished(toy, tmp_path):
    out = tmp_path / 'out'

    def stop(done, total, cell):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(toy.EXPERIMENT, Options((1, 2)), out, watching=Watching(cell=stop))
    assert len(list((out / 'cells').glob('*.json'))) == 2
    assert json.loads((out / 'plan.json').read_text())['elapsed_s'] > 0


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        (Options(()), '--seeds: expected at least one seed'),
        (Options((1, 1)), '--seeds: expected at least one seed, each once'),
    ],
)
def test_odd_options_are_refused_before_anything_is_written(toy, tmp_path, options, said):
    with pytest.raises(ExperimentError, match=said):
        run(toy.EXPERIMENT, options, tmp_path / 'out')
    assert not (tmp_path / 'out').exists()
