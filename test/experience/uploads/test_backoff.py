# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How long to wait: the arithmetic alone."""

from __future__ import annotations

import json
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.experience.backoff import (
    LONGEST_RETRY_AFTER_S,
    Backoff,
    Pauses,
    retry_after_s,
)
from thinking_policy.experience.errors import ExperienceError

NOW_NS = 1_766_000_000_000_000_000


def make(clock, random=1.0, first_s=1.0, longest_s=60.0):
    return Backoff(
        Pauses(first_s, longest_s),
        clock_ns=clock.time_ns,
        monotonic=clock.monotonic,
        random=lambda: random,
    )


def test_the_window_doubles_up_to_the_cap_and_stays_there(clock):
    backoff = make(clock)
    assert [backoff.failed() for _ in range(9)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    for _ in range(5000):  # days without a network
        last = backoff.failed()
    assert last == 60.0


def test_the_jitter_is_full_from_nothing_to_the_whole_window(clock):
    assert [make(clock, random=share).failed() for share in (0.0, 0.25, 1.0)] == [0.0, 0.25, 1.0]


def test_what_the_server_asks_for_is_waited_and_the_jitter_comes_on_top(clock):
    backoff = make(clock, random=0.5)
    assert backoff.failed(30.0) == 30.5
    assert backoff.remaining_s() == 30.5
    clock.seconds += 30.0
    assert backoff.remaining_s() == 0.5


def test_a_server_that_asks_for_ages_is_not_believed(clock):
    assert make(clock, random=0.0).failed(1e12) == LONGEST_RETRY_AFTER_S


def test_a_refusal_waits_for_the_cap_unless_the_configuration_changes(clock):
    backoff = make(clock)
    assert backoff.refused('old token') == 60.0
    assert backoff.remaining_s('old token') == 60.0
    assert backoff.remaining_s('new token') == 0.0


def test_success_begins_anew(clock):
    backoff = make(clock)
    assert not backoff.succeeded()
    backoff.failed()
    backoff.failed()
    assert backoff.succeeded()
    assert backoff.remaining_s() == 0.0
    assert backoff.failed() == 1.0


def test_a_restart_waits_the_rest_and_counts_on(clock):
    before = make(clock)
    for _ in range(5):
        before.failed(configuration='c')
    kept = before.kept()
    assert json.loads(kept) == {
        'attempts': 5,
        'not_before_ns': NOW_NS + 16 * 10**9,
        'configuration': 'c',
    }
    clock.seconds += 10.0
    after = make(clock)
    after.recall(kept)
    assert after.remaining_s('c') == pytest.approx(6.0)
    assert after.failed() == 32.0


@pytest.mark.parametrize('wrong_s', [-1e9, -7200.0])
def test_a_clock_that_was_wrong_before_the_restart_costs_no_more_than_the_cap(clock, wrong_s):
    before = make(clock)
    before.failed(20.0)
    kept = before.kept()
    clock.wrong_s = wrong_s
    after = make(clock)
    after.recall(kept)
    assert after.remaining_s() == 60.0


@given(st.one_of(st.none(), st.text(), st.dictionaries(st.text(), st.integers()).map(json.dumps)))
def test_whatever_was_kept_is_no_reason_to_fail(text):
    from loopback import Clock

    backoff = make(Clock())
    backoff.recall(text)
    assert backoff.remaining_s() == 0.0


@given(
    st.fixed_dictionaries(
        {
            'attempts': st.one_of(st.integers(), st.floats(), st.text()),
            'not_before_ns': st.one_of(st.integers(), st.floats(), st.text()),
            'configuration': st.just(''),
        }
    ).map(json.dumps)
)
def test_no_kept_pause_is_longer_than_any_that_is_made(text):
    from loopback import Clock

    backoff = make(Clock())
    backoff.recall(text)
    assert 0.0 <= backoff.remaining_s() <= LONGEST_RETRY_AFTER_S + 60.0
    assert backoff.failed() <= 60.0


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('0', 0.0),
        ('120', 120.0),
        ('9' * 400, LONGEST_RETRY_AFTER_S),
        (formatdate(NOW_NS / 1e9 + 90, usegmt=True), 90.0),
        (formatdate(NOW_NS / 1e9 - 90, usegmt=True), 0.0),
        ('', None),
        ('-5', None),
        ('soon', None),
        ('1e3', None),
        ('Fri, 99 Foo 2025 25:61:61 GMT', None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text, expected):
    assert retry_after_s({'retry-after': text}, NOW_NS) == expected


def test_a_date_is_compared_with_the_clock_of_the_server():
    an_hour_ahead_s = NOW_NS / 1e9 + 3600
    headers = {
        'date': formatdate(an_hour_ahead_s, usegmt=True),
        'retry-after': formatdate(an_hour_ahead_s + 20, usegmt=True),
    }
    assert retry_after_s(headers, NOW_NS) == 20.0


@pytest.mark.parametrize('pauses', [(0.0, 1.0), (2.0, 1.0), (1.0, 1e6), (float('nan'), 1.0)])
def test_pauses_that_make_no_sense_are_refused(pauses):
    with pytest.raises(ExperienceError, match='first_s'):
        Pauses(*pauses)
