# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Bags as other releases, recorders and people leave them: the same messages come out."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import struct

import pytest
import yaml
import zstandard
from rosbags.rosbag1 import Writer as Ros1Writer

from thinking_policy.bags import BagError, open_bag, situations_of
from thinking_policy.bags.locating import named_bags
from thinking_policy.situation import EventConfig, SignalConfig, SituationConfig

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TEMPERATURE = 'sensor_msgs/msg/Temperature'


def config(topic='/temperature'):
    signal = SignalConfig(name='t', topic=topic, type=TEMPERATURE, field='temperature')
    events = EventConfig(diagnostics_topic='')
    return SituationConfig(tick_period_s=1.0, signals=(signal,), events=events)


def read(path, topic='/temperature'):
    """Return the numbers, how many messages were left out, and what was noticed."""
    with open_bag(path) as bag:
        replay = situations_of(bag, config(topic))
        values = [situation.readings[0].value for situation in replay]
        counts = replay.counters.topics[topic]
        return values, counts.received - counts.used, dict(bag.problems)


VALUES = [float(i) for i in range(8)]


@pytest.fixture
def rows(temperatures):
    """Return rows one second apart, so that each is a tick."""
    return lambda kind='sqlite3', **more: temperatures(VALUES, kind, SECOND, **more)


@pytest.mark.parametrize('version', range(1, 10))
def test_metadata_of_every_version_is_read(version, write_bag, rows):
    path = write_bag(rows())
    document = yaml.safe_load((path / 'metadata.yaml').read_text())
    body = document['rosbag2_bagfile_information']
    body['version'] = version
    if version < 5:  # names with the folder in front, no list of files
        body['relative_file_paths'] = [f'bag/{name}' for name in body['relative_file_paths']]
        body.pop('files', None)
    if version < 3:
        body.pop('compression_format', None)
        body.pop('compression_mode', None)
    for entry in body['topics_with_message_count']:
        topic = entry['topic_metadata']
        if version < 4:
            topic.pop('offered_qos_profiles', None)
        elif version < 9:
            topic['offered_qos_profiles'] = '- history: 3\n  depth: 0\n  reliability: 1'
        else:
            topic['offered_qos_profiles'] = [{'history': 'keep_last', 'depth': 10}]
    (path / 'metadata.yaml').write_text(yaml.safe_dump(document))
    assert read(path) == (VALUES, 0, {})


@pytest.mark.parametrize(
    'text', ['', 'a: [', 'x: 1', '\x00\x01', 'rosbag2_bagfile_information: 3']
)
def test_metadata_that_says_nothing_is_no_obstacle(text, write_bag, rows):
    path = write_bag(rows())
    (path / 'metadata.yaml').write_text(text)
    values, lost, problems = read(path)
    assert (values, lost) == (VALUES, 0)
    assert [key for key in problems if key.startswith('metadata.yaml ')] == list(problems)


def test_tables_of_the_first_releases_are_read(write_bag, rows):
    path = write_bag(rows())
    with sqlite3.connect(path / 'bag.db3') as database:
        database.executescript(
            'CREATE TABLE old (id INTEGER PRIMARY KEY, name TEXT, type TEXT, '
            'serialization_format TEXT); '
            'INSERT INTO old SELECT id, name, type, serialization_format FROM topics; '
            'DROP TABLE topics; ALTER TABLE old RENAME TO topics; '
            'DROP TABLE IF EXISTS schema; DROP TABLE IF EXISTS metadata; '
            'DROP TABLE IF EXISTS message_definitions;'
        )
    database.close()
    assert read(path) == (VALUES, 0, {})


@pytest.mark.parametrize('database', ['empty', 'missing'])
def test_a_log_without_its_database_is_read(database, tmp_path, write_bag, rows):
    with sqlite3.connect(write_bag(rows()) / 'bag.db3') as source:
        script = list(source.iterdump())
    folder = tmp_path / 'left'
    folder.mkdir()
    with sqlite3.connect(tmp_path / 'a.db3') as recording:
        recording.execute('PRAGMA journal_mode=WAL')
        recording.execute('PRAGMA wal_autocheckpoint=0')
        recording.executescript('\n'.join(script))
        recording.execute('BEGIN')
        recording.execute('DELETE FROM messages')  # not finished when it died
        shutil.copy(tmp_path / 'a.db3-wal', folder / 'a.db3-wal')
    recording.close()
    if database == 'empty':
        (folder / 'a.db3').touch()
    values, lost, problems = read(folder)
    assert (values, lost) == (VALUES, 0)
    name = 'a.db3' if database == 'empty' else 'a.db3-wal'
    assert problems == {
        'no metadata.yaml, read without it': 1,
        f'{name}: the database is empty or missing, read from its log': 1,
    }


def test_a_log_without_a_finished_transaction_says_so(tmp_path):
    (tmp_path / 'a.db3-wal').write_bytes(b'\x37\x7f\x06\x82' + bytes(40))
    with pytest.raises(BagError, match=r'a.db3-wal: a log of SQLite without a finished transac'):
        open_bag(tmp_path / 'a.db3-wal')


