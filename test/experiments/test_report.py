# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from thinking_policy.experiments.experiment import (
    Cell,
    CellResult,
    Experiment,
    Options,
    Results,
    Stat,
    Table,
    stat,
)
from thinking_policy.experiments.plotting import compare_bars
from thinking_policy.experiments.report import (
    beside,
    heading,
    markdown,
    plus_minus,
    results_content,
    verdict,
    write_report,
)

PAPER = Stat(0.5, 0.05, 5)


@pytest.fixture
def results():
    cells = [
        CellResult(
            Cell('only', seed, settings={'steps': 3}),
            {'ours': {'f1': f1, 'lost': math.nan}},
            1.5,
            {'cores': 2},
            {'numpy': '2'},
        )
        for seed, f1 in ((0, 0.4), (1, 0.6))
    ]
    return Results(Options((0, 1)), cells, 2.0)


@pytest.fixture
def experiment():
    return Experiment(
        name='toy',
        version=1,
        title='A toy',
        plan=lambda options: [],
        run_cell=lambda cell, tell: {},
        tables=lambda results: [Table('Toy', ('method', 'F1'), [('ours', '0.500')], ('a note',))],
        draw=lambda results, figure: compare_bars(
            figure.subplots(), ['ours'], [results.stat('only', 'ours')], [PAPER]
        ),
        paper={'only': {'ours': 0.5}},
    )


def test_the_deviation_is_that_of_a_sample():
    assert stat([1.0, 2.0, 3.0, 4.0]) == Stat(2.5, pytest.approx(math.sqrt(5 / 3)), 4)
    assert stat([0.7]) == Stat(0.7, 0.0, 1)
    assert stat([]).n == 0


@pytest.mark.parametrize(
    ('mean', 'paper', 'said'),
    [
        (0.549, PAPER, '✓'),
        (0.451, PAPER, '✓'),
        (0.551, PAPER, '+0.051'),
        (0.4, PAPER, '-0.100'),
        (0.9996, Stat(1.0, 0.0, 5), '✓'),
        (0.999, Stat(1.0, 0.0, 5), '-0.001'),
    ],
)
def test_figures_within_a_deviation_of_the_paper_agree(mean, paper, said):
    assert verdict(Stat(mean, 0.0, 5), paper) == said


def test_what_was_not_measured_or_not_in_the_paper_is_a_dash():
    assert beside(stat([]), PAPER) == ('–', '0.500 ± 0.050', '–')
    assert beside(stat([0.5, 0.5]), None) == ('0.500 ± 0.000', '–', '')


def test_a_single_seed_has_no_deviation():
    assert plus_minus(stat([0.5])) == '0.500'


def test_the_heading_of_the_quick_form_says_what_it_is(experiment):
    assert heading(experiment, Options((0,))) == 'A toy; seed 0'
    quick = heading(experiment, Options((0, 1), quick=True))
    assert quick.startswith('QUICK FORM, not the experiment itself (fewer seeds and steps)')


def test_a_table_becomes_markdown(experiment, results):
    (table,) = experiment.tables(results)
    assert markdown(table).splitlines() == [
        '**Toy**',
        '',
        '| method | F1 |',
        '| --- | ---: |',
        '| ours | 0.500 |',
        '',
        'a note',
    ]


def test_results_hold_every_seed_the_aggregates_and_where_they_are_from(
    experiment, results, tmp_path
):
    write_report(experiment, results, tmp_path, plots=False)
    content = json.loads((tmp_path / 'results.json').read_text())
    assert [cell['figures']['ours']['f1'] for cell in content['cells']] == [0.4, 0.6]
    assert content['aggregates']['only']['ours']['f1'] == pytest.approx(
        {'mean': 0.5, 'sd': 0.1 * math.sqrt(2), 'n': 2}
    )
    assert content['cells'][0]['figures']['ours']['lost'] is None  # JSON has no NaN
    assert content['cells'][0]['settings'] == {'steps': 3}
    assert content['paper'] == {'only': {'ours': 0.5}}
    assert content['quick'] is False
    assert content['options'] == {'seeds': [0, 1], 'data': ''}
    assert (content['versions'], content['machine']) == ({'numpy': '2'}, {'cores': 2})
    assert content['wall_s'] == {'elapsed': 2.0, 'sum of cells': 3.0}
    assert not list(tmp_path.glob('*.png'))


def test_results_do_not_say_where_data_lay_on_this_machine(experiment):
    cell = Cell('only', 0, settings={'data': '/home/me/pump', 'table': 'a/1.csv'})
    results = Results(Options((0,), data=Path('/home/me/pump')), [CellResult(cell, {}, 1.0)])
    content = results_content(experiment, results)
    assert content['options']['data'] == 'pump'
    assert content['cells'][0]['settings'] == {'table': 'a/1.csv'}


def test_the_figure_is_the_same_for_the_same_results(experiment, results, tmp_path):
    *_, path = write_report(experiment, results, tmp_path, plots=True)
    first = path.read_bytes()
    assert first.startswith(b'\x89PNG')
    write_report(experiment, results, tmp_path, plots=True)
    assert path.read_bytes() == first
