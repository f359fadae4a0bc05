# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `bag info` measures and what `bag situations` writes."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from thinking_policy.bags import BagError, open_bag, situations_of
from thinking_policy.bags.export import export_situations
from thinking_policy.bags.info import advice, inspect_signals
from thinking_policy.bags.record_order import steps_back
from thinking_policy.bags.times import topic_times
from thinking_policy.situation import EventConfig, SignalConfig, SituationConfig

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TEMPERATURE = 'sensor_msgs/msg/Temperature'


def config(*signals, **options):
    made = tuple(
        SignalConfig(name=name, topic=topic, type=TEMPERATURE, field=field, **more)
        for name, topic, field, more in signals
    )
    return SituationConfig(
        tick_period_s=1.0, window_length=4, signals=made,
        events=EventConfig(diagnostics_topic=''), **options,
    )  # fmt: skip


ONE = (('t', '/temperature', 'temperature', {'limit_high': 50.0}),)


@pytest.fixture
def late_bag(write_bag, messages):
    """Return a bag whose headers are 0.2 s older than their recording, every fifth unset."""
    rows = []
    for i in range(2000):
        at = START + i * SECOND // 100 + (3 * SECOND if i >= 1000 else 0)
        stamp = 0 if i % 5 == 0 else at - SECOND // 5
        rows.append(('/temperature', TEMPERATURE, at, messages.temperature(1.0, stamp)))
    return write_bag(rows)


def measured(bag):
    return topic_times(bag, [topic.name for topic in bag.topics if topic.count])


def test_rates_gaps_and_clock_offsets_are_measured(late_bag):
    with open_bag(late_bag) as bag:
        times = measured(bag)['/temperature']
    assert times.messages == 2000
    assert times.rate_hz == pytest.approx(1999 / 22.99)
    assert times.period_s == pytest.approx(0.01)
    assert times.longest_gap_s == pytest.approx(3.01)
    assert times.longest_gap_ns == START + 999 * SECOND // 100
    assert times.gaps == 1
    assert (times.unset, times.invalid, times.unstamped) == (400, 0, 400)
    assert times.offset_s == pytest.approx((0.2, 0.2, 0.2))


def stamped(messages, *headers):
    """Return rows a second apart with these header times."""
    return [
        ('/temperature', TEMPERATURE, START + i * SECOND, messages.temperature(1.0, stamp))
        for i, stamp in enumerate(headers)
    ]


def test_header_times_that_step_back_or_jump_ahead_are_counted(write_bag, messages):
    seconds = (100, 101, 95, 96, 5000, 5001, 4000)
    with open_bag(write_bag(stamped(messages, *(s * SECOND for s in seconds)))) as bag:
        times = measured(bag)['/temperature']
    assert (times.backward, times.furthest_back_s, times.ahead) == (2, 1001.0, 1)


def test_a_clock_set_back_while_it_recorded_is_found_in_every_storage(
    kind, write_bag, temperatures
):
    period = SECOND // 20
    rows = temperatures([1.0] * 20, kind, period) + temperatures(
        [1.0] * 20, kind, period, start=START - 5 * SECOND
    )
    with open_bag(write_bag(rows, kind)) as bag:
        found = steps_back(bag)
        assert found.count == 1
        assert found.furthest_s == pytest.approx(5.95)
        assert found.at_ns == START + 19 * period
        assert dict(bag.problems) == {}
    with open_bag(write_bag(rows[:20], kind, name='plain')) as bag:
        assert steps_back(bag).count == 0


