# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Times are in seconds, ticks end at whole seconds."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.situation import EventKind, SignalState, SituationError

SECOND = 1_000_000_000
HEADER = {'time_source': 'header', 'lateness_s': 0.25}


def column(situation, index=0):
    """Return the valid samples of a signal in its unit (nominal range 0…100), oldest first."""
    valid = situation.valid[:, index]
    return (situation.window[valid, index].astype(float) * 100).round(3).tolist()


def test_ticks_stand_on_a_grid_that_does_not_depend_on_the_start(robot):
    early, late = robot(), robot()
    assert [s.tick for s in early.advance(7.3)] == []
    assert [s.tick for s in late.advance(9.9)] == []
    assert [s.tick for s in early.advance(10.4)] == [8, 9, 10]
    [tick] = late.advance(10.0)
    assert (tick.tick, tick.stamp_ns, tick.period_s) == (10, 10 * SECOND, 1.0)


def test_a_tick_takes_the_messages_since_the_last_its_end_included(robot):
    r = robot({'t': {'over_time': 'count'}})
    r.advance(9.5)
    for at in (9.6, 10.0, 10.000000001, 10.5, 11.0):
        r.send(at, 20.0)
    first, second = r.advance(11.0)
    assert column(first) == [2.0]
    assert column(second) == [2.0, 3.0]


def test_a_message_beyond_the_tick_that_is_closed_waits_for_the_next(robot):
    r = robot()
    r.advance(9.5)
    r.send(10.2, 30.0)
    [tick] = r.advance(10.1)
    assert tick.readings[0].state == SignalState.NEVER
    assert r.counts() == {'received': 1, 'pending': 1}
    [tick] = r.advance(11.0)
    assert tick.readings[0] == type(tick.readings[0])('t', SignalState.OK, 30.0, 0.8)
    assert r.counts() == {'received': 1, 'used': 1}


def test_by_receive_time_no_message_is_late(robot):
    r = robot()
    r.advance(10.0)
    r.send(8.5, 30.0)
    [tick] = r.advance(11.0)
    assert column(tick) == [30.0]
    assert tick.readings[0].age_s == 2.5


def test_by_header_time_a_tick_waits_for_late_messages(robot):
    r = robot(**HEADER)
    r.advance(10.1)
    assert r.tracker.next_due_ns(10_100_000_000) == 10_250_000_000
    r.send(10.2, 30.0, header=9.9)
    r.send(10.2, 31.0, header=10.1)
    assert r.advance(10.2) == []
    [tick] = r.advance(10.25)
    assert (tick.tick, column(tick)) == (10, [30.0])
    r.send(10.3, 32.0, header=9.95)
    [tick] = r.advance(11.3)
    assert column(tick) == [30.0, 31.0]
    assert r.counts() == {'received': 3, 'used': 2, 'late': 1}


def test_by_header_time_a_message_without_stamp_counts_when_it_was_received(robot):
    r = robot(**HEADER)
    r.advance(10.1)
    r.send(10.2, 30.0, header=0)
    [first, second] = r.advance(11.3)
    assert (column(first), column(second)) == ([], [30.0])
    assert r.counts() == {'received': 1, 'used': 1, 'unstamped': 1}


def test_by_header_time_a_type_without_header_counts_when_it_was_received(robot):
    bare = {'type': 'std_msgs/msg/Float32', 'field': 'data'}
    r = robot({'t': bare}, **HEADER)
    r.advance(10.1)
    r.tracker.receive('/t', r.messages.raw('std_msgs/msg/Float32', data=7.0), 10_200_000_000)
    r.advance(11.3)
    assert r.counts() == {'received': 1, 'used': 1, 'unstamped': 1}


def test_a_stamp_from_the_future_is_dropped(robot):
    r = robot(**HEADER, clock_jump_s=5.0)
    r.advance(10.1)
    r.send(10.2, 30.0, header=15.3)
    r.send(10.2, 31.0, header=15.2)
    r.advance(10.2)
    assert r.counts() == {'received': 2, 'future': 1, 'pending': 1}


def test_one_topic_may_be_read_by_header_in_a_situation_by_receive_time(robot):
    r = robot({'t': {'time_source': 'header'}, 'u': {'topic': '/u'}}, lateness_s=0.25)
    r.advance(10.3)
    r.send(10.9, 30.0, header=10.4)
    r.send(10.9, 40.0, topic='/u', header=3.0)
    assert r.advance(11.2) == []
    [tick] = r.advance(11.25)
    assert (column(tick, 0), column(tick, 1)) == ([30.0], [40.0])


