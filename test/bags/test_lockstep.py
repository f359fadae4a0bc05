# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The order in which the player publishes and the offline replay feeds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.bags import BagError, lockstep, open_bag, replay_grid
from thinking_policy.bags.lockstep import Advance, Play, ReplayGrid
from thinking_policy.situation import EpisodeConfig, SignalConfig, SituationConfig

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


class FakeBag:
    """What lockstep needs of a bag, without a file: (topic, time, raw) rows."""

    def __init__(self, rows):
        self.rows = rows
        self.start_ns = min(row[1] for row in rows)
        self.end_ns = max(row[1] for row in rows)
        self.problems = {}

    def topic(self, name):
        return None

    def messages(self, topics):
        return iter(sorted((row for row in self.rows if row[0] in topics), key=lambda row: row[1]))


def steps(bag, topics, grid, clock='auto'):
    """Return steps as short tuples, times in seconds since START."""
    found = []
    for step in lockstep(bag, topics, grid, clock):
        if isinstance(step, Play):
            found.append((step.topic, seconds(step.record_ns), seconds(step.received_ns)))
        else:
            found.append(('jump' if step.jump else 'clock', seconds(step.clock_ns)))
    return found


def seconds(ns):
    return (ns - START) / SECOND


def at(*times, topic='/a'):
    return [(topic, START + round(t * SECOND), b'') for t in times]


GRID = ReplayGrid(SECOND)


def test_what_was_recorded_up_to_a_tick_comes_before_its_clock():
    assert steps(FakeBag(at(0.2, 1.0, 1.1, 3.5)), ['/a'], GRID) == [
        ('/a', 0.2, 1),
        ('/a', 1.0, 1),
        ('clock', 1),
        ('/a', 1.1, 2),
        ('clock', 2),
        ('clock', 3),
        ('/a', 3.5, 4),
        ('clock', 4),
    ]


