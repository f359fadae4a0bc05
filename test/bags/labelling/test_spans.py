# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A person's spans: as annotation tools write them, and what is said where they are wrong."""

from __future__ import annotations

import pytest

from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.marked import Marked, is_called
from thinking_policy.bags.labelling.rule_file import Spans
from thinking_policy.bags.labelling.spans import load_spans
from thinking_policy.bags.labelling.statements import DOUBT, NO, SILENT, UNSURE, YES

TITLES = {'trend': 'Watch the trend', 'hazard': 'Expect harm', 'cause': 'Look for the cause'}
LETTERS = {SILENT: '.', YES: 'y', NO: 'n', DOUBT: '?', UNSURE: 'u'}


@pytest.fixture
def said(tmp_path, record):
    """Return a function that says what spans say of recordings of ten seconds."""

    def say(text, names=('walk',), name='walk', **settings):
        (tmp_path / 'anna.csv').write_text(text)
        marked = Marked(load_spans(tmp_path / 'anna.csv', TITLES), Spans(**settings), names)
        statements = list(marked.statements(record({'heat': [0] * 10}, name=name)))
        answers = {
            one.activities[0]: ''.join(LETTERS[int(word)] for word in one.answer)
            for one in statements
        }
        return answers, [line.split('anna.csv: ')[1] for line in marked.unmet()]

    return say


@pytest.mark.parametrize(
    'text',
    [
        # The recording starts a second before its first situation.
        'from,to,activity\n3,5,hazard\n',
        'Start;End;Label\n3.0;5.0;Expect harm\n',
        'onset\tduration\tannotation\n3\t2\thazard\n',
        'start_time (s),end_time (s),labels\n1700000002,1700000004,HAZARD\n',
        'begin,stop,tag\n1700000002000,1700000004000,hazard\n',
        'start,end,category\n1700000002000000000,1700000004000000000,hazard\n',
        'start,end,label\n2023-11-14T22:13:22Z,2023-11-14T22:13:24.0000Z,hazard\n',
        'start,end,label\n2023-11-14 23:13:22+01:00,2023-11-14 22:13:24,hazard\n',
        'bag,from,to,activity\nwalk,3,5,hazard\n',
        'sep=;\nfrom;to;activity;text\n3;5;hazard;a,b,c,d,e\n',
        '"sep=,"\nfrom,to,activity\n3,5,hazard\n',
    ],
)
def test_tools_name_columns_and_times_in_their_own_ways(said, text):
    assert said(text) == ({'hazard': '..yyy.....'}, [])


@pytest.mark.parametrize(
    ('cells', 'expected'),
    [
        ('hazard;trend,', {'hazard': '..yyy.....', 'trend': '..yyy.....'}),
        ('!hazard|trend,', {'hazard': '..nnn.....', 'trend': '..yyy.....'}),
        ('hazard,no', {'hazard': '..nnn.....'}),
        ('hazard,0', {'hazard': '..nnn.....'}),
        ('hazard,unsure', {'hazard': '..uuu.....'}),
        ('none,', dict.fromkeys(TITLES, '..nnn.....')),
    ],
)
def test_a_span_may_deny_or_leave_open(said, cells, expected):
    assert said(f'from,to,activity,value\n3,5,{cells}\n')[0] == expected


def test_a_single_moment_means_its_tick(said):
    assert said('from,to,activity\n3.4,3.4,hazard\n')[0] == {'hazard': '...y......'}


def test_margins_leave_borders_open(said):
    assert said('from,to,activity\n3,7,hazard\n', margin=1)[0] == {'hazard': '.??yyy??..'}


def test_overlaps_are_taken_together_and_contradictions_are_unsure(said):
    text = 'from,to,activity\n2,5,hazard\n4,7,hazard\n6,9,!hazard\n'
    answers, remarks = said(text)
    assert answers == {'hazard': '.yyyyuunn.'}
    assert remarks == [
        'situations where spans contradict each other on hazard, unsure: 2',
        'spans of hazard that overlap another, taken together: 1',
    ]


def test_what_lies_beside_the_recording_is_counted(said):
    text = 'from,to,activity\n0,2,hazard\n8,30,hazard\n50,60,hazard\n'
    answers, remarks = said(text)
    assert answers == {'hazard': 'yy.....yyy'}
    assert remarks == [
        'spans that reach beyond the recording, cut: 1',
        'spans in none of the recordings, left out: 1 (line 4)',
    ]


def test_spans_find_their_recording_by_the_end_of_its_path(said):
    names = ('day/walk', 'day/run.mcap')
    text = 'bag,from,to,activity\nwalk,3,5,hazard\nrun,3,5,trend\nother,1,2,cause\n'
    assert said(text, names, 'day/walk')[0] == {'hazard': '..yyy.....'}
    answers, remarks = said(text, names, 'day/run.mcap')
    assert answers == {'trend': '..yyy.....'}
    assert remarks == ['spans in none of the recordings, left out: 2 (line 2, 4)']


