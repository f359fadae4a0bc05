# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From bags to situations: right values, the same from every storage, nothing lost unsaid."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.bags import BagError, open_bag, situations_of
from thinking_policy.situation import (
    EventConfig,
    SignalConfig,
    SignalState,
    SituationConfig,
    SituationError,
)

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TEMPERATURE = 'sensor_msgs/msg/Temperature'


def config(*, field='temperature', topic='temperature', over_time='mean', tick=1.0, **options):
    signal = SignalConfig(
        name='t',
        topic=topic,
        type=TEMPERATURE,
        field=field,
        over_time=over_time,
        nominal_low=0.0,
        nominal_high=100.0,
        stale_s=2.0,
    )
    return SituationConfig(tick_period_s=tick, window_length=3, signals=(signal,), **options)


def values(situations):
    return [situation.readings[0].value for situation in situations]


def test_each_tick_has_the_mean_of_what_was_recorded_in_it(kind, write_bag, temperatures):
    # At 0.0, 0.5 ... 2.5 s: the message at 1.0 s belongs to the tick that ends there.
    path = write_bag(temperatures([10.0, 20.0, 40.0, 60.0, 80.0, 90.0], kind), kind)
    with open_bag(path) as bag:
        found = list(situations_of(bag, config(), robot_id='r1'))
    assert [s.tick for s in found] == [1_700_000_000 + i for i in range(4)]
    assert values(found) == [10.0, 30.0, 70.0, 90.0]
    assert [s.stamp_ns for s in found] == [START + i * SECOND for i in range(4)]
    assert {s.episode for s in found} == {'r1-20231114T221320.000'}
    np.testing.assert_array_equal(found[3].window[:, 0], np.float32([0.3, 0.7, 0.9]))
    assert found[3].valid.all()
    assert not found[0].valid[:2].any()


