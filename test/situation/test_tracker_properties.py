# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Generated streams: what comes out depends on stamps, not on when and how it was fed."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinking_policy.situation import EventKind, SignalState

quick = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
START = 9.5
SIGNALS = {
    't': {'over_time': 'mean', 'limit_high': 60.0, 'limit_hysteresis': 5.0, 'sentinels': [-1.0]},
    'last': {'valid_high': 80.0},
    'slow': {'topic': '/u', 'over_time': 'std', 'period_ticks': 2, 'stale_s': 4.0},
    'share': {'topic': '/u', 'over_time': 'invalid_fraction'},
}
SETTINGS = {
    'signals': SIGNALS,
    'window_length': 3,
    'lateness_s': 0.5,
    'clock_jump_s': 5.0,
    'events': {'topics': ['/said'], 'recent': 3, 'known': 4},
    'episode': {'mission_topic': '/m', 'idle_gap_s': 3.0, 'max_length_s': 6.0},
}

temperatures = st.sampled_from([20.0, 20.1, 59.0, 61.0, 90.0, -1.0, math.nan, math.inf])
contents = st.one_of(
    st.tuples(st.sampled_from(['/t', '/u']), temperatures),
    st.tuples(st.just('/said'), st.sampled_from(['a', 'b', 'c', 'd', 'e', ' '])),
    st.tuples(st.just('/m'), st.sampled_from(['dock', 'patrol'])),
    st.tuples(st.just('/diagnostics'), st.tuples(st.sampled_from('xyz'), st.integers(0, 4))),
    st.tuples(st.sampled_from(['/t', '/said', '/diagnostics']), st.none()),
)
# Quarters of a second: many stamps are equal, many fall on the end of a tick.
moments = st.integers(0, 40).map(lambda quarter: START + quarter / 4)


@st.composite
def streams(draw):
    """Messages as (received, header or None, topic, content), by time of receipt."""
    found = []
    for _ in range(draw(st.integers(0, 25))):
        received = draw(moments)
        age = draw(st.none() | st.integers(0, 8))
        header = None if age is None else received - age / 4
        found.append((received, header, *draw(contents)))
    return sorted(found, key=lambda message: message[0])


def feed(robot, message):
    received, header, topic, content = message
    if content is None:  # broken
        stamp = {} if header is None else {'stamp': {'sec': int(header)}}
        fields = {} if topic == '/said' else {'header': stamp}
        whole = robot.messages.raw(robot.types[topic], **fields)
        robot.tracker.receive(topic, whole[: 6 if topic == '/said' else 16], round(received * 1e9))
    elif topic == '/diagnostics':
        name, level = content
        robot.send(received, topic=topic, header=header, status=[{'name': name, 'level': level}])
    else:
        stamp = header if topic in ('/t', '/u') else None
        robot.send(received, content, topic=topic, header=stamp)


def play(robot, stream, shuffle=None, also_at=()):
    """Advance whenever a tick is due, as a node does; return what can be compared."""
    situations = list(robot.advance(START))
    waiting = list(stream)
    extra = sorted(at for at in also_at if at > START)
    now = START
    while now < START + 14:
        due = robot.tracker.next_due_ns(round(now * 1e9)) / 1e9
        now = min([due, *(at for at in extra if at > now)])
        batch = [message for message in waiting if message[0] <= now]
        waiting = waiting[len(batch) :]
        if shuffle is not None:
            shuffle(batch)
        for message in batch:
            feed(robot, message)
        situations += robot.advance(now)
    return [compared(situation) for situation in situations]


def compared(situation):
    plain = dataclasses.asdict(situation)
    return repr(
        {**plain, 'window': situation.window.tobytes(), 'valid': situation.valid.tobytes()}
    )


def counted(robot):
    return {topic: robot.counts(topic) for topic in robot.types}


@quick
@given(stream=streams(), source=st.sampled_from(['receive', 'header']), random=st.randoms())
def test_the_order_of_arrival_within_a_tick_changes_nothing(robot, stream, source, random):
    def shuffle(batch):
        topics = [message[2] for message in batch]
        queues = {topic: [m for m in batch if m[2] == topic] for topic in topics}
        if source == 'header':  # by receive time a queue keeps its order
            for queue in queues.values():
                random.shuffle(queue)
        random.shuffle(topics)
        batch[:] = [queues[topic].pop(0) for topic in topics]

    one, other = (robot(**SETTINGS, time_source=source) for _ in range(2))
    assert play(one, stream) == play(other, stream, shuffle=shuffle)
    assert counted(one) == counted(other)


@quick
@given(
    stream=streams(),
    source=st.sampled_from(['receive', 'header']),
    also_at=st.lists(st.integers(0, 55).map(lambda quarter: START + quarter / 4)),
)
def test_looking_more_often_changes_nothing(robot, stream, source, also_at):
    one, other = (robot(**SETTINGS, time_source=source) for _ in range(2))
    assert play(one, stream) == play(other, stream, also_at=also_at)
    assert counted(one) == counted(other)


steps = st.one_of(
    st.tuples(st.just('feed'), streams()),
    st.tuples(st.just('now'), st.integers(0, 100).map(lambda quarter: quarter / 4)),
)


@quick
@given(actions=st.lists(steps, max_size=12), source=st.sampled_from(['receive', 'header']))
def test_whatever_clock_and_messages_do_situations_are_sound(robot, actions, source):
    r = robot(**SETTINGS, time_source=source)
    before = None
    for action, what in actions:
        if action == 'feed':
            for message in what:
                feed(r, message)
        else:
            for situation in r.advance(what):
                check(situation, before)
                before = situation
        counted(r)
    check_totals(r)


def check(situation, before):
    window, valid = situation.window, situation.valid
    assert window.dtype == np.float32
    assert window.shape == valid.shape == (3, 4)
    assert (np.abs(window) <= 10.0).all()
    assert (window[~valid] == 0.0).all()
    for column, reading in enumerate(situation.readings):
        assert math.isnan(reading.value) == (reading.state != SignalState.OK)
        assert reading.age_s >= 0.0 or reading.age_s == -1.0
        assert not valid[-1, column] or reading.state == SignalState.OK
    assert len(situation.events) <= 3
    assert len(situation.recalled) <= 4
    codes = {event.code for event in situation.events}
    assert codes.isdisjoint(entry.event.code for entry in situation.recalled)
    stamps = [entry.event.stamp_ns for entry in situation.recalled]
    assert stamps == sorted(stamps)
    assert all(stamp <= situation.stamp_ns for stamp in stamps)
    assert (
        situation.events[-len(situation.new_events) :] == situation.new_events[-3:]
        or not situation.new_events
    )
    if before is not None and before.episode == situation.episode:
        assert situation.tick == before.tick + 1


def check_totals(r):
    counters = r.tracker.counters
    for name, column in (('t', '/t'), ('last', '/t'), ('slow', '/u'), ('share', '/u')):
        signal = counters.signals[name]
        assert signal.usable + signal.invalid == counters.topics[column].used
    assert set(counters.events) <= {kind.name for kind in EventKind}
    assert sum(counters.episodes.values()) <= counters.ticks