def test_stamps_that_are_no_time_are_told_from_unset_ones(write_bag, messages):
    rows = stamped(messages, 0, 5 * SECOND, 6 * SECOND, 7 * SECOND, 8 * SECOND)
    raws = [bytearray(row[3]) for row in rows]
    raws[1][8:12] = (1_000_000_000).to_bytes(4, 'little')  # a whole second of nanoseconds
    raws[2][4:8] = (-1).to_bytes(4, 'little', signed=True)
    raws[3] = raws[3][:9]  # cut within the stamp
    rows = [(*row[:3], bytes(raw)) for row, raw in zip(rows, raws, strict=True)]
    with open_bag(write_bag(rows)) as bag:
        times = measured(bag)['/temperature']
    assert (times.messages, times.unset, times.invalid) == (5, 1, 3)
    assert times.offset_s == pytest.approx((START / 1e9 - 4,) * 3)


def test_a_topic_of_unknown_type_and_one_without_header_have_record_times_only(
    write_bag, messages
):
    number = messages.simple('std_msgs/msg/Float64', 1.0)
    rows = [('/n', 'std_msgs/msg/Float64', START + i * SECOND, number) for i in range(4)]
    with open_bag(write_bag(rows)) as bag:
        times = measured(bag)['/n']
    assert (times.has_header, times.offset_s, times.unstamped) == (False, None, 4)
    assert times.period_s == pytest.approx(1.0)


def test_header_times_later_than_the_lateness_are_pointed_out(late_bag):
    by_header = config(*ONE, time_source='header', lateness_s=0.1)
    with open_bag(late_bag) as bag:
        (line,) = advice(bag, by_header, measured(bag))
        assert 'come 0.200 s after their header time, later than lateness_s 0.1' in line
        assert advice(bag, config(*ONE), measured(bag)) == ()


def test_another_clock_and_missing_stamps_are_pointed_out(write_bag, messages):
    by_header = config(*ONE, time_source='header')
    for name, stamp, said in (
        ('simulated', 5 * SECOND, 'another clock than record time (+1699999995.0 s)'),
        ('unset', 0, 'no header stamp in any message'),
    ):
        rows = [('/temperature', TEMPERATURE, START, messages.temperature(1.0, stamp))]
        with open_bag(write_bag(rows, name=name)) as bag:
            (line,) = advice(bag, by_header, measured(bag))
        assert said in line


def test_each_signal_says_what_feeds_it_or_why_nothing_does(write_bag, temperatures, messages):
    rows = temperatures([1.0])
    rows.append(('/wrong', 'std_msgs/msg/Float64', START,
                 messages.simple('std_msgs/msg/Float64', 1.0)))  # fmt: skip
    made = config(
        ('fed', '/temperature', 'temperature', {}),
        ('none', '', '', {}),
        ('missing', '/heat', 'temperature', {}),
        ('other', '/wrong', 'temperature', {}),
    )
    with open_bag(write_bag(rows)) as bag:
        found = {info.name: (info.source, info.problem) for info in inspect_signals(bag, made)}
    assert found == {
        'fed': ('/temperature', ''),
        'none': ('', 'no topic configured'),
        'missing': ('', 'not in the bag; of this type it has /temperature'),
        'other': (
            '/wrong',
            f'expected {TEMPERATURE}, the bag has std_msgs/msg/Float64; '
            'of this type it has /temperature',
        ),
    }


def test_a_field_that_does_not_exist_is_the_signals_problem(write_bag, temperatures):
    with open_bag(write_bag(temperatures([1.0]))) as bag:
        (info,) = inspect_signals(bag, config(('t', '/temperature', 'heat', {})))
    assert "there is no 'heat'" in info.problem


def exported(bag_path, made, file, **options):
    with open_bag(bag_path) as bag:
        replay = situations_of(bag, made, robot_id='r')
        export_situations(bag, made, replay, file, **options)
    return np.load(file)  # without allow_pickle: nothing in it needs that


