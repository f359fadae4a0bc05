# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a robot's signals and clock do in the field, one test per condition."""

from __future__ import annotations

import math

import pytest

from thinking_policy.situation import SignalState

OK, STALE, INVALID, NEVER = SignalState
HEADER = {'time_source': 'header', 'lateness_s': 0.25}


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf, -1.0, 86.0, -41.0])
def test_nan_inf_sentinel_and_values_out_of_limits(robot, value):
    r = robot({'t': {'sentinels': [-1.0], 'valid_low': -40.0, 'valid_high': 85.0}})
    r.advance(9.5)
    r.send(9.6, value)
    [tick] = r.advance(10.0)
    assert tick.readings[0].state == INVALID
    assert not tick.valid.any()
    assert (tick.window == 0.0).all()
    assert r.tracker.counters.signals['t'].invalid == 1


def test_the_clock_jumps_back_as_when_a_bag_loops(robot):
    r = robot({'t': {'limit_high': 25.0}})
    passes = []
    for _ in range(2):
        r.advance(9.5)
        for second in (9, 10, 11):
            r.send(second + 0.6, 30.0 + second)
            passes += r.advance(second + 1.0)
        r.send(12.5, 99.0)  # still waits when the bag begins again
    assert [s.tick for s in passes] == [10, 11, 12] * 2
    assert [s.window.tolist() for s in passes[:3]] == [s.window.tolist() for s in passes[3:]]
    assert [len(s.new_events) for s in passes] == [1, 0, 0] * 2
    assert passes[3].episode == f'{passes[0].episode}-2'
    assert passes[3].events == passes[0].events
    assert r.counts() == {'received': 8, 'used': 6, 'jumped': 1, 'pending': 1}
    assert r.tracker.counters.jumps_back == 1


def test_a_message_of_the_next_pass_that_comes_before_its_clock_is_not_lost(robot):
    r = robot()
    r.advance(20.0)
    r.send(9.6, 30.0)
    [tick] = r.advance(10.0)
    assert (tick.tick, tick.readings[0].value) == (10, 30.0)
    assert r.counts() == {'received': 1, 'used': 1}


def test_events_of_the_pass_before_are_not_recalled_ahead_of_their_time(robot):
    r = robot(events={'topics': ['/said']})
    r.advance(19.5)
    r.send(19.6, 'bumper', topic='/said')
    [tick] = r.advance(20.0)
    assert len(tick.events) == 1
    [tick] = r.advance(10.0)
    assert (tick.events, tick.recalled) == ((), ())
    *_, tick = r.advance(20.0)
    assert [k.event.code for k in tick.recalled] == ['bumper']


def test_the_clock_jumps_forward_as_from_zero_to_a_date(robot):
    r = robot()
    r.advance(0.0)
    r.send(0.6, 30.0)
    r.advance(1.0)
    r.send(1.5, 31.0)
    now = 1_700_000_000.0
    r.send(now - 0.5, 40.0)
    [tick] = r.advance(now)  # one tick, not 1.7 billion
    assert tick.tick == 1_700_000_000
    assert tick.readings[0].value == 40.0
    assert tick.valid.sum() == 1
    assert tick.episode == 'r-20231114T221320.000'
    assert r.counts() == {'received': 3, 'used': 2, 'jumped': 1}
    assert r.tracker.counters.jumps_forward == 1
    assert [s.tick for s in r.advance(now + 1)] == [1_700_000_001]


def test_after_a_jump_nothing_from_before_is_held(robot):
    r = robot({'t': {'stale_s': 100.0}})
    r.advance(9.5)
    r.send(9.6, 30.0)
    r.advance(10.0)
    [tick] = r.advance(5.0)
    assert (tick.readings[0].state, tick.readings[0].age_s) == (NEVER, -1.0)


