# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The table of labels: what is written comes back, what is wrong is named with its line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinking_policy.bags.labelling import (
    LabelError,
    LabelTable,
    joined,
    joined_tables,
    read_labels,
    table_files,
    write_labels,
)

START = 1_700_000_000_000_000_001
IDS = ('trend', 'hazard', 'cause')


def table_of(cells, bags=None, stamps=None, episodes=None, activities=IDS):
    """Return a table from rows of (label, confidence, origin) for each activity."""
    count = len(cells)

    def column(place, kind):
        return np.array([cell[place] for row in cells for cell in row], kind).reshape(
            count, len(activities)
        )

    return LabelTable(
        activities,
        np.array([*(bags or ['walk'] * count), ''], object)[:-1],
        np.array(stamps or [START + 500_000_000 * i for i in range(count)], np.int64),
        np.array([*(episodes or ['r-1'] * count), ''], object)[:-1],
        column(0, bool),
        column(1, np.float32),
        column(2, object),
    )


def assert_same(found, expected):
    for name in ('bag', 'stamp_ns', 'episode', 'label', 'confidence', 'origin'):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert found.activities == expected.activities


SILENT = (False, 1.0, '')
UNSURE = (False, 0.0, '')


@pytest.mark.parametrize('suffix', ['.csv', '.parquet'])
def test_what_is_written_comes_back(tmp_path, suffix):
    rows = [
        [(True, 0.8, 'rule:rising'), (True, 1.0, 'person:anna'), SILENT],
        [SILENT, SILENT, SILENT],
        [SILENT, (False, 0.7, 'person:anna'), UNSURE],
    ]
    table = table_of(rows, bags=['walk', 'day 2/öl;a,b', 'walk'])
    write_labels(tmp_path / f'labels{suffix}', table)
    assert_same(read_labels(tmp_path / f'labels{suffix}'), table)
    assert [path.name for path in tmp_path.iterdir()] == [f'labels{suffix}']


def test_the_file_reads_as_a_person_expects(tmp_path):
    rows = [
        [(True, 0.75, 'rule:rising'), (True, 0.75, 'rule:rising'), UNSURE],
        [SILENT, (False, 1.0, 'person:anna'), SILENT],
    ]
    write_labels(tmp_path / 'labels.csv', table_of(rows))
    assert (tmp_path / 'labels.csv').read_text().splitlines() == [
        'bag,time,episode,activities,origin,confidence,unsure,about',
        'walk,1700000000.000000001,r-1,trend;hazard,rule:rising,0.75,cause,trend;hazard;cause',
        'walk,1700000000.500000001,r-1,!hazard,person:anna,1.0,,',
    ]


def test_a_table_written_by_hand_needs_three_columns(tmp_path):
    file = tmp_path / 'labels.csv'
    file.write_text('time,bag,activities,note\n12.5,walk,trend,by eye\n\n13,walk,,\n')
    table = read_labels(file)
    assert table.activities == ('trend',)
    assert table.stamp_ns.tolist() == [12_500_000_000, 13_000_000_000]
    assert table.label.tolist() == [[True], [False]]
    assert table.confidence.tolist() == [[1.0], [1.0]]


def test_one_confidence_counts_for_a_row_in_which_nothing_is_called_for(tmp_path):
    file = tmp_path / 'labels.csv'
    file.write_text('bag,time,activities,confidence,about\nwalk,1,,0.5,trend;hazard\n')
    assert read_labels(file).confidence.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize('suffix', ['.csv', '.parquet'])
def test_tables_longer_than_what_is_held_at_a_time_come_back(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(table_files, '_READ', 2)
    rows = [[(i == 4, 1.0, 'rule:a' if i == 4 else ''), SILENT, SILENT] for i in range(7)]
    table = table_of(rows, bags=['a', 'b', 'a', 'b', 'b', 'c', 'a'])
    write_labels(tmp_path / f'labels{suffix}', table)
    assert_same(read_labels(tmp_path / f'labels{suffix}'), table)


def test_parquet_of_other_programs_is_read_whatever_its_columns_types(tmp_path):
    import pyarrow
    import pyarrow.parquet

    columns = {
        'bag': pyarrow.array(['walk', 'walk', 'run']),
        'time': pyarrow.array([12.5, 13.0, 12.5], pyarrow.float64()),
        'activities': pyarrow.array(['trend', None, 'hazard']).dictionary_encode(),
        'confidence': pyarrow.array([0.5, None, 1], pyarrow.float64()),
        'note': pyarrow.array([1, 2, 3]),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / 'labels.parquet')
    table = read_labels(tmp_path / 'labels.parquet')
    assert table.activities == ('trend', 'hazard')
    assert table.bag.tolist() == ['walk', 'walk', 'run']
    assert table.stamp_ns.tolist() == [12_500_000_000, 13_000_000_000, 12_500_000_000]
    assert table.label.tolist() == [[True, False], [False, False], [False, True]]
    assert table.confidence.tolist() == [[0.5, 1.0], [1.0, 1.0], [1.0, 1.0]]


def test_the_first_situation_that_stands_twice_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, '_READ', 2)
    file = tmp_path / 'labels.csv'
    rows = ['b,9,', 'a,1,', 'a,2,', 'b,1,', 'a,1,', 'b,9,', 'a,1,']
    file.write_text('\n'.join(['bag,time,activities', *rows]))
    complaint = "labels.csv:6: the situation of bag 'a' at 1.000000000 s stands in line 3 already"
    with pytest.raises(LabelError, match=complaint):
        read_labels(file)