@pytest.mark.parametrize('order', [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
@pytest.mark.parametrize('reduction', ['last', 'mean', 'std'])
def test_equal_stamps_give_the_same_in_any_order(robot, order, reduction):
    r = robot({'t': {'over_time': reduction}}, **HEADER)
    r.advance(9.9)
    for index in order:
        r.send(9.9, (0.1, 0.7, 0.2)[index], header=9.5)
    [tick] = r.advance(10.25)
    expected = {'last': 0.7, 'mean': 1 / 3, 'std': np.std([0.1, 0.2, 0.7])}[reduction]
    assert tick.readings[0].value == pytest.approx(expected, abs=1e-15)


def test_a_slow_signal_moves_on_when_its_period_ends_on_the_grid(robot):
    r = robot(
        {'t': {'over_time': 'mean', 'period_ticks': 3, 'stale_s': 9.0}, 'u': {'topic': '/u'}}
    )
    r.advance(10.0)
    seen = []
    for second in range(10, 19):
        r.send(second + 0.5, float(second), topic='/t')
        r.send(second + 0.5, float(second), topic='/u')
        seen += [(s.tick, column(s, 0), column(s, 1)) for s in r.advance(second + 1)]
    assert seen[1] == (12, [10.5], [10.0, 11.0])
    assert seen[3][:2] == (14, [10.5])
    assert seen[4] == (15, [10.5, 13.0], [11.0, 12.0, 13.0, 14.0])
    assert seen[7][:2] == (18, [10.5, 13.0, 16.0])


def test_signals_of_one_topic_share_its_messages(robot):
    r = robot({'t': {}, 'share': {'over_time': 'count'}, 'f': {'scale': 2.0, 'offset': -1.0}})
    r.advance(9.5)
    r.send(9.6, 20.0)
    r.send(9.7, 30.0)
    [tick] = r.advance(10.0)
    assert [reading.value for reading in tick.readings] == [30.0, 2.0, 59.0]
    assert r.counts() == {'received': 2, 'used': 2}


def test_unusable_values_are_counted_by_signal(robot):
    r = robot({'t': {'valid_high': 50.0}, 'all': {}})
    r.advance(9.5)
    for value in (20.0, 60.0, float('nan')):
        r.send(9.6, value)
    r.advance(10.0)
    counts = r.tracker.counters.signals
    assert (counts['t'].usable, counts['t'].invalid) == (1, 2)
    assert (counts['all'].usable, counts['all'].invalid) == (2, 1)


def test_a_broken_message_is_counted_and_makes_its_signal_invalid(robot):
    r = robot()
    r.advance(9.5)
    r.tracker.receive('/t', b'\0\1\0\0\1', 9_600_000_000)
    [tick] = r.advance(10.0)
    assert tick.readings[0].state == SignalState.INVALID
    assert r.counts() == {'received': 1, 'broken': 1}
    assert r.tracker.counters.signals['t'].invalid == 0


def test_a_message_that_is_cut_off_is_not_used_for_what_is_left_of_it_either(robot, messages):
    imu = {'topic': '/imu', 'type': 'sensor_msgs/msg/Imu', 'within_message': 'norm'}
    r = robot(
        {
            'turn': {**imu, 'field': 'angular_velocity'},
            'push': {**imu, 'field': 'linear_acceleration'},
        },
        **HEADER,
    )
    r.advance(9.5)
    whole = messages.raw('sensor_msgs/msg/Imu', header={'stamp': {'sec': 1}})
    r.tracker.receive('/imu', whole[:200], 9_600_000_000)
    [tick] = r.advance(10.3)
    assert [reading.state.name for reading in tick.readings] == ['INVALID', 'INVALID']
    assert r.counts('/imu') == {'received': 1, 'broken': 1}


def test_a_signal_without_topic_is_never_there_and_takes_its_place_in_the_window(robot):
    r = robot({'none': {'topic': ''}, 't': {}})
    r.advance(9.5)
    r.send(9.6, 20.0)
    [tick] = r.advance(10.0)
    assert [reading.state.name for reading in tick.readings] == ['NEVER', 'OK']
    assert tick.signals == ('none', 't')
    assert tick.window.shape == tick.valid.shape == (4, 2)


def test_messages_before_the_type_is_known_are_counted(robot):
    r = robot(bind=False)
    r.advance(9.5)
    r.send(9.6, 20.0)
    r.tracker.bind('/t', r.messages.type('sensor_msgs/msg/Temperature'))
    r.send(9.7, 21.0)
    [tick] = r.advance(10.0)
    assert column(tick) == [21.0]
    assert r.counts() == {'received': 2, 'unbound': 1, 'used': 1}


def test_topics_that_nobody_asked_for_are_counted(robot):
    r = robot()
    r.tracker.receive('/other', b'', 0)
    assert r.tracker.counters.unknown_topic == 1


def test_binding_refuses_what_does_not_fit(robot, messages):
    r = robot({'t': {'field': 'temprature'}}, bind=False)
    with pytest.raises(SituationError, match=r"signal t: /t: .*did you mean 'temperature'\?"):
        r.tracker.bind('/t', messages.type('sensor_msgs/msg/Temperature'))
    with pytest.raises(SituationError, match=r'/t: expected sensor_msgs/msg/Temperature as conf'):
        r.tracker.bind('/t', messages.type('sensor_msgs/msg/Imu'))
    with pytest.raises(SituationError, match=r"/x: expected one of \['/t', '/diagnostics'\]"):
        r.tracker.bind('/x', messages.type('sensor_msgs/msg/Imu'))


def test_binding_refuses_event_types_that_are_described_otherwise(robot, messages_with):
    other = messages_with({'a/msg/T': 'float32 data\n'}).type('a/msg/T')
    r = robot(bind=False, events={'topics': ['/said']})
    for topic, name in (
        ('/said', 'std_msgs/msg/String'),
        ('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray'),
    ):
        with pytest.raises(SituationError, match=f'{topic}: {name}: expected .*otherwise'):
            r.tracker.bind(topic, type(other)(name, other.fields))


def test_more_messages_than_can_wait_push_out_the_oldest(robot, monkeypatch):
    monkeypatch.setattr('thinking_policy.situation.intake.MAX_RAW', 3)
    monkeypatch.setattr('thinking_policy.situation.intake.MAX_ROWS', 4)
    r = robot({'t': {'over_time': 'min'}})
    r.advance(9.5)
    for value in (1.0, 2.0, 3.0, 4.0, 5.0):
        r.send(9.6, value)
    assert r.counts() == {'received': 5, 'overflow': 2, 'pending': 3}
    r.advance(9.7)
    for value in (6.0, 7.0):
        r.send(9.8, value)
    [tick] = r.advance(10.0)
    assert tick.readings[0].value == 4.0
    assert r.counts() == {'received': 7, 'overflow': 3, 'used': 4}


def test_large_messages_that_wait_are_bounded_by_their_size(robot, monkeypatch):
    monkeypatch.setattr('thinking_policy.situation.intake.MAX_RAW_BYTES', 100)
    r = robot()
    r.advance(9.5)
    r.send(9.6, 1.0)
    r.send(9.6, 2.0, header=0.0)
    size = len(r.messages.raw('sensor_msgs/msg/Temperature'))
    for _ in range(5):
        r.send(9.6, 3.0)
    assert r.counts()['pending'] == 100 // size


class TestEvents:
    def test_a_limit_is_an_event_at_the_end_of_the_tick(self, robot):
        r = robot({'t': {'limit_high': 60.0}})
        r.advance(9.5)
        r.send(9.6, 61.0)
        [tick] = r.advance(10.0)
        [event] = tick.new_events
        assert (event.code, event.stamp_ns, event.source) == ('t_high', 10 * SECOND, 't')
        assert (event.kind, event.value) == (EventKind.LIMIT, 61.0)
        r.send(10.6, 62.0)
        [tick] = r.advance(11.0)
        assert tick.new_events == ()
        assert [e.code for e in tick.events] == ['t_high']

    def test_texts_and_diagnostics_are_events_at_their_own_time(self, robot):
        r = robot(events={'topics': ['/said']}, **HEADER)
        r.advance(9.5)
        r.send(9.9, ' bumper \n', topic='/said')
        r.send(9.8, topic='/diagnostics', header=9.7, status=[{'name': 'Motor', 'level': 2}])
        r.send(9.8, '  ', topic='/said')
        [tick] = r.advance(10.3)
        assert [(e.stamp_ns, e.code, e.source) for e in tick.new_events] == [
            (9_700_000_000, 'diag_motor_error', 'Motor'),
            (9_900_000_000, 'bumper', '/said'),
        ]
        assert np.isnan(tick.new_events[1].value)
        assert r.counts('/said') == {'received': 2, 'used': 1, 'empty': 1, 'unstamped': 2}
        assert r.counts('/diagnostics') == {'received': 1, 'used': 1}
        assert r.tracker.counters.events == {'DIAGNOSTIC': 1, 'TOPIC': 1}

    def test_broken_event_messages_are_counted(self, robot):
        r = robot(events={'topics': ['/said']})
        r.advance(9.5)
        for topic in ('/said', '/diagnostics'):
            r.tracker.receive(topic, b'\0\1\0\0\xff\xff\xff\xff', 9_600_000_000)
        [tick] = r.advance(10.0)
        assert tick.new_events == ()
        assert r.counts('/said') == r.counts('/diagnostics') == {'received': 1, 'broken': 1}

    def test_old_events_are_recalled_across_episodes_and_restarts(self, robot):
        r = robot(events={'topics': ['/said'], 'recent': 2}, episode={'mission_topic': '/m'})
        r.advance(9.5)
        for at, text in ((9.6, 'a'), (9.7, 'b'), (9.8, 'a'), (9.9, 'c')):
            r.send(at, text, topic='/said')
        [tick] = r.advance(10.0)
        assert [e.code for e in tick.new_events] == ['a', 'b', 'a', 'c']
        assert [e.code for e in tick.events] == ['a', 'c']
        assert [(k.event.code, k.count) for k in tick.recalled] == [('b', 1)]
        r.send(10.5, 'patrol', topic='/m')
        [tick] = r.advance(11.0)
        assert tick.events == ()
        known = [(k.event.code, k.count) for k in tick.recalled]
        assert known == [('b', 1), ('a', 2), ('c', 1)]
        again = robot(recalled=r.tracker.recalled_table())
        again.advance(5000.5)
        [tick] = again.advance(5001.0)
        assert [(k.event.code, k.count) for k in tick.recalled] == known

    def test_a_damaged_table_is_refused(self, robot):
        with pytest.raises(SituationError, match='table of last occurrences'):
            robot(recalled={'version': 1, 'events': [{}]})

    def test_a_flood_of_events_is_cut_and_counted(self, robot, monkeypatch):
        monkeypatch.setattr('thinking_policy.situation.tracker.MAX_NEW_EVENTS', 3)
        r = robot(events={'topics': ['/said']})
        r.advance(9.5)
        for number in range(5):
            r.send(9.6 + number / 100, str(number), topic='/said')
        [tick] = r.advance(10.0)
        assert [e.code for e in tick.new_events] == ['2', '3', '4']
        assert r.tracker.counters.events_surplus == 2


class TestEpisodes:
    def test_another_mission_starts_the_window_anew(self, robot):
        r = robot({'t': {'limit_high': 25.0}}, episode={'mission_topic': '/m'})
        r.advance(9.5)
        r.send(9.6, 30.0)
        [first] = r.advance(10.0)
        r.send(10.6, 31.0)
        r.send(10.7, 'patrol', topic='/m')
        [second] = r.advance(11.0)
        assert first.episode == 'r-19700101T000010.000'
        assert second.episode == 'r-19700101T000011.000'
        assert column(second) == [31.0]
        assert [e.code for e in second.events] == ['t_high']  # limits are armed again
        assert r.tracker.counters.episodes == {'first tick': 1, 'mission changed': 1}

    def test_what_a_slow_signal_gathered_before_belongs_to_the_episode_before(self, robot):
        r = robot({'t': {'period_ticks': 2, 'over_time': 'mean'}}, episode={'mission_topic': '/m'})
        r.advance(10.0)
        r.send(10.5, 10.0)
        r.advance(11.0)
        r.send(11.5, 'patrol', topic='/m')
        r.send(11.6, 90.0)
        [tick] = r.advance(12.0)
        assert column(tick) == [90.0]

    def test_values_that_come_back_after_an_idle_gap_begin_an_episode(self, robot):
        r = robot(episode={'idle_gap_s': 5.0})
        r.advance(9.5)
        r.send(9.6, 30.0)
        r.advance(10.0)
        r.send(12.5, float('nan'))
        quiet = r.advance(14.0)
        assert {s.episode for s in quiet} == {'r-19700101T000010.000'}
        r.send(14.5, 40.0)
        [tick] = r.advance(15.0)
        assert (tick.episode, column(tick)) == ('r-19700101T000015.000', [40.0])


def test_last_by_receive_time_is_what_arrived_last_even_where_the_clock_stood_still(robot):
    it = robot()
    it.advance(9.5)
    for value, arrival_ns in ((30.0, 7), (20.0, 9), (40.0, 8)):
        raw = it.messages.raw(it.types['/t'], temperature=value)
        # under sim time all messages of a tick have one receive time
        it.tracker.receive('/t', raw, 10_000_000_000, arrival_ns)
    (situation,) = it.advance(10.0)
    assert situation.readings[0].value == 20.0