@pytest.mark.parametrize(
    ('name', 'given', 'same'),
    [
        ('day/walk', 'day/walk', True),
        ('day/walk', 'walk', True),
        ('walk', '/data/day/walk/', True),
        ('walk.mcap', 'walk', True),
        ('day/walk', 'night/walk', False),
        ('walk', 'sidewalk', False),
        ('walk', '', False),
    ],
)
def test_names_of_recordings_are_compared_from_the_end(name, given, same):
    assert is_called(name, given) == same


def test_a_name_that_could_be_two_recordings_is_refused(said):
    with pytest.raises(LabelError, match=r"anna.csv:2: bag: 'walk' could be a/walk or b/walk"):
        said('bag,from,to,activity\nwalk,3,5,hazard\n', ('a/walk', 'b/walk'))


def test_seconds_since_the_start_need_a_recording(said):
    with pytest.raises(LabelError, match='seconds since the start of which recording'):
        said('from,to,activity\n3,5,hazard\n', ('a', 'b'))


def test_times_since_1970_find_their_recording_themselves(said):
    text = 'from,to,activity\n1700000002,1700000004,hazard\n'
    assert said(text, ('walk', 'b'))[0] == {'hazard': '..yyy.....'}


def test_a_comment_may_have_several_lines(said):
    text = 'from,to,activity,text\n1,2,trend,"one\ntwo"\n5,5,trend,\n'
    assert said(text) == said('from,to,activity\n1,2,trend\n5,5,trend\n')


@pytest.mark.parametrize(
    ('text', 'complaint'),
    [
        ('from,to,activity\n5,3,hazard\n', r'anna.csv:2: the span ends before it begins: from 5'),
        ('from,to,activity\n\n1,3,hazrd\n', r"csv:3: activity: no activity 'hazrd'.*'hazard'"),
        ('from,to,activity\n1,3,\n', r'csv:2: activity is empty'),
        ('from,to,activity\n1,noon,trend\n', r"csv:2: to: expected seconds or a time .* 'noon'"),
        ('from,to,activity\n1,1e30,trend\n', r'csv:2: to: expected a time'),
        ('from,to,activity\n1,2020-01-01 10:00x,trend\n', r'csv:2: to: expected seconds'),
        ('from,to,activity\n1,inf,trend\n', r'csv:2: to: expected a time'),
        ('from,to,activity\n1,1700000000,trend\n', r'csv:2: .* expected both since 1970 or both'),
        ('from,to,activity,value\n1,2,trend,x\n', r'csv:2: value: expected yes, no or unsure'),
        ('from,to,activity,value\n1,2,!trend,no\n', r'csv:2: !trend with value .* denies twice'),
        (
            'from,to,activity\n1,2,trend;!trend\n',
            r'csv:2: activity: .* called for and denied',
        ),
        ('from,to,activity,confidence\n1,2,trend,2\n', r'csv:2: confidence: expected a number'),
        ('from,to,activity\n1,2\n', r'csv:2: expected 3 cells, found 2'),
        ('from,to\n1,2\n', r"anna.csv: no column 'activity'; expected one of activity"),
        ('from,start,to,label\n1,1,2,trend\n', r"columns from, start all mean 'from'"),
        ('from,to,activity\n', r'anna.csv: expected a span in each line, found none'),
        ('', r"anna.csv: no column 'from'"),
        (
            'from,duration,activity\n1,-4,trend\n',
            r"csv:2: duration: expected seconds from 0 on, found '-4'",
        ),
        ('from,duration,activity\n1,,trend\n', r"csv:2: to: expected seconds or a time .* ''"),
        (
            'from,to,duration,activity\n1,2,50,trend\n',
            r'csv:2: from 1 with a duration of 50 ends elsewhere than to 2 says',
        ),
        (
            'from,to,activity,text\n1,2,trend,ok\n3,4,trend,"bad\n5,6,trend,ok\n7,8,trend,ok\n',
            r'csv:3: a quote opens in this line and is not closed',
        ),
        ('sep=;\nfrom;to;activity\n1;2;trnd\n', r"csv:3: activity: no activity 'trnd'"),
        ('sep=;\n', r"anna.csv: no column 'from'.* found nothing"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(said, text, complaint):
    with pytest.raises(LabelError, match=complaint):
        said(text)


@pytest.mark.parametrize(
    ('content', 'complaint'),
    [
        (
            'from,to,activity\n1,2,Ausfall f\xfcr immer\n'.encode('latin-1'),
            'is not UTF-8 text; save',
        ),
        ('from,to,activity\n1,2,trend\n'.encode('utf-16'), 'is not UTF-8 text; save'),
        (None, r'cannot be read: Is a directory$'),
    ],
)
def test_a_file_that_is_no_text_says_so_in_plain_words(tmp_path, content, complaint):
    file = tmp_path / 'anna.csv'
    file.mkdir() if content is None else file.write_bytes(content)
    with pytest.raises(LabelError, match=complaint):
        load_spans(file, TITLES)
