# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Alarms on labelled tables: the tables, the protocol, and that a robot would say the same."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

import numpy as np
import pytest

from thinking_policy.experiments import novelty
from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import CellResult, Options, Results, silent
from thinking_policy.experiments.labelled_table import (
    configuration,
    groups_of,
    read_table,
    situations,
    ticks_of_rows,
    without_gaps,
)
from thinking_policy.policy.nominal import nominal_ranges

ROWS, FAULT = 700, slice(500, 600)
BEGIN = datetime(2020, 3, 9, 10, 14, 33)


def write_table(path, seed=100, shift=4.0, labelled=True, rows=ROWS):
    """Write a table with noise, a drift, a fault in the noise, and seconds without a row."""
    random = np.random.default_rng(seed)
    flow, drift = 32.0 + random.standard_normal(rows), np.cumsum(random.standard_normal(rows))
    fault = np.zeros(rows, int)
    fault[FAULT] = 1
    flow += shift * fault
    after = np.cumsum(1 + (random.random(rows) < 0.05))
    after[300:] += 70  # a pause, as three of the recordings have
    lines = ['datetime;Flow;Temperature' + (';anomaly;changepoint' if labelled else '')]
    for second, f, d, label in zip(after.tolist(), flow, drift, fault, strict=True):
        cells = [str(BEGIN + timedelta(seconds=second)), f'{f:.5f}', f'{d:.5f}']
        lines.append(';'.join(cells + ([f'{label}.0', '0.0'] if labelled else [])))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('\n'.join(lines) + '\n')
    return path


@pytest.fixture(scope='module')
def table(tmp_path_factory):
    return read_table(write_table(tmp_path_factory.mktemp('data') / 'valve' / '0.csv'))


def test_a_table_is_read_with_its_labels(table):
    assert (table.name, table.columns) == ('valve/0.csv', ('Flow', 'Temperature'))
    assert table.values.shape == (ROWS, 2)
    assert np.flatnonzero(table.anomaly).tolist() == list(range(500, 600))
    assert table.stamp_ns[0] in (1583748874_000000000, 1583748875_000000000)


def test_an_alarm_is_raised_in_the_fault_and_not_by_the_drift(table):
    alarm = novelty.alarms(table)
    assert alarm[510:600].mean() > 0.95
    assert alarm[:500].mean() < 0.02
    assert alarm[620:].mean() < 0.02


def test_a_signal_that_never_moved_while_calibrating_is_watched_all_the_same(table):
    still = table.values.copy()
    still[:, 0] = 32.0
    still[FAULT, 0] = 38.0
    alarm = novelty.alarms(dataclasses.replace(table, values=still))
    assert alarm[510:600].all()
    assert not alarm[:500].any()


def test_an_alarm_knows_nothing_of_what_comes_later(table):
    cut = dataclasses.replace(
        table,
        stamp_ns=table.stamp_ns[:550],
        values=table.values[:550],
        anomaly=table.anomaly[:550],
    )
    assert novelty.alarms(cut).tolist() == novelty.alarms(table)[:550].tolist()


def test_every_row_belongs_to_the_first_tick_that_knows_it(table):
    config = configuration(table, 10)
    ticks = list(situations(table, config))
    rows = ticks_of_rows(table, np.array([s.stamp_ns for s in ticks]))
    for row in (0, 399, 650, ROWS - 1):
        tick = ticks[rows[row]]
        assert 0 <= tick.stamp_ns - table.stamp_ns[row] < 1_000_000_000
        assert [r.value for r in tick.readings] == table.values[row].tolist()


def test_a_bag_of_the_same_messages_gives_the_same_alarms(table, tmp_path):
    pytest.importorskip('rosbags')
    from thinking_policy.bags import open_bag, situations_of
    from thinking_policy.bags.csv_map import load_csv_map
    from thinking_policy.bags.from_csv import bag_from_csv

    path = write_table(tmp_path / 'valve' / '0.csv')
    (tmp_path / 'map.yaml').write_text(
        "separator: ';'\n"
        "time: {column: datetime, format: '%Y-%m-%d %H:%M:%S', timezone: UTC}\n"
        'columns:\n'
        '  Flow: {topic: /signal_0, type: std_msgs/msg/Float64, field: data}\n'
        '  Temperature: {topic: /signal_1, type: std_msgs/msg/Float64, field: data}\n'
    )
    bag_from_csv(path, load_csv_map(tmp_path / 'map.yaml'), tmp_path / 'bag')
    values = table.values[: novelty.FIT_ROWS]
    config = nominal_ranges(configuration(table, 10), values).config
    ours = list(situations(table, config))
    with open_bag(tmp_path / 'bag') as bag:
        robots = list(situations_of(bag, config))
    assert len(ours) == len(robots)
    for one, other in zip(ours, robots, strict=True):
        assert one.stamp_ns == other.stamp_ns
        assert one.episode == other.episode
        assert one.window.tobytes() == other.window.tobytes()
        assert one.valid.tobytes() == other.valid.tobytes()


