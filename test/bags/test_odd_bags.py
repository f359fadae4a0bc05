# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Bags at the edges of what may be: times, serializations, files that are none."""

from __future__ import annotations

import dataclasses
import math
import os
import sqlite3

import pytest
from mcap.writer import Writer as McapWriter

from thinking_policy.bags import BagError, open_bag, replay_grid, situations_of
from thinking_policy.bags.storage import LATEST_NS
from thinking_policy.situation import EpisodeConfig, SignalConfig, SituationConfig

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TEMPERATURE = 'sensor_msgs/msg/Temperature'
CONFIG = SituationConfig(
    tick_period_s=1.0,
    signals=(SignalConfig(name='t', topic='/t', type=TEMPERATURE, field='temperature'),),
)
AT_TEMPERATURE = dataclasses.replace(CONFIG.signals[0], topic='/temperature')
DEFINITION = f"""std_msgs/Header header
float64 temperature
float64 variance
{'=' * 80}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
"""
ROS1_DEFINITION = f"""Header header
float64 temperature
float64 variance
{'=' * 80}
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
"""


def write_mcap(path, rows, encoding='cdr', finish=True, definition=DEFINITION):
    """Write (time, raw) rows on /t; an unfinished file is what a running recorder leaves."""
    with path.open('wb') as file:
        writer = McapWriter(file)
        writer.start()
        if encoding == 'ros1':
            schema = writer.register_schema(
                'sensor_msgs/Temperature', 'ros1msg', ROS1_DEFINITION.encode()
            )
        else:
            schema = writer.register_schema(TEMPERATURE, 'ros2msg', definition.encode())
        channel = writer.register_channel('/t', encoding, schema)
        for stamp, raw in rows:
            writer.add_message(channel, stamp, raw, stamp)
        if finish:
            writer.finish()
    return path


def values(path, config=CONFIG):
    with open_bag(path) as bag:
        situations = list(situations_of(bag, config))
        return [s.readings[0].value for s in situations], dict(bag.problems)


def test_an_mcap_of_ros1_messages_is_converted(tmp_path, messages):
    rows = [
        (START + i * SECOND, messages.temperature(20.0 + i, START, ros1=True)) for i in range(3)
    ]
    assert values(write_mcap(tmp_path / 'a.mcap', rows, 'ros1')) == ([20.0, 21.0, 22.0], {})


def test_a_definition_left_empty_by_the_recorder_is_looked_up(tmp_path, messages):
    rows = [(START, messages.temperature(20.0))]
    assert values(write_mcap(tmp_path / 'a.mcap', rows, definition='')) == ([20.0], {})


def test_a_recording_that_has_only_just_begun_is_said_to_be_cut(tmp_path):
    path = write_mcap(tmp_path / 'a.mcap', [], finish=False)
    with pytest.raises(BagError, match=r'a.mcap: no message can be read: the file is cut'):
        open_bag(path)


@pytest.mark.parametrize('kind', ['mcap', 'ros1'])
def test_a_chunk_with_other_times_than_its_index_says_is_read_and_said(
    kind, write_bag, temperatures
):
    path = write_bag(temperatures([1.0, 2.0], kind, SECOND), kind)
    file = next(path.glob('*.mcap')) if path.is_dir() else path
    content = bytearray(file.read_bytes())
    if kind == 'mcap':  # the first time of the chunk index, which follows operation and length
        footer = len(content) - 8 - 20
        place = int.from_bytes(content[footer : footer + 8], 'little')
        while content[place] != 8:
            place += 9 + int.from_bytes(content[place + 1 : place + 9], 'little')
        content[place + 9 : place + 17] = (START - 3600 * SECOND).to_bytes(8, 'little')
        content[place + 17 : place + 25] = (START - 3599 * SECOND).to_bytes(8, 'little')
    else:
        for name in (b'start_time=', b'end_time='):
            place = content.rindex(name) + len(name)
            content[place : place + 4] = (START // SECOND - 3600).to_bytes(4, 'little')
    file.write_bytes(content)
    found, problems = values(file, dataclasses.replace(CONFIG, signals=(AT_TEMPERATURE,)))
    assert found == [1.0, 2.0]
    assert problems == {f'{file.name}: chunk with other times than its index says': 1}


def sqlite_at(times, write_bag, messages):
    folder = write_bag([('/t', TEMPERATURE, i, messages.temperature(5.0)) for i in range(3)])
    file = next(folder.glob('*.db3'))
    with sqlite3.connect(file) as db:
        for row, stamp in enumerate(times, start=1):
            db.execute('UPDATE messages SET timestamp = ? WHERE id = ?', (stamp, row))
    db.close()
    return file


def test_times_that_leave_no_room_for_a_tick_are_left_out_and_counted(write_bag, messages):
    path = sqlite_at([START, 2**63 - 1, -(2**63)], write_bag, messages)
    found, problems = values(path)
    assert found == [5.0]
    assert problems == {'bag.db3: message without a time between 1678 and 2261, left out': 2}


def test_the_latest_time_is_replayed(write_bag, messages):
    path = sqlite_at([LATEST_NS] * 3, write_bag, messages)
    assert values(path)[0] == [5.0]


def test_a_time_of_an_mcap_beyond_the_latest_is_left_out_and_counted(tmp_path, messages):
    raw = messages.temperature(7.0)
    rows = [(START, raw), (LATEST_NS + 1, raw), (2**64 - 1, raw)]
    found, problems = values(write_mcap(tmp_path / 'a.mcap', rows))
    assert found == [7.0]
    assert problems == {'a.mcap: message with a time after 2261, left out': 2}


@pytest.mark.parametrize('header', [False, True])
def test_what_comes_last_without_a_stamp_is_in_a_tick(header, write_bag, messages):
    rows = [
        ('/t', TEMPERATURE, START + i * SECOND // 10, messages.temperature(1.0)) for i in range(48)
    ]
    config = SituationConfig(
        tick_period_s=1.0,
        time_source='header' if header else 'receive',
        lateness_s=0.25,
        signals=CONFIG.signals,
    )
    with open_bag(write_bag(rows)) as bag:
        replay = situations_of(bag, config)
        list(replay)
    counts = replay.counters.topics['/t']
    assert (counts.used, counts.pending) == (48, 0)


def test_messages_after_the_last_clock_value_are_in_a_tick(write_bag, messages):
    clock = 'rosgraph_msgs/msg/Clock'
    rows = [('/clock', clock, START + i, messages.clock(i * SECOND)) for i in range(4)]
    rows += [('/t', TEMPERATURE, START + 10, messages.temperature(9.0))]
    assert values(write_bag(rows))[0][-1] == 9.0


def test_an_endless_idle_gap_has_a_grid():
    config = SituationConfig(episode=EpisodeConfig(idle_gap_s=math.inf))
    assert replay_grid(config).longest_silence_ns == 2**62


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / 'a.db3')
    with pytest.raises(BagError, match=r'a.db3: not a file: expected a bag, found a pipe'):
        open_bag(tmp_path / 'a.db3')
