# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions: when they hold, when nothing can be said, and that they never look ahead."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinking_policy.bags.labelling.conditions import truth_of
from thinking_policy.bags.labelling.rule_file import Condition
from thinking_policy.bags.labelling.truth import held

NAN = float('nan')


def letters(truth):
    """Return y, n or ? for each row."""
    return ''.join(
        'y' if y else 'n' if k else '?' for y, k in zip(truth.yes, truth.known, strict=True)
    )


def check(recording, condition, scale='own'):
    return letters(truth_of(Condition.model_validate(condition), recording, scale))


def test_a_trend_needs_its_size_over_its_span(record):
    recording = record({'heat': [0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4, 3, 2, 1]})
    rising = {'trend': {'signal': 'heat', 'over': 4, 'direction': 'rising', 'by': 3.5}}
    assert check(recording, rising) == '???nnnyynnnnnn'
    falling = {'trend': {'signal': 'heat', 'over': 4, 'direction': 'falling', 'by': 3.5}}
    assert check(recording, falling) == '???nnnnnnnnnny'
    either = {'trend': {'signal': 'heat', 'over': 4, 'by': 0.35, 'scale': 'nominal'}}
    assert check(recording, either) == '???nnnyynnnnny'


def test_a_trend_can_be_asked_to_be_steady(record):
    jump = record({'heat': [0, 0, 0, 0, 0, 0, 0, 9]})
    ask = {'signal': 'heat', 'over': 6, 'by': 3}
    assert check(jump, {'trend': ask})[-1] == 'y'
    assert check(jump, {'trend': {**ask, 'steady': 0.8}})[-1] == 'n'


def test_a_still_signal_has_no_trend_even_where_none_is_asked_for(record):
    assert check(
        record({'heat': [5.0] * 5}), {'trend': {'signal': 'heat', 'over': 3, 'by': 0}}
    ) == ('??nnn')


def test_too_few_readings_say_nothing(record):
    recording = record({'heat': [1, NAN, NAN, NAN, 5, 6, 7, 8, NAN]})
    trend = {'trend': {'signal': 'heat', 'over': 4, 'by': 3.5}}
    assert check(recording, trend) == '?????yyyy'


@pytest.mark.parametrize(
    ('condition', 'expected'),
    [
        ({'above': 4}, 'nnyyy?'),
        ({'below': 4}, 'yynnn?'),
        ({'above': 2, 'below': 8}, 'nyynn?'),
        ({'outside_nominal': True}, 'nnnny?'),
        ({'above': 4, 'for': 1}, 'nnnyy?'),
        ({'above': 0.4, 'scale': 'nominal'}, 'nnyyy?'),
    ],
)
def test_a_level_is_above_below_between_or_outside(record, condition, expected):
    recording = record({'heat': [2, 3, 5, 9, 11, NAN]})
    assert check(recording, {'level': {'signal': 'heat', **condition}}) == expected


def test_for_counts_from_the_first_tick_and_starts_anew_after_a_gap(record):
    recording = record({'heat': [9, 9, 9, 0, 9, 9, 9, NAN, 9, 9, 9]})
    assert check(recording, {'level': {'signal': 'heat', 'above': 4, 'for': 2}}) == '??ynnny???y'


def test_a_change_compares_two_spans(record):
    recording = record({'heat': [1, 1, 1, 1, 4, 4, 4, 4]})
    change = {'signal': 'heat', 'over': 2, 'before': 2, 'by': 2.5}
    assert check(recording, {'change': change}) == '???nnynn'
    assert check(recording, {'change': {**change, 'direction': 'falling'}}) == '???nnnnn'
    assert check(recording, {'change': {**change, 'between': 1}}) == '????nyyn'


def test_variability_compares_spreads(record):
    recording = record({'heat': [0, 1, 0, 1, 0, 4, 0, 4, 2, 2, 2, 2]})
    up = {'signal': 'heat', 'over': 4, 'before': 4, 'direction': 'up', 'factor': 3}
    assert check(recording, {'variability': up}) == '???????yynnn'
    down = {'signal': 'heat', 'over': 4, 'before': 4, 'direction': 'down', 'factor': 3}
    assert check(recording, {'variability': down}) == '???????nnnny'