def test_counts_and_rates():
    flags = np.array([1, 1, 1, 0, 0, 0, 0, 0], bool)
    anomaly = np.array([1, 1, 0, 1, 0, 0, 0, 0], bool)
    found = novelty.counted(flags, anomaly)
    assert [found[name] for name in novelty.COUNTS] == [2, 1, 1, 4]
    assert found['f1'] == pytest.approx(2 / 3)
    assert (found['false_alarm_rate'], found['missing_alarm_rate']) == (0.2, pytest.approx(1 / 3))


def test_the_mahalanobis_distance_sees_a_broken_relation():
    random = np.random.default_rng(100)
    one = random.standard_normal(700)
    values = np.column_stack([one, one + 0.1 * random.standard_normal(700)])
    values[500:, 1] = -values[500:, 1]
    alarm = novelty.mahalanobis_alarms(values)
    assert alarm[520:].mean() > 0.7
    assert alarm[:300].mean() < 0.05


@pytest.fixture(scope='module')
def results(tmp_path_factory):
    """Return what a folder of three tables gave, one of them without labels."""
    folder = tmp_path_factory.mktemp('skab')
    write_table(folder / 'valve' / '2.csv')
    write_table(folder / 'valve' / '10.csv', seed=101, shift=0.0)
    write_table(folder / 'free' / 'free.csv', seed=102, shift=0.0, labelled=False)
    options = Options((0,), data=folder)
    cells = novelty.plan(options)
    return Results(
        options, [CellResult(cell, novelty.run_cell(cell, silent), 0.0) for cell in cells]
    )


def test_there_is_a_cell_for_each_table_in_order(results):
    assert [result.cell.key for result in results.cells] == [
        'free-free-seed0',
        'valve-2-seed0',
        'valve-10-seed0',
    ]


def test_rows_are_pooled_over_labelled_tables_alone(results):
    found = novelty.pooled(results, novelty.OURS)
    assert found['tables'] == 2
    assert sum(found[name] for name in novelty.COUNTS) == 2 * (ROWS - novelty.FIT_ROWS)
    # Of the two faults one moves nothing.
    assert found['missing_alarm_rate'] == pytest.approx(0.5, abs=0.03)
    every = novelty.pooled(results, novelty.ALL_ALARM)
    assert every['f1'] == pytest.approx(2 * 200 / (2 * 200 + 400))


def test_tables_show_methods_groups_and_recordings(results):
    whole, groups, single = novelty.tables(results)
    assert [row[0] for row in whole.rows][:3] == list(novelty.METHODS)
    assert ('MSET (leaderboard)', '0.780', '0.397', '0.141') in whole.rows
    assert [row[0] for row in groups.rows] == ['valve'] * 3
    assert [row[0] for row in single.rows] == ['valve/2', 'valve/10', 'free/free, no labels']
    assert single.rows[2][1] == '–'


def test_without_any_labels_nothing_is_said_of_the_methods(results):
    free = Results(results.options, results.cells[:1])
    whole, groups, _ = novelty.tables(free)
    assert whole.rows[0] == (novelty.OURS, '–', '–', '–')
    assert groups.rows == []


def test_the_figure_can_be_drawn(results, tmp_path):
    from thinking_policy.experiments.plotting import write_figure

    write_figure(lambda figure: novelty.draw(results, figure), tmp_path / 'a.png')
    assert (tmp_path / 'a.png').stat().st_size > 10_000


def test_the_quick_form_takes_a_few_tables_of_each_group(results):
    for name in ('3', '4', '5'):
        write_table(results.options.data / 'more' / f'{name}.csv')
    cells = novelty.plan(dataclasses.replace(results.options, quick=True))
    assert len(cells) == 6
    assert cells[0].settings['sha256'] != cells[1].settings['sha256']