def test_a_ros1_bag_with_bz2_chunks_is_read(tmp_path, messages, rows):
    writer = Ros1Writer(tmp_path / 'a.bag')
    writer.set_compression(Ros1Writer.CompressionFormat.BZ2)
    with writer:
        connection = writer.add_connection('/temperature', TEMPERATURE, typestore=messages.ros1)
        for _, _, stamp, raw in rows('ros1'):
            writer.write(connection, stamp, raw)
    assert read(tmp_path / 'a.bag') == (VALUES, 0, {})


def test_what_a_killed_ros1_recorder_left_is_found_in_a_folder_and_read(tmp_path, write_bag, rows):
    data = bytearray(write_bag(rows('ros1'), 'ros1').read_bytes())
    place = data.index(b'index_pos=') + len(b'index_pos=')
    (index,) = struct.unpack_from('<Q', data, place)
    data[place : place + 8] = bytes(8)
    folder = tmp_path / 'left'
    folder.mkdir()
    (folder / 'a.bag.active').write_bytes(data[:index])
    values, lost, problems = read(folder)
    assert (values, lost) == (VALUES, 0)
    assert problems == {'a.bag.active: no index (recording was cut off), read from the top': 1}


@pytest.mark.parametrize('suffix', ['.zstd', '.zst'])
@pytest.mark.parametrize('kind', ['mcap', 'sqlite3'])
def test_a_packed_file_is_found_in_a_folder_and_read(suffix, kind, tmp_path, write_bag, rows):
    (file,) = (p for p in write_bag(rows(), kind).iterdir() if p.suffix != '.yaml')
    folder = tmp_path / 'packed'
    folder.mkdir()
    (folder / f'{file.name}{suffix}').write_bytes(zstandard.compress(file.read_bytes()))
    assert read(folder)[:2] == (VALUES, 0)


def test_a_file_that_is_packed_otherwise_says_how_to_unpack_it(tmp_path):
    (tmp_path / 'a.bag').write_bytes(gzip.compress(b'#ROSBAG V2.0\n'))
    with pytest.raises(BagError, match=r'a.bag: packed; unpack it with: gunzip'):
        open_bag(tmp_path / 'a.bag')


def test_names_in_capitals_are_bags_too(tmp_path, write_bag, rows):
    folder = tmp_path / 'DCIM'
    folder.mkdir()
    shutil.copy(write_bag(rows()) / 'bag.db3', folder / 'RUN_0.DB3')
    assert read(folder)[:2] == (VALUES, 0)


def test_splits_of_equal_times_are_all_read(tmp_path, write_bag, rows):
    folder = tmp_path / 'splits'
    folder.mkdir()
    for i in range(3):
        shutil.copy(write_bag(rows(), name=f's{i}') / f's{i}.db3', folder / f's_{i}.db3')
    with open_bag(folder) as bag:
        assert [item[1] for item in bag.messages()] == sorted(3 * [row[2] for row in rows()])


@pytest.mark.parametrize('kind', ['sqlite3', 'mcap'])
@pytest.mark.parametrize('topic', ['/with space', '/größe/温度', '/a"b\'c', 'no_slash', '/a//b/'])
def test_topics_of_any_name_are_read(kind, topic, write_bag, rows):
    assert read(write_bag(rows(topic=topic), kind, name='böse name'), topic) == (VALUES, 0, {})


@pytest.mark.parametrize('kind', ['sqlite3', 'mcap'])
def test_messages_without_a_byte_are_counted_as_broken(kind, write_bag, rows):
    made = rows()
    made += [('/temperature', TEMPERATURE, START + i * SECOND + 1, b'') for i in range(3)]
    values, lost, _ = read(write_bag(sorted(made, key=lambda row: row[2]), kind))
    assert values[0] == 0.0
    assert lost == 3


def test_a_topic_of_two_types_is_read_as_the_more_frequent_one(write_bag, rows, messages):
    number = messages.simple('std_msgs/msg/Float64', 1.0)
    other = [('/temperature', 'std_msgs/msg/Float64', START + i, number) for i in range(3)]
    values, _, problems = read(write_bag(rows() + other))
    assert values == VALUES
    (what,) = problems
    assert 'recorded as sensor_msgs/msg/Temperature and as std_msgs/msg/Float64' in what
    assert problems[what] == 3


def test_bags_of_several_kinds_lie_in_one_folder(tmp_path, write_bag, rows):
    for kind in ('sqlite3', 'mcap-zstd', 'file-zstd', 'message-zstd'):
        write_bag(rows(), kind, name=f'all/{kind}/day 1')
    write_bag(rows('ros1'), 'ros1-lz4', name='old')
    shutil.move(tmp_path / 'old.bag', tmp_path / 'all')
    found = named_bags([tmp_path / 'all'])
    assert list(found) == [
        'file-zstd/day 1', 'mcap-zstd/day 1', 'message-zstd/day 1', 'old.bag', 'sqlite3/day 1'
    ]  # fmt: skip
    assert all(read(path) == (VALUES, 0, {}) for path in found.values())