@pytest.mark.parametrize(
    ('row', 'complaint'),
    [
        (
            'walk,1,trend;hazard,0.1;0.2;0.3,',
            'labels.csv:3: confidence: expected one for all or 2',
        ),
        ('walk,1,trend,1.5,', "labels.csv:3: confidence: expected a number in 0...1, found '1.5'"),
        ('walk,1,trend,nan,', 'labels.csv:3: confidence'),
        ('walk,1,Trend,1,', "labels.csv:3: activities: .* found 'Trend'"),
        ('walk,1,trend,1,trend', "labels.csv:3: 'trend' is named twice"),
        ('walk,1,trend;!trend,1,', "labels.csv:3: 'trend' is named twice"),
        ('walk,1.0000000001,trend,1,', 'labels.csv:3: time: expected seconds'),
        ('walk,noon,trend,1,', "labels.csv:3: time: .* found 'noon'"),
        ('walk,1e999999999,trend,1,', 'labels.csv:3: time'),
        ('walk,inf,trend,1,', 'labels.csv:3: time'),
        ('walk,0.000000000,trend,1,', 'labels.csv:3: .* stands in line 2 already'),
        ('walk,1,trend', 'labels.csv:3: expected 5 cells'),
        ('walk,1,trend,1,"\nwalk,2,trend,1,', 'labels.csv:3: a quote opens in this line'),
    ],
)
def test_a_wrong_cell_is_named_with_its_line(tmp_path, row, complaint):
    file = tmp_path / 'labels.csv'
    file.write_text(f'bag,time,activities,confidence,unsure\nwalk,0,trend,1,\n{row}\n')
    with pytest.raises(LabelError, match=complaint):
        read_labels(file)


@pytest.mark.parametrize(
    ('name', 'content', 'complaint'),
    [
        ('a.csv', b'bag,activities\nwalk,trend\n', "column 'time' is missing"),
        ('a.csv', b'', "column 'bag' is missing"),
        ('a.csv', b'\xff\xfe\x00', 'a.csv: cannot be read: is not UTF-8 text'),
        ('a.parquet', b'PAR1', 'a.parquet: not a Parquet file, or damaged'),
        ('a.xlsx', b'', r'ends in \.csv or \.parquet'),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, name, content, complaint):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LabelError, match=complaint):
        read_labels(tmp_path / name)


def test_situations_find_their_rows_by_recording_and_exact_stamp():
    rows = [[(True, 0.5, 'rule:a'), SILENT, SILENT], [UNSURE, SILENT, SILENT], [SILENT] * 3]
    table = table_of(rows, bags=['walk', 'walk', 'other'], stamps=[10, 20, 10])
    found = joined(table, 'walk', np.array([20, 15, 10, 11]), ('cause', 'trend', 'recovery'))
    assert found.labelled.tolist() == [True, False, True, False]
    assert found.label.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    # Nobody answers for recovery, so its column says nothing.
    assert found.weight.tolist() == [[1, 0, 0], [0, 0, 0], [1, 0.5, 0], [0, 0, 0]]
    assert found.unmatched == 0


def test_rows_that_belong_to_no_situation_are_counted():
    table = table_of([[SILENT] * 3] * 3, stamps=[10, 20, 30])
    assert joined(table, 'walk', np.array([20]), IDS).unmatched == 2
    assert joined(table, 'another', np.array([20]), IDS).labelled.tolist() == [False]


def test_equal_stamps_are_told_apart_by_their_episodes():
    yes, no = [(True, 1.0, 'rule:a'), SILENT, SILENT], [SILENT] * 3
    table = table_of([no, yes], stamps=[10, 10], episodes=['r-1', 'r-2'])
    stamps = np.array([10, 10])
    assert joined(table, 'walk', stamps, IDS).label[:, 0].tolist() == [0, 1]
    episodes = np.array(['r-2', 'r-1'])
    assert joined(table, 'walk', stamps, IDS, episodes).label[:, 0].tolist() == [1, 0]


def test_an_activity_that_one_table_lacks_is_unsure_there():
    one = table_of([[(True, 1.0, 'rule:a')]], activities=('trend',))
    two = table_of([[(False, 1.0, '')]], activities=('hazard',), bags=['other'])
    both = joined_tables([one, two])
    assert both.activities == ('trend', 'hazard')
    assert both.label.tolist() == [[True, False], [False, False]]
    assert both.confidence.tolist() == [[1.0, 0.0], [0.0, 1.0]]


cell = st.one_of(
    st.just(SILENT),
    st.just(UNSURE),
    st.tuples(
        st.booleans(),
        st.sampled_from([0.25, 0.5, float(np.float32(0.1)), 1.0]),
        st.sampled_from(['rule:a', 'outcome:b', 'person:c', '']),
    ),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=6))
def test_any_table_survives_the_file(tmp_path, rows):
    table = table_of(rows)
    write_labels(tmp_path / 'labels.csv', table)
    assert_same(read_labels(tmp_path / 'labels.csv'), table)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(LabelError, match='cannot be written'):
        write_labels(tmp_path / 'file' / 'labels.csv', table_of([[SILENT] * 3]))