def test_the_file_holds_what_the_replay_yields(write_bag, temperatures, tmp_path):
    path = write_bag(temperatures([10.0, 20.0, 60.0, float('nan'), 70.0], period_ns=SECOND))
    made = config(*ONE)
    with open_bag(path) as bag:
        expected = list(situations_of(bag, made, robot_id='r'))
    found = exported(path, made, tmp_path / 'out' / 's.npz')
    assert found['window'].shape == (5, 4, 1)
    assert found['window'].dtype == np.float32
    np.testing.assert_array_equal(found['window'], np.stack([s.window for s in expected]))
    np.testing.assert_array_equal(found['valid'], np.stack([s.valid for s in expected]))
    assert found['stamp_ns'].tolist() == [START + i * SECOND for i in range(5)]
    assert found['tick'].tolist() == [s.tick for s in expected]
    assert found['episode'].tolist() == [s.episode for s in expected]
    np.testing.assert_array_equal(found['values'][:, 0], [10.0, 20.0, 60.0, np.nan, 70.0])
    assert found['states'][:, 0].tolist() == [0, 0, 0, 2, 0]
    assert found['signals'].tolist() == ['t']
    assert found['event_code'].tolist() == ['t_high']
    assert found['event_row'].tolist() == [2]
    assert found['event_stamp_ns'].tolist() == [START + 2 * SECOND]
    meta = json.loads(str(found['meta']))
    assert meta['configuration']['signals'][0]['limit_high'] == 50.0
    assert meta['configuration']['signals'][0]['limit_low'] is None
    assert meta['counters']['signals']['t'] == {'usable': 4, 'invalid': 1}
    assert (meta['clock'], meta['bag']) == ('record', 'bag')


def test_a_stride_keeps_its_multiples_and_every_event(write_bag, temperatures, tmp_path):
    path = write_bag(temperatures([10.0, 60.0, 10.0, 60.0], period_ns=SECOND))
    found = exported(path, config(*ONE), tmp_path / 's.npz', stride=2)
    assert [tick % 2 for tick in found['tick'].tolist()] == [0, 0]
    # The second event came after the last situation that was kept.
    assert found['event_row'].tolist() == [1, 2]


def test_many_situations_keep_their_order_and_episodes(write_bag, temperatures, tmp_path):
    rows = temperatures(range(3000), period_ns=SECOND)
    rows += temperatures([1.0], start=START + 9000 * SECOND)
    found = exported(write_bag(rows), config(*ONE), tmp_path / 's.npz')
    assert found['values'][:3000, 0].tolist() == list(range(3000))
    assert len(set(found['episode'][:3000].tolist())) == 1
    assert found['episode'][-1] != found['episode'][0]


def test_neither_the_bag_nor_a_pipe_is_replaced(write_bag, temperatures, tmp_path):
    bag = write_bag(temperatures([1.0]))
    parts = {path: path.read_bytes() for path in bag.iterdir()}
    assert {path.suffix for path in parts} >= {'.yaml'}
    for path in parts:
        with pytest.raises(BagError, match='is the bag or a part of it'):
            exported(bag, config(*ONE), path, overwrite=True)
    os.mkfifo(tmp_path / 'pipe')
    for path in (tmp_path, tmp_path / 'pipe'):
        with pytest.raises(BagError, match='is there and not a file'):
            exported(bag, config(*ONE), path, overwrite=True)
    assert {path: path.read_bytes() for path in bag.iterdir()} == parts
    exported(bag, config(*ONE), bag / 's.npz')  # beside them is no harm


def test_a_file_is_replaced_only_when_told_and_never_left_half(write_bag, temperatures, tmp_path):
    path = write_bag(temperatures([1.0]))
    exported(path, config(*ONE), tmp_path / 's.npz')
    with pytest.raises(BagError, match='exists already'):
        exported(path, config(*ONE), tmp_path / 's.npz')
    exported(path, config(*ONE), tmp_path / 's.npz', overwrite=True)
    (tmp_path / 'file').write_text('')
    with pytest.raises(BagError, match='cannot be written'):
        exported(path, config(*ONE), tmp_path / 'file' / 's.npz')
    assert [p.name for p in tmp_path.glob('.*')] == []