def test_a_correlation_is_broken_when_one_goes_on_alone(record):
    wave = np.sin(np.arange(60) * 0.9)
    other = wave.copy()
    other[45:] = 0.0
    recording = record({'heat': wave, 'current': other})
    broken = {'signals': ['heat', 'current'], 'over': 8}
    found = check(recording, {'correlation_broken': broken})
    assert found[:31] == '?' * 31  # 24 before a window of 8
    assert found[31:45] == 'n' * 14
    assert found[-8:] == 'y' * 8


def test_a_correlation_is_not_broken_while_nothing_moves(record):
    wave = np.sin(np.arange(60) * 0.9)
    noise = np.random.default_rng(1).normal(0, 1e-3, (2, 60))
    wave[45:] = 0.0
    recording = record({'heat': wave + noise[0], 'current': wave + noise[1]})
    found = check(recording, {'correlation_broken': {'signals': ['heat', 'current'], 'over': 8}})
    assert 'y' not in found


def test_a_recovery_is_within_after_it_was_outside(record):
    recording = record({'heat': [5, 5, 5, 12, 12, 5, 5, 5, 5, 5, 11, 5]})
    assert check(recording, {'recovery': {'signal': 'heat', 'over': 3}}) == '??nnnyynnnny'
    slow = {'recovery': {'signal': 'heat', 'over': 3, 'least': 1}}
    assert check(recording, slow) == '??nnnyynnnnn'
    narrow = {'recovery': {'signal': 'heat', 'over': 3, 'low': 4, 'high': 11.5}}
    assert check(recording, narrow) == '??nnnyynnnnn'


def test_a_late_acceleration_is_steeper_at_the_end(record):
    recording = record({'heat': [0, 0, 0, 0, 0, 1, 3, 6, 7, 8, 9, 10]})
    late = {'signal': 'heat', 'over': 6, 'by': 2, 'factor': 2}
    found = check(recording, {'late_acceleration': late})
    assert found[:5] == '?????'
    assert found[6:8] == 'yy'
    assert found[9:] == 'nnn'
    assert 'y' not in check(recording, {'late_acceleration': {**late, 'direction': 'falling'}})


def test_missing_counts_ticks_without_a_reading(record):
    recording = record({'heat': [1, NAN, NAN, 1, 1, 1]})
    assert check(recording, {'missing': {'signal': 'heat', 'over': 3, 'share': 0.6}}) == '??yynn'


def test_an_event_is_seen_for_some_seconds_of_its_episode(record):
    recording = record(
        {'heat': [0] * 8}, episodes=(('a', 4), ('b', 4)), events=[(1, 'estop'), (3, 'motor_hot')]
    )
    assert check(recording, {'event': {'code': 'estop', 'within': 2}}) == 'nyynnnnn'
    assert check(recording, {'event': {'code': 'motor_*|x', 'within': 9}}) == 'nnnynnnn'
    twice = {'event': {'code': '*', 'within': 9, 'times': 2}}
    assert check(recording, twice) == 'nnnynnnn'


def test_combinations_know_what_follows_from_half_of_the_truth(record):
    recording = record({'heat': [1, 9, NAN], 'current': [1, 1, 9]})
    heat, current = ({'level': {'signal': name, 'above': 5}} for name in ('heat', 'current'))
    assert check(recording, {'all': [heat, current]}) == 'nn?'
    assert check(recording, {'any': [heat, current]}) == 'nyy'
    assert check(recording, {'not': heat}) == 'yn?'
    assert check(recording, {'all': [heat, {'not': current}]}) == 'nyn'


def test_nothing_crosses_an_episode(record):
    values = [0, 0, 9, 9, 9, 9, 0, 0]
    recording = record({'heat': values}, episodes=(('a', 4), ('b', 4)))
    level = {'level': {'signal': 'heat', 'above': 5, 'for': 2}}
    assert check(recording, level) == 'nnnn??nn'
    assert check(recording, {'trend': {'signal': 'heat', 'over': 4, 'by': 3}}) == '???y???y'


