# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Outcomes look ahead within their episode; what origins say is merged by precedence."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinking_policy.bags.labelling.merging import merge, rank, spans_of
from thinking_policy.bags.labelling.outcomes import outcome_statements
from thinking_policy.bags.labelling.rule_file import Outcome, Rule
from thinking_policy.bags.labelling.rules import rule_statements
from thinking_policy.bags.labelling.statements import (
    DOUBT,
    NO,
    SILENT,
    UNSURE,
    YES,
    Statement,
    doubt_at_borders,
)

LETTERS = {SILENT: '.', YES: 'y', NO: 'n', DOUBT: '?', UNSURE: 'u'}
WORDS = {letter: word for word, letter in LETTERS.items()}
ORDER = ('person', 'outcome', 'rule')


def letters(answer):
    return ''.join(LETTERS[int(word)] for word in answer)


def answers(text):
    return np.array([WORDS[letter] for letter in text], np.int8)


def outcome(recording, **fields):
    """Return what an outcome says, as letters by activity."""
    made = Outcome.model_validate({'name': 'stop', **fields})
    return {
        statement.activities: letters(statement.answer)
        for statement in outcome_statements(made, recording, 'own')
    }


def test_what_comes_before_an_event_is_called_for_except_in_the_gap(record):
    recording = record({'heat': [0] * 12}, events=[(7, 'estop')])
    said = outcome(
        recording, event='estop', within=4, gap=1, before=['hazard'], at=['cause'], **{'for': 2}
    )
    # 3...6 lie within four seconds, 6 in the gap; how 9...11 went on nobody saw.
    assert said == {('hazard',): '...yyy?.????', ('cause',): '.......yyy..'}


def test_an_outcome_that_says_nothing_of_before_needs_no_horizon(record):
    recording = record({'heat': [0, 0, 9, 9, 0, 0]}, events=[(1, 'estop')])
    said = outcome(recording, event='estop', at=['cause'], **{'for': 2})
    assert said == {('cause',): '.yyy..'}
    said = outcome(recording, when={'level': {'signal': 'heat', 'above': 5}}, at=['cause'])
    assert said == {('cause',): '..yy..'}


def test_the_open_end_can_be_declared_known(record):
    recording = record({'heat': [0] * 6}, events=[(3, 'estop')])
    said = outcome(recording, event='estop', within=2, before=['hazard'], end_of_episode='known')
    assert said == {('hazard',): '.yy...'}


def test_an_outcome_never_reaches_into_another_episode(record):
    recording = record({'heat': [0] * 10}, episodes=(('a', 5), ('b', 5)), events=[(6, 'estop')])
    said = outcome(recording, event='e*', within=3, before=['hazard'], at=['cause'])
    assert said == {('hazard',): '..???y.???', ('cause',): '......y...'}


def test_an_outcome_may_be_a_condition(record):
    recording = record({'heat': [0, 0, 0, 9, 9, 0, 0, 0, 0, float('nan'), 0, 0]})
    said = outcome(
        recording,
        when={'level': {'signal': 'heat', 'above': 5}},
        within=2,
        before=['hazard'],
        at=['cause'],
        end_of_episode='known',
    )
    # What the missing reading hides may have been an outcome.
    assert said == {('hazard',): '.yy....??...', ('cause',): '...yy....?..'}


def test_the_next_outcome_counts_while_one_lasts_only_once_it_is_over(record):
    recording = record({'heat': [0, 9, 9, 0, 9, 0]})
    said = outcome(
        recording,
        when={'level': {'signal': 'heat', 'above': 5}},
        within=3,
        before=['hazard'],
        end_of_episode='known',
    )
    assert said == {('hazard',): 'y..y..'}


def test_a_rule_says_yes_or_denies_and_doubts_where_it_cannot_know(record):
    recording = record({'heat': [9, 9, float('nan'), 0, 9, 9, 9]})
    rule = {'name': 'hot', 'when': {'level': {'signal': 'heat', 'above': 5}}}
    yes = Rule.model_validate({**rule, 'activities': ['hazard'], 'for': 1})
    (one,) = rule_statements(yes, recording, 'own', ('hazard', 'trend'))
    assert (letters(one.answer), one.activities) == ('?y?..yy', ('hazard',))
    no = Rule.model_validate({**rule, 'denies': 'all'})
    (one,) = rule_statements(no, recording, 'own', ('hazard', 'trend'))
    assert (letters(one.answer), one.activities) == ('nn?.nnn', ('hazard', 'trend'))


@pytest.mark.parametrize(
    ('answer', 'margin', 'expected'),
    [
        ('....yyyyy....', 1.0, '...??yyy??...'),
        ('....yyyyy....', 0.5, '....yyyyy....'),
        ('....yyyyy....', 9.0, '?????????????'),
        ('yyyyy', 9.0, 'yyyyy'),
        ('..?yyy', 2.0, '..?yyy'),
        ('..uuyy', 2.0, '..uuyy'),
    ],
)
def test_margins_doubt_what_is_close_to_a_border(record, answer, margin, expected):
    recording = record({'heat': [0] * len(answer)})
    assert letters(doubt_at_borders(answers(answer), recording, margin)) == expected