def test_a_pause_shorter_than_a_jump_closes_every_tick(robot):
    r = robot(clock_jump_s=10.0)
    r.advance(10.0)
    assert [s.tick for s in r.advance(20.0)] == list(range(11, 21))
    assert r.advance(30.5) == []
    assert [s.tick for s in r.advance(31.0)] == [31]


def test_ticks_longer_than_a_jump_are_no_jumps(robot):
    r = robot(tick_period_s=60.0, clock_jump_s=10.0)
    for minute in range(1, 5):
        assert [s.tick for s in r.advance(60.0 * minute)] == [minute]
    assert r.tracker.counters.jumps_forward == 0


def test_the_clock_stands_still(robot):
    r = robot()
    r.advance(9.5)
    for _ in range(100):
        r.send(9.5, 30.0)
        assert r.advance(9.5) == []
    assert r.tracker.next_due_ns(9_500_000_000) == 10_000_000_000
    assert r.counts() == {'received': 100, 'pending': 100}
    [tick] = r.advance(10.0)
    assert tick.readings[0].value == 30.0


def test_when_the_next_tick_is_due_after_a_jump(robot):
    r = robot()
    assert r.tracker.next_due_ns(7_200_000_000) == 8_000_000_000
    r.advance(7.2)
    assert r.tracker.next_due_ns(7_900_000_000) == 8_000_000_000
    assert r.tracker.next_due_ns(3_100_000_000) == 4_000_000_000
    assert r.tracker.next_due_ns(99_000_000_000) == 99_000_000_000


def test_header_stamps_that_are_never_set(robot):
    r = robot(**HEADER)
    r.advance(9.5)
    for second in range(10, 14):
        r.send(second - 0.5, float(second), header=0)
    *_, tick = r.advance(13.3)
    assert tick.valid.all()
    assert r.counts() == {'received': 4, 'used': 4, 'unstamped': 4}


def test_header_time_that_differs_from_receive_time_decides(robot):
    by_header, by_receipt = robot(**HEADER), robot()
    for r in (by_header, by_receipt):
        r.advance(9.5)
        r.send(10.2, 30.0, header=9.8)  # a slow network
        r.send(10.2, 40.0, header=10.1)
    assert by_header.advance(10.3)[0].readings[0].value == 30.0
    assert by_receipt.advance(10.3)[0].readings[0].state == NEVER
    assert by_header.advance(11.3)[0].readings[0].value == 40.0
    assert by_receipt.advance(11.3)[0].readings[0].value == 40.0


def test_no_publisher_and_a_late_joiner(robot):
    r = robot()
    r.advance(9.5)
    assert [s.readings[0].state for s in r.advance(12.0)] == [NEVER] * 3
    r.send(12.5, 30.0)
    [tick] = r.advance(13.0)
    assert tick.readings[0].state == OK
    assert tick.valid[:, 0].tolist() == [False, False, False, True]


def test_a_publisher_that_dies_makes_its_signal_stale_and_an_idle_episode_ends(robot):
    r = robot({'t': {'stale_s': 2.0}}, episode={'idle_gap_s': 4.0})
    r.advance(9.5)
    r.send(9.9, 30.0)
    states = [s.readings[0].state for s in r.advance(13.0)]
    assert states == [OK, OK, STALE, STALE]
    r.send(14.9, 31.0)
    *_, tick = r.advance(15.0)
    assert tick.valid.sum() == 1
    assert r.tracker.counters.episodes == {
        'first tick': 1,
        'usable values came back after an idle gap': 1,
    }


def test_zero_length_and_truncated_messages(robot):
    r = robot()
    r.advance(9.5)
    whole = r.messages.raw('sensor_msgs/msg/Temperature', temperature=30.0)
    for length in range(len(whole) - 8):
        r.tracker.receive('/t', whole[:length], 9_600_000_000)
    r.send(9.5, 30.0)
    [tick] = r.advance(10.0)
    assert tick.readings[0].value == 30.0
    assert r.counts() == {'received': len(whole) - 7, 'broken': len(whole) - 8, 'used': 1}