def test_in_header_time_the_clock_stops_after_the_lateness_and_ends_past_it():
    grid = ReplayGrid(SECOND, lateness_ns=SECOND // 4)
    assert steps(FakeBag(at(0.2, 1.2, 1.3)), ['/a'], grid) == [
        ('/a', 0.2, 0.25),
        ('clock', 0.25),
        ('/a', 1.2, 1.25),
        ('clock', 1.25),
        ('/a', 1.3, 2.25),
        ('clock', 2.25),
        ('clock', 3.25),  # what came at 2.25 without a stamp belongs to the tick that ends at 3
    ]


def test_the_clock_runs_over_the_whole_bag_whatever_is_played():
    bag = FakeBag(at(0.5, 4.5, topic='/other') + at(2.5))
    assert steps(bag, ['/a'], GRID) == [
        ('clock', 1),
        ('clock', 2),
        ('/a', 2.5, 3),
        ('clock', 3),
        ('clock', 4),
        ('clock', 5),
    ]


def test_a_long_silence_is_jumped_over_to_the_stop_before_the_next_message():
    grid = ReplayGrid(SECOND, longest_silence_ns=5 * SECOND)
    assert steps(FakeBag(at(0.5, 100.5)), ['/a'], grid) == [
        ('/a', 0.5, 1),
        ('clock', 1),
        ('jump', 100),
        ('/a', 100.5, 101),
        ('clock', 101),
    ]


def test_a_stray_message_long_before_the_others_makes_no_storm_of_ticks():
    bag = FakeBag([('/stray', 0, b''), *at(0.5, 1.5)])
    assert steps(bag, ['/a'], GRID) == [('/a', 0.5, 1), ('clock', 1), ('/a', 1.5, 2), ('clock', 2)]


def test_an_index_that_ends_or_starts_elsewhere_makes_no_storm_of_ticks():
    early, late = FakeBag(at(0.2, 1.5)), FakeBag(at(0.2, 1.5))
    early.end_ns = 5  # as a damaged index says
    late.start_ns = START + 3600 * SECOND
    late.end_ns = late.start_ns + SECOND
    begun = [('/a', 0.2, 1), ('clock', 1), ('/a', 1.5, 2), ('clock', 2)]
    assert steps(early, ['/a'], GRID) == begun
    assert steps(late, ['/a'], GRID) == begun


def test_a_message_later_than_the_end_of_the_index_is_in_a_tick():
    bag = FakeBag(at(0.2))
    bag.end_ns = 5
    assert steps(bag, ['/a'], GRID) == [('/a', 0.2, 1), ('clock', 1)]


def test_time_zero_is_no_time_and_never_published():
    found = list(lockstep(FakeBag([('/a', 0, b''), ('/a', SECOND, b'')]), ['/a'], GRID))
    assert [s.clock_ns for s in found if isinstance(s, Advance)] == [SECOND]


def test_nothing_to_play_is_no_step():
    assert steps(FakeBag(at(1.0)), ['/b'], GRID) == []


@given(
    times=st.lists(st.integers(0, 40 * SECOND), min_size=1, max_size=40),
    period=st.sampled_from([SECOND // 2, SECOND, 3 * SECOND]),
    lateness=st.sampled_from([0, SECOND // 10, 2 * SECOND]),
)
def test_clocks_rise_and_every_message_is_fed_once_at_the_clock_that_follows(
    times, period, lateness
):
    grid = ReplayGrid(period, lateness)
    found = list(lockstep(FakeBag([('/a', START + t, b'') for t in times]), ['/a'], grid))
    clocks = [s.clock_ns for s in found if isinstance(s, Advance)]
    assert clocks == sorted(set(clocks))
    assert all((c - lateness) % period == 0 for c in clocks)
    plays = [s for s in found if isinstance(s, Play)]
    assert [p.record_ns for p in plays] == sorted(START + t for t in times)
    following = None
    for step in reversed(found):
        if isinstance(step, Advance):
            following = step.clock_ns
        else:
            assert step.received_ns == following
            assert following - max(period, lateness) - period < step.record_ns <= following
    assert clocks[-1] - lateness >= START + max(times)


def clock_bag(write_bag, messages, clock, others=()):
    rows = [
        ('/clock', 'rosgraph_msgs/msg/Clock', START + i * SECOND // 10, messages.clock(round(c)))
        for i, c in enumerate(clock)
    ]
    rows += [
        (
            '/a',
            'std_msgs/msg/Float64',
            START + i * SECOND // 10 + 1,
            messages.simple('std_msgs/msg/Float64', 1.0),
        )
        for i in others
    ]
    return open_bag(write_bag(sorted(rows, key=lambda row: row[2])))


def test_the_recorded_clock_is_followed_where_there_is_one(write_bag, messages):
    clock = [5.0 * SECOND + i * SECOND / 4 for i in range(7)]  # 5.0 ... 6.5
    with clock_bag(write_bag, messages, clock, others=[0, 3, 6]) as bag:
        found = list(lockstep(bag, ['/a', '/clock'], GRID))
        assert [
            (type(s).__name__, s.clock_ns if isinstance(s, Advance) else s.received_ns)
            for s in found
        ] == [
            ('Advance', 5 * SECOND),
            ('Play', 6 * SECOND),
            ('Play', 6 * SECOND),
            ('Advance', 6 * SECOND),
            ('Play', 7 * SECOND),
            ('Advance', 7 * SECOND),
        ]
        by_record = [s for s in lockstep(bag, ['/a'], GRID, 'record') if isinstance(s, Advance)]
        assert [s.clock_ns for s in by_record] == [START, START + SECOND]


@pytest.mark.parametrize(
    ('clock', 'expected'),
    [
        ([5.0, 6.0, 2.0, 3.0], [(5, False), (6, False), (1, True), (2, False), (3, False)]),
        ([5.0, 6.0, 90.5, 91.0], [(5, False), (6, False), (90, True), (91, False)]),
        ([0.0, 1.0, 1.7e9], [(1, False), (1.7e9 - 1, True), (1.7e9, False)]),
        ([5.0, 5.0, 5.0], [(5, False)]),
    ],
    ids=['back', 'forward', 'zero first', 'standing still'],
)
def test_a_recorded_clock_that_jumps_is_set_and_not_walked(write_bag, messages, clock, expected):
    with clock_bag(write_bag, messages, [c * SECOND for c in clock]) as bag:
        found = [(s.clock_ns / SECOND, s.jump) for s in lockstep(bag, [], GRID)]
    assert found == expected


def test_what_comes_before_a_jump_is_fed_at_the_clock_after_it_as_a_live_node_does(
    write_bag, messages
):
    clock = [c * SECOND for c in (5.0, 6.0, 2.0, 3.0)]
    with clock_bag(write_bag, messages, clock, others=[0, 1, 2]) as bag:
        found = list(lockstep(bag, ['/a'], GRID))
    fed = [step.received_ns // SECOND for step in found if isinstance(step, Play)]
    assert fed == [6, 1, 3]


def test_a_clock_that_is_not_there_is_an_error_with_the_remedy(write_bag, temperatures):
    with open_bag(write_bag(temperatures([1.0]))) as bag:
        with pytest.raises(BagError, match='no message on /clock; replay it with clock: record'):
            lockstep(bag, [], GRID, 'clock')
        with pytest.raises(BagError, match="expected one of auto, record, clock, found 'sim'"):
            lockstep(bag, [], GRID, 'sim')


def test_the_grid_has_the_numbers_of_the_configuration():
    signal = SignalConfig(name='a', topic='/a', type='std_msgs/msg/Float32', field='data')
    assert replay_grid(SituationConfig(signals=(signal,))) == ReplayGrid(
        SECOND // 2, 0, 10 * SECOND, 600 * SECOND
    )
    by_header = SituationConfig(
        tick_period_s=20.0,
        time_source='header',
        signals=(signal,),
        episode=EpisodeConfig(idle_gap_s=900.0),
    )
    assert replay_grid(by_header) == ReplayGrid(
        20 * SECOND, SECOND // 10, 40 * SECOND, 900 * SECOND
    )