def test_the_border_of_an_episode_is_none_of_an_answer(record):
    recording = record({'heat': [0] * 6}, episodes=(('a', 3), ('b', 3)))
    assert letters(doubt_at_borders(answers('yyy...'), recording, 2.0)) == 'yyy...'


def merged(recording, *said, default='none_called_for', order=ORDER):
    statements = [
        Statement(origin, ('hazard',), answers(text), confidence)
        for origin, text, confidence in said
    ]
    return merge(recording, statements, ('hazard',), order, default)


def test_the_first_in_precedence_decides_and_conflicts_are_listed(record):
    recording = record({'heat': [0] * 6})
    found = merged(recording, ('rule:hot', 'yyyy..', 0.5), ('person:anna', '.nn?u.', 0.8))
    table = found.table
    assert table.label[:, 0].tolist() == [True, False, False, True, False, False]
    np.testing.assert_allclose(table.confidence[:, 0], [0.5, 0.8, 0.8, 0.5, 0.0, 1.0])
    assert table.origin[:, 0].tolist() == [
        'rule:hot',
        'person:anna',
        'person:anna',
        'rule:hot',
        '',
        '',
    ]
    (conflict,) = found.conflicts
    assert (conflict.kept, conflict.label, conflict.dropped) == ('person:anna', False, 'rule:hot')
    assert (conflict.begin_ns, conflict.end_ns, conflict.rows) == (
        recording.stamp_ns[1],
        recording.stamp_ns[2],
        2,
    )


def test_precedence_can_put_one_rule_above_all_others(record):
    recording = record({'heat': [0] * 2})
    said = ('rule:hot', 'yy', 1.0), ('person:anna', 'nn', 1.0), ('rule:off', 'n.', 1.0)
    assert merged(recording, *said).table.label[:, 0].tolist() == [False, False]
    order = ('rule:hot', 'person', 'rule')
    assert merged(recording, *said, order=order).table.label[:, 0].tolist() == [True, True]
    assert [rank(one, order) for one in ('rule:hot', 'rule:off', 'person:x', 'llm:m')] == [
        0,
        2,
        1,
        3,
    ]


def test_doubt_yields_to_anyone_who_knows(record):
    recording = record({'heat': [0] * 4})
    table = merged(recording, ('outcome:stop', '????', 1.0), ('rule:hot', 'yn..', 1.0)).table
    assert table.label[:, 0].tolist() == [True, False, False, False]
    assert table.confidence[:, 0].tolist() == [1.0, 1.0, 0.0, 0.0]


def test_what_nobody_speaks_about_gets_a_row_only_by_default(record):
    recording = record({'heat': [0] * 5}, episodes=(('a', 2), ('b', 3)))
    said = ('rule:hot', 'y.?n.', 1.0)
    assert len(merged(recording, said).table) == 5
    found = merged(recording, said, default='unlabelled')
    assert found.labelled.tolist() == [True, False, False, True, False]
    assert found.table.episode.tolist() == ['a', 'b']
    assert found.table.stamp_ns.tolist() == recording.stamp_ns[[0, 3]].tolist()


def test_conflicts_end_with_the_episode(record):
    recording = record({'heat': [0] * 4}, episodes=(('a', 2), ('b', 2)))
    found = merged(recording, ('rule:hot', 'yyyy', 1.0), ('outcome:stop', 'nnnn', 1.0))
    assert [conflict.rows for conflict in found.conflicts] == [2, 2]


words = st.text('.yn?u', min_size=12, max_size=12)


@settings(max_examples=60, deadline=None)
@given(rule=words, outcome_=words, person=words, place=st.integers(1, 11))
def test_merging_never_invents_and_counts_add_up(record, rule, outcome_, person, place):
    recording = record({'heat': [0] * 12}, episodes=(('a', place), ('b', 12 - place)))
    said = [('rule:r', rule, 1.0), ('outcome:o', outcome_, 1.0), ('person:p', person, 1.0)]
    found = merged(recording, *said)
    table = found.table
    spoken = {'rule:r': rule, 'outcome:o': outcome_, 'person:p': person}
    for row in range(12):
        origin = table.origin[row, 0]
        if origin:
            assert spoken[origin][row] == ('y' if table.label[row, 0] else 'n')
        else:
            assert not table.label[row, 0]
            silent = all(text[row] == '.' for text in spoken.values())
            assert (table.confidence[row, 0] == 1.0) == silent
    contrary = sum(
        1
        for row in range(12)
        for text in spoken.values()
        if table.origin[row, 0] and {text[row], spoken[table.origin[row, 0]][row]} == {'y', 'n'}
    )
    assert sum(conflict.rows for conflict in found.conflicts) == contrary
    # The order in which they are given does not matter.
    again = merged(recording, *reversed(said)).table
    np.testing.assert_array_equal(again.label, table.label)
    assert sum(b - a + 1 for a, b in spans_of(table.label[:, 0], recording.stretches)) == int(
        table.label.sum()
    )


def test_an_empty_recording_has_no_rows(record):
    recording = record({'heat': [0.0]})
    empty = dataclasses.replace(
        recording,
        stamp_ns=recording.stamp_ns[:0],
        episode=recording.episode[:0],
        values=recording.values[:0],
    )
    assert outcome(empty, event='x', within=2, before=['hazard']) == {('hazard',): ''}
    assert len(merged(empty, ('rule:hot', '', 1.0)).table) == 0