def test_last_is_what_was_recorded_last(write_bag, temperatures):
    with open_bag(write_bag(temperatures([50.0, 90.0, 70.0], period_ns=SECOND // 10))) as bag:
        (first, second) = situations_of(bag, config(over_time='last'))
    assert (first.readings[0].value, second.readings[0].value) == (50.0, 70.0)


def test_the_order_of_equal_record_times_does_not_matter(write_bag, temperatures):
    rows = temperatures([5.0, 1.0, 3.0, 9.0], period_ns=0)
    windows = []
    for name, order in (('one', rows), ('other', rows[::-1])):
        with open_bag(write_bag(order, name=name)) as bag:
            windows.append([s.window for s in situations_of(bag, config(over_time='last'))])
    np.testing.assert_array_equal(windows[0], windows[1])


def test_in_header_time_a_message_belongs_to_the_tick_of_its_header(write_bag, messages):
    # Recorded 0.05 s after they were stamped: 0.98 is recorded at 1.03, after the tick's end.
    stamps = [0.5, 0.98, 1.5, 1.9]
    rows = [
        (
            '/temperature',
            TEMPERATURE,
            START + round((stamp + 0.05) * SECOND),
            messages.temperature(10.0 * (i + 1), START + round(stamp * SECOND)),
        )
        for i, stamp in enumerate(stamps)
    ]
    with open_bag(write_bag(rows)) as bag:
        by_header = situations_of(bag, config(time_source='header', lateness_s=0.1))
        found = {s.tick - 1_700_000_000: s.readings[0] for s in by_header}
        assert (found[1].value, found[2].value) == (15.0, 35.0)
        by_receive = {
            s.tick - 1_700_000_000: s.readings[0].value for s in situations_of(bag, config())
        }
        assert (by_receive[1], by_receive[2]) == (10.0, 30.0)


def test_what_comes_later_than_the_lateness_is_dropped_and_counted(write_bag, messages):
    rows = [
        (
            '/temperature',
            TEMPERATURE,
            START + round(at * SECOND),
            messages.temperature(value, START + round(stamp * SECOND)),
        )
        for value, stamp, at in ((1.0, 0.5, 0.5), (2.0, 0.6, 1.2), (3.0, 1.5, 1.5))
    ]
    with open_bag(write_bag(rows)) as bag:
        replay = situations_of(bag, config(time_source='header', lateness_s=0.1))
        found = values(replay)
    assert [v for v in found if v == v][-1] == 3.0
    assert 2.0 not in found
    counts = replay.counters.topics['temperature']
    assert (counts.received, counts.used, counts.late) == (3, 2, 1)


def test_header_stamps_of_zero_fall_back_to_record_time_and_are_counted(write_bag, messages):
    rows = [
        ('/temperature', TEMPERATURE, START + i * SECOND, messages.temperature(float(i)))
        for i in range(1, 4)
    ]
    with open_bag(write_bag(rows)) as bag:
        replay = situations_of(bag, config(time_source='header'))
        assert {1.0, 2.0, 3.0} <= set(values(replay))
    assert replay.counters.topics['temperature'].unstamped == 3


def test_the_same_window_comes_from_simulated_time_whenever_it_was_recorded(write_bag, messages):
    windows = []
    for name, recorded in (('monday', START), ('friday', START + 400_000 * SECOND)):
        rows = []
        for i in range(1, 50):
            stamp = i * SECOND // 10
            rows.append(
                ('/clock', 'rosgraph_msgs/msg/Clock', recorded + stamp, messages.clock(stamp))
            )
            rows.append(
                (
                    '/temperature',
                    TEMPERATURE,
                    recorded + stamp + 1,
                    messages.temperature(float(i), stamp),
                )
            )
        with open_bag(write_bag(rows, name=name)) as bag:
            replay = situations_of(bag, config(time_source='header'))
            windows.append([(s.tick, s.window.tobytes()) for s in replay])
            assert replay.clock == 'clock'
            assert replay.counters.topics['temperature'].used == 49
    assert windows[0] == windows[1]
    assert [tick for tick, _ in windows[0]] == [1, 2, 3, 4, 5, 6]


def test_a_recorded_clock_that_starts_over_begins_a_new_episode(write_bag, messages):
    rows = []
    for i in range(80):
        stamp = (i % 40 + 1) * SECOND // 10
        rows.append(
            ('/clock', 'rosgraph_msgs/msg/Clock', START + i * SECOND // 10, messages.clock(stamp))
        )
        rows.append(
            (
                '/temperature',
                TEMPERATURE,
                START + i * SECOND // 10 + 1,
                messages.temperature(float(i), stamp),
            )
        )
    with open_bag(write_bag(rows)) as bag:
        replay = situations_of(bag, config())
        found = list(replay)
    assert len({s.episode for s in found}) == 2
    assert replay.counters.jumps_back == 1
    first = next(s for s in found if s.episode != found[0].episode)
    assert first.valid.sum() <= 1  # nothing of the first pass


def test_a_pause_of_hours_is_no_storm_and_begins_a_new_episode(write_bag, temperatures):
    rows = temperatures([1.0, 2.0]) + temperatures([3.0, 4.0], start=START + 7200 * SECOND)
    with open_bag(write_bag(rows)) as bag:
        replay = situations_of(bag, config())
        found = list(replay)
    assert len(found) < 10
    assert len({s.episode for s in found}) == 2
    assert replay.counters.topics['temperature'].used == 4


def test_nan_and_infinity_are_invalid_and_counted_never_in_a_window(write_bag, temperatures):
    path = write_bag(temperatures([float('nan'), float('inf'), 5.0], period_ns=SECOND))
    with open_bag(path) as bag:
        replay = situations_of(bag, config())
        found = list(replay)
    assert [s.readings[0].state for s in found] == [
        SignalState.INVALID,
        SignalState.INVALID,
        SignalState.OK,
    ]
    assert all(np.isfinite(s.window).all() for s in found)
    assert replay.counters.signals['t'].invalid == 2


def test_events_of_limits_and_texts_come_with_their_tick(write_bag, temperatures, messages):
    rows = temperatures([1.0, 1.0, 99.0, 99.0, 1.0], period_ns=SECOND)
    rows.append(
        (
            '/said',
            'std_msgs/msg/String',
            START + SECOND + 1,
            messages.simple('std_msgs/msg/String', ' bump '),
        )
    )
    made = SituationConfig(
        tick_period_s=1.0,
        signals=(
            SignalConfig(
                name='t',
                topic='/temperature',
                type=TEMPERATURE,
                field='temperature',
                limit_high=50.0,
            ),
        ),
        events=EventConfig(topics=('/said',)),
    )
    with open_bag(write_bag(rows)) as bag:
        codes = {
            s.tick - 1_700_000_000: [e.code for e in s.new_events]
            for s in situations_of(bag, made)
        }
    assert codes == {0: [], 1: [], 2: ['t_high', 'bump'], 3: [], 4: []}


def test_two_signals_of_one_topic_and_a_topic_of_other_type(write_bag, temperatures, messages):
    rows = temperatures([4.0])
    rows.append(
        ('/other', 'std_msgs/msg/Float64', START, messages.simple('std_msgs/msg/Float64', 1.0))
    )
    signals = tuple(
        SignalConfig(name=name, topic=topic, type=TEMPERATURE, field=field)
        for name, topic, field in (
            ('a', '/temperature', 'temperature'),
            ('b', '/temperature', 'variance'),
            ('c', '/other', 'temperature'),
        )
    )
    with open_bag(write_bag(rows)) as bag:
        replay = situations_of(bag, SituationConfig(tick_period_s=1.0, signals=signals))
        (situation,) = replay
    assert [r.state for r in situation.readings] == [
        SignalState.OK,
        SignalState.OK,
        SignalState.NEVER,
    ]
    problems = {feed.topic: feed.problem for feed in replay.feeds}
    assert problems['/temperature'] == ''
    assert problems['/other'] == (
        f'expected {TEMPERATURE}, the bag has std_msgs/msg/Float64; '
        'of this type it has /temperature'
    )


def test_relative_topics_are_found_in_the_namespace_only(write_bag, temperatures):
    path = write_bag(temperatures([4.0], topic='/robot7/temperature'))
    with open_bag(path) as bag:
        assert values(situations_of(bag, config(), namespace='/robot7')) == [4.0]
        with pytest.raises(BagError, match='but /robot7/temperature is: give --namespace robot7'):
            situations_of(bag, config())


def test_nothing_to_feed_says_what_of_that_type_the_bag_has(write_bag, temperatures):
    with open_bag(write_bag(temperatures([4.0]))) as bag:
        with pytest.raises(BagError, match='/heat: not in the bag; of this type it has /temp'):
            situations_of(bag, config(topic='/heat'))
        with pytest.raises(SituationError, match=r'temprature.*did you mean'):
            situations_of(bag, config(field='temprature'))
