# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.situation import Event, EventKind, SituationError
from thinking_policy.situation.memory import EventMemory


def event(stamp_ns, code, value=math.nan):
    return Event(stamp_ns, EventKind.TOPIC, code, '/events', value)


def codes(memory, now_ns=10**9):
    return (
        [e.code for e in memory.recent()],
        [(r.event.code, r.event.stamp_ns, r.count) for r in memory.recalled(now_ns)],
    )


def test_what_leaves_the_recent_events_is_recalled():
    memory = EventMemory(recent=2, known=10)
    memory.add([event(1, 'a'), event(2, 'b')])
    assert codes(memory) == (['a', 'b'], [])
    memory.add([event(3, 'a'), event(4, 'c')])
    assert codes(memory) == (['a', 'c'], [('b', 2, 1)])
    memory.add([event(5, 'd'), event(6, 'd')])
    assert codes(memory) == (['d', 'd'], [('b', 2, 1), ('a', 3, 2), ('c', 4, 1)])


def test_a_new_episode_recalls_all_events_of_the_last():
    memory = EventMemory(recent=4, known=10)
    memory.add([event(1, 'a'), event(2, 'b')])
    memory.begin_episode()
    assert codes(memory) == ([], [('a', 1, 1), ('b', 2, 1)])


def test_the_table_is_bounded_and_the_oldest_occurrence_goes():
    memory = EventMemory(recent=1, known=3)
    memory.add([event(stamp, code) for stamp, code in enumerate('abcad')])
    assert codes(memory) == (['d'], [('c', 2, 1), ('a', 3, 2)])
    assert memory.forgotten == 1


def test_what_is_stamped_later_than_now_is_not_recalled_but_kept():
    memory = EventMemory(recent=1, known=10)
    memory.add([event(5, 'a'), event(900, 'b')])
    memory.begin_episode()
    assert codes(memory, now_ns=10)[1] == [('a', 5, 1)]
    assert codes(memory, now_ns=900)[1] == [('a', 5, 1), ('b', 900, 1)]


texts = st.text(min_size=1, max_size=5)


@given(
    events=st.lists(
        st.builds(
            Event,
            stamp_ns=st.integers(0, 100),
            kind=st.sampled_from(EventKind),
            code=texts,
            source=st.text(max_size=5),
            value=st.just(math.nan) | st.floats(-3.4e38, 3.4e38),
        ),
        max_size=20,
    ),
    recent=st.integers(1, 4),
    known=st.integers(1, 5),
)
def test_the_table_survives_a_restart_through_json(events, recent, known):
    memory = EventMemory(recent, known)
    memory.add(events)
    stored = json.dumps(memory.table(), allow_nan=False)
    again = EventMemory(recent, known)
    again.restore(json.loads(stored))
    memory.begin_episode()
    assert repr(again.recalled(1000)) == repr(memory.recalled(1000))
    assert len(again.recalled(1000)) <= known


def entry(**changes):
    plain = {
        'code': 'a',
        'stamp_ns': 1,
        'kind': 'TOPIC',
        'source': '/e',
        'count': 1,
        'value': None,
    }
    return {**plain, **changes}


@pytest.mark.parametrize(
    ('table', 'complaint'),
    [
        (None, 'expected version 1, found None'),
        ({}, 'expected version 1, found None'),
        ({'version': 2, 'events': []}, 'expected version 1, found 2'),
        ({'version': 1}, 'expected a list of events, found None'),
        ({'version': 1, 'events': 'abc'}, "expected a list of events, found 'abc'"),
        ({'version': 1, 'events': [7]}, 'event 0: expected names and values, found 7'),
        ({'version': 1, 'events': [entry(), entry(code='')]}, "event 1: code: .* found ''"),
        ({'version': 1, 'events': [entry(code='x' * 129)]}, 'event 0: code'),
        ({'version': 1, 'events': [entry(source=None)]}, 'event 0: source'),
        ({'version': 1, 'events': [entry(kind='OTHER')]}, r"kind: expected one of .*'LIMIT'"),
        ({'version': 1, 'events': [entry(kind=['TOPIC'])]}, 'event 0: kind'),
        ({'version': 1, 'events': [entry(stamp_ns=-1)]}, 'event 0: stamp_ns'),
        ({'version': 1, 'events': [entry(stamp_ns=1.5)]}, 'event 0: stamp_ns'),
        ({'version': 1, 'events': [entry(count=0)]}, 'event 0: count'),
        ({'version': 1, 'events': [entry(count=True)]}, 'event 0: count'),
        ({'version': 1, 'events': [entry(value=math.inf)]}, 'event 0: value'),
        ({'version': 1, 'events': [entry(value='1')]}, 'event 0: value'),
        ({'version': 1, 'events': [entry(), entry()]}, 'a code stands there twice'),
    ],
)
def test_a_damaged_table_is_refused_with_the_reason_and_nothing_of_it_is_taken(table, complaint):
    memory = EventMemory(recent=1, known=10)
    memory.add([event(1, 'z')])
    before = memory.table()
    with pytest.raises(
        SituationError,
        match=f'table of last occurrences: .*{complaint}'
        if 'event ' not in complaint
        else complaint,
    ):
        memory.restore(table)
    assert memory.table() == before


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(('code', 'stamp_ns', 'kind', 'source', 'count', 'value'), anything),
    )
)
def test_whatever_a_file_holds_it_is_restored_or_refused(changes):
    memory = EventMemory(recent=1, known=10)
    try:
        memory.restore({'version': 1, 'events': [{**entry(), **changes}]})
    except SituationError:
        assert memory.table()['events'] == []
    else:
        json.dumps(memory.table(), allow_nan=False)