def test_an_empty_recording_has_no_answers(record):
    recording = record({'heat': [0.0], 'current': [0.0]})
    empty = dataclasses.replace(
        recording,
        stamp_ns=recording.stamp_ns[:0],
        episode=recording.episode[:0],
        values=recording.values[:0],
    )
    for condition in CONDITIONS:
        assert check(empty, condition) == ''


CONDITIONS = [
    {'trend': {'signal': 'heat', 'over': 5, 'by': 1, 'steady': 0.3}},
    {'level': {'signal': 'heat', 'above': 5, 'for': 2}},
    {'change': {'signal': 'heat', 'over': 2, 'before': 4, 'by': 1}},
    {'variability': {'signal': 'heat', 'over': 3, 'before': 5, 'direction': 'up'}},
    {'correlation_broken': {'signals': ['heat', 'current'], 'over': 4}},
    {'recovery': {'signal': 'heat', 'over': 4, 'least': 1}},
    {'late_acceleration': {'signal': 'heat', 'over': 6, 'by': 1}},
    {'missing': {'signal': 'current', 'over': 4, 'share': 0.4}},
    {'event': {'code': 'x', 'within': 3}},
    {
        'any': [
            {'not': {'level': {'signal': 'heat', 'below': 3}}},
            {'event': {'code': 'x', 'within': 2}},
        ]
    },
]

reading = st.one_of(st.just(NAN), st.integers(0, 12).map(float))


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(reading, reading, st.booleans()), min_size=2, max_size=40),
    cut=st.integers(1, 39),
    place=st.integers(0, 39),
)
def test_what_is_said_does_not_change_when_more_is_recorded(record, rows, cut, place):
    cut = min(cut, len(rows) - 1)
    episodes = (('a', place), ('b', len(rows) - place)) if 0 < place < len(rows) else None
    events = [(i, 'x') for i, row in enumerate(rows) if row[2]]
    whole = record(
        {'heat': [row[0] for row in rows], 'current': [row[1] for row in rows]}, episodes, events
    )
    early = [i for i, _ in events if i < cut]
    part = dataclasses.replace(
        whole,
        stamp_ns=whole.stamp_ns[:cut],
        episode=whole.episode[:cut],
        values=whole.values[:cut],
        event_ns=whole.event_ns[: len(early)],
        event_episode=whole.event_episode[: len(early)],
        event_code=whole.event_code[: len(early)],
    )
    for condition in CONDITIONS:
        assert check(whole, condition)[:cut] == check(part, condition)


def test_sums_keep_their_digits_over_a_day(record):
    # A line as steep everywhere, on top of a day of time and a large offset.
    count = 90_000
    recording = record({'heat': 1e4 + 0.001 * np.arange(count)})
    condition = {'trend': {'signal': 'heat', 'over': 10, 'by': 0.0099999, 'steady': 0.9999}}
    assert set(check(recording, condition)[9:]) == {'y'}
    condition['trend']['by'] = 0.0100001
    assert set(check(recording, condition)[9:]) == {'n'}


def test_held_for_no_time_is_the_same(record):
    recording = record({'heat': [1, 9]})
    truth = truth_of(
        Condition.model_validate({'level': {'signal': 'heat', 'above': 5}}), recording, 'own'
    )
    assert held(truth, recording, 0) is truth


def test_a_signal_that_never_spoke_is_not_called_missing(record):
    recording = record({'heat': [NAN] * 4, 'current': [1.0] * 4})
    silent = dataclasses.replace(recording, silent=frozenset(['heat']))
    assert check(silent, {'missing': {'signal': 'heat', 'over': 2}}) == '????'
    assert check(silent, {'missing': {'signal': 'current', 'over': 2}}) == '?nnn'


def test_a_level_of_the_mean_ignores_single_readings(record):
    recording = record({'heat': [0, 0, 9, 0, 0, 9, 9, 9]})
    level = {'level': {'signal': 'heat', 'over': 3, 'above': 5}}
    assert check(recording, level) == '??nnnnyy'