@pytest.mark.parametrize(('text', 'expected'), [
    ('', 'expected rows below a heading datetime;<signals>;anomaly'),
    ('datetime;a\n', 'found 0 rows'),
    ('time;a\n1;2\n', "the heading 'time;a'"),
    ('datetime;a\n2020-03-09 10:00:00;1;2\n', 'line 2: expected 2 cells, found 3'),
    ('datetime;a\nyesterday;1\n', "line 2: datetime: expected a time such as .* 'yesterday'"),
    ('datetime;a\n1920-03-09 10:00:00;1\n', "line 2: datetime: expected a time .* '1920-"),
    ('datetime;a\n0001-03-09 10:00:00;1\n', "line 2: datetime: expected a time .* '0001-"),
    ('datetime;a\n\n2020-03-09 10:00:00;x\n', "line 3: a: expected a number, .* found 'x'"),
    ('datetime;a\n2020-03-09 10:00:00;1,5\n', "line 2: a: expected a number, .* found '1,5'"),
    ('datetime;a;a\n2020-03-09 10:00:00;1;1\n', "the heading has 'a' twice"),
    ('datetime;a;anomaly\n2020-03-09 10:00:00;1;True\n', "anomaly: expected 0 or 1, found 'T"),
    ('datetime;a;anomaly\n2020-03-09 10:00:00;1;\n', "anomaly: expected 0 or 1, found ''"),
    ('datetime;a\n2020-03-09 10:00:00;1\n2020-03-09 10:01:00;1\n', 'found one every 60 s'),
    ('datetime;a\n2020-03-09 10:00:00;1\n2020-03-09 10:00:00;1\n', 'found one every 0 s'),
    ('datetime;a\n2020-03-09 10:00:01;1\n2020-03-09 10:00:00;1\n', 'the times in datetime fall'),
])  # fmt: skip
def test_other_tables_are_refused_with_the_place(text, expected, tmp_path):
    path = tmp_path / 'x.csv'
    path.write_text(text)
    with pytest.raises(ExperimentError, match=expected):
        read_table(path)


def test_a_mark_at_the_beginning_empty_lines_and_empty_cells_are_taken(tmp_path):
    path = tmp_path / 'x.csv'
    text = 'datetime;a;b\n2020-03-09 10:00:00;1;\n\n2020-03-09 10:00:01;inf;2\n\n'
    path.write_text('\ufeff' + text, encoding='utf-8')
    found = read_table(path)
    assert found.columns == ('a', 'b')
    assert np.array_equal(found.values, [[1.0, np.nan], [np.nan, 2.0]], equal_nan=True)
    assert without_gaps(found.values).tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert without_gaps(np.full((2, 1), np.nan)).tolist() == [[0.0], [0.0]]


def test_missing_cells_and_a_single_column_can_be_judged(table, tmp_path):
    gaps = table.values.copy()
    gaps[::7, 0] = np.nan
    cell = dataclasses.replace(table, values=gaps[:, :1], columns=('Flow',))
    assert novelty.mahalanobis_alarms(cell.values)[FAULT].mean() > 0.9
    assert novelty.alarms(cell)[FAULT].mean() > 0.9


def test_a_gap_of_years_is_not_gone_through_tick_by_tick(table):
    later = table.stamp_ns.copy()
    later[650:] += 3600 * 24 * 3650 * 10**9
    gap = dataclasses.replace(table, stamp_ns=later)
    before = novelty.alarms(table)
    assert (novelty.alarms(gap)[:650] == before[:650]).all()


def test_what_cannot_be_learned_from_is_said_with_the_table(tmp_path):
    path = write_table(tmp_path / 'valve' / '0.csv')
    rows = [line.split(';') for line in path.read_text().splitlines()]
    path.write_text(
        '\n'.join([';'.join(rows[0])] + [';'.join([r[0], '', '', *r[3:]]) for r in rows[1:]])
    )
    cells = novelty.plan(Options((0,), data=tmp_path))
    with pytest.raises(ExperimentError, match=r'valve/0\.csv: no signal can be judged'):
        novelty.run_cell(cells[0], silent)


def test_a_table_that_is_all_fitted_is_refused(tmp_path):
    short = read_table(write_table(tmp_path / 'a' / '0.csv', rows=400))
    with pytest.raises(ExperimentError, match='more than 400 rows, found 400'):
        novelty.alarms(short)


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(ExperimentError, match='expected sub-folders with '):
        groups_of(tmp_path)
    with pytest.raises(ExperimentError, match='no such folder'):
        groups_of(tmp_path / 'nowhere')
