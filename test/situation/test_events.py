# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest

from thinking_policy.situation import Event, EventKind, Reading, SignalConfig, SignalState
from thinking_policy.situation.events import DiagnosticWatch, LimitWatch, slug, topic_code

OK = SignalState.OK


def crossings(watch, *values):
    """Return (tick, code) of what a series of values raises; None: not OK."""
    found = []
    for tick, value in enumerate(values):
        state = SignalState.STALE if value is None else OK
        reading = Reading('t', state, math.nan if value is None else value, 0.0)
        found += [(tick, event.code) for event in watch.at(tick, reading)]
    return found


def watch(**settings):
    return LimitWatch(SignalConfig(name='t', **settings))


def test_a_limit_raises_one_event_until_the_value_was_back_inside_by_the_hysteresis():
    high = watch(limit_high=60.0, limit_hysteresis=5.0)
    values = (60.0, 60.1, 70.0, 58.0, 61.0, 55.0, 61.0, 54.9, 61.0)
    assert crossings(high, *values) == [(1, 't_high'), (8, 't_high')]


def test_the_low_limit_works_the_other_way_round():
    low = watch(limit_low=0.5, limit_hysteresis=0.25)
    assert crossings(low, 0.5, 0.4, 0.3, 0.75, 0.4, 0.76, 0.4) == [(1, 't_low'), (6, 't_low')]


def test_a_signal_may_have_both_limits_and_jump_from_one_to_the_other():
    both = watch(limit_low=-1.0, limit_high=1.0)
    assert crossings(both, 2.0, -2.0, 2.0) == [(0, 't_high'), (1, 't_low'), (2, 't_high')]


def test_without_limits_nothing_is_raised():
    assert crossings(watch(), 1e30, -1e30) == []


def test_values_that_are_not_ok_neither_raise_nor_rearm():
    assert crossings(watch(limit_high=1.0), 2.0, None, 2.0, 0.5, None, 2.0) == [
        (0, 't_high'),
        (5, 't_high'),
    ]


def test_a_new_episode_raises_again_what_is_still_beyond_the_limit():
    high = watch(limit_high=1.0)
    assert crossings(high, 2.0, 2.0) == [(0, 't_high')]
    high.rearm()
    assert crossings(high, 2.0, 2.0) == [(0, 't_high')]


def test_a_limit_event_says_when_and_how_much():
    [event] = watch(limit_high=1.0).at(5_000, Reading('t', OK, 1.5, 0.0))
    assert event == Event(5_000, EventKind.LIMIT, 't_high', 't', 1.5)


def test_a_diagnostic_raises_an_event_when_its_level_changes():
    diagnostics = DiagnosticWatch((), 10)
    found = []
    for stamp, level in enumerate((0, 0, 1, 1, 2, 3, 0)):
        found += diagnostics.at([(stamp, '/Motors/Left: Driver', level)])
    assert [(event.stamp_ns, event.code, event.value) for event in found] == [
        (2, 'diag_motors_left_driver_warn', 1.0),
        (4, 'diag_motors_left_driver_error', 2.0),
        (5, 'diag_motors_left_driver_stale', 3.0),
        (6, 'diag_motors_left_driver_ok', 0.0),
    ]
    assert {(event.kind, event.source) for event in found} == {
        (EventKind.DIAGNOSTIC, '/Motors/Left: Driver')
    }


def test_a_diagnostic_first_seen_in_trouble_is_a_change():
    assert [e.code for e in DiagnosticWatch((), 10).at([(0, 'a', 2), (0, 'b', 0)])] == [
        'diag_a_error'
    ]


def test_own_diagnostics_are_left_out():
    diagnostics = DiagnosticWatch(('thinking_',), 10)
    assert diagnostics.at([(0, 'thinking_policy: signals', 2)]) == []


def test_levels_of_one_tick_are_taken_by_stamp_in_whatever_order_they_came():
    statuses = [(2, 'a', 0), (1, 'a', 2), (1, 'b', 1)]
    codes = [
        [event.code for event in DiagnosticWatch((), 10).at(order)]
        for order in (statuses, statuses[::-1])
    ]
    assert codes == [['diag_a_error', 'diag_b_warn', 'diag_a_ok']] * 2


def test_levels_that_do_not_exist_are_counted():
    diagnostics = DiagnosticWatch((), 10)
    assert diagnostics.at([(0, 'a', 7), (0, 'b', -1)]) == []
    assert diagnostics.unknown_level == 2


def test_names_are_bounded_and_the_longest_unseen_goes():
    diagnostics = DiagnosticWatch((), 2)
    diagnostics.at([(0, 'a', 1), (1, 'b', 1), (2, 'a', 1), (3, 'c', 1)])
    assert diagnostics.forgotten == 1
    assert [e.code for e in diagnostics.at([(4, 'a', 1), (4, 'c', 1)])] == []
    assert [e.code for e in diagnostics.at([(5, 'b', 1)])] == ['diag_b_warn']


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('Left Wheel (°C)', 'left_wheel_c'),
        ('', 'unnamed'),
        ('__', 'unnamed'),
        ('A' * 500, 'a' * 96),
    ],
)
def test_names_become_words(name, expected):
    assert slug(name) == expected


def test_texts_become_codes():
    assert topic_code('  bumper hit\n') == 'bumper hit'
    assert topic_code(' \t') == ''
    assert topic_code('x' * 127 + '  y') == 'x' * 127


def test_a_diagnostic_name_without_end_is_cut():
    watch = DiagnosticWatch((), 10)
    (event,) = watch.at([(1, 'x' * 5000, 2)])
    assert event.source == 'x' * 128
