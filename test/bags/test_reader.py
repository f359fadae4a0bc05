# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Every storage yields the same messages, and nothing is written beside a bag."""

from __future__ import annotations

import re
import shutil
import sqlite3

import pytest
from rosbags.rosbag2 import Reader as RosbagsReader

from thinking_policy.bags import BagError, open_bag

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def contents(path, topics=None):
    with open_bag(path) as bag:
        return list(bag.messages(topics)), dict(bag.problems)


def test_every_storage_yields_the_same_cdr_messages(kind, write_bag, temperatures):
    values = [20.0 + i / 8 for i in range(300)]
    items, problems = contents(write_bag(temperatures(values, kind), kind))
    assert [item[0] for item in items] == ['/temperature'] * 300
    assert [item[1] for item in items] == [START + i * SECOND // 2 for i in range(300)]
    assert [item[2] for item in items] == [row[3] for row in temperatures(values)]
    assert problems == {}


def test_topics_say_type_count_and_structure(kind, write_bag, temperatures):
    with open_bag(write_bag(temperatures([1.0, 2.0, 3.0], kind), kind)) as bag:
        (topic,) = bag.topics
        assert (topic.name, topic.type, topic.count) == (
            '/temperature',
            'sensor_msgs/msg/Temperature',
            3,
        )
        assert [field.name for field in topic.message_type.fields] == [
            'header',
            'temperature',
            'variance',
        ]
        header = topic.message_type.field('header').type
        assert [field.name for field in header.fields] == ['stamp', 'frame_id']  # ROS 1 has seq
        assert (bag.start_ns, bag.end_ns) == (START, START + SECOND)
        assert bag.message_count == 3
        assert bag.topic('/nothing') is None


def test_messages_come_in_order_of_record_time_whatever_order_they_were_written_in(
    kind, write_bag, temperatures
):
    rows = temperatures(range(50), kind)
    items, _ = contents(write_bag(rows[25:] + rows[:25], kind))
    assert [item[1] for item in items] == [row[2] for row in rows]


@pytest.mark.parametrize('kind', ['sqlite3', 'mcap', 'ros1'])
def test_equal_record_times_keep_the_order_of_recording(kind, write_bag, temperatures, decoded):
    rows = temperatures(range(40), kind, period_ns=0)
    items, _ = contents(write_bag(rows, kind))
    assert [decoded(item[2]) for item in items] == list(range(40))


@pytest.mark.parametrize('kind', ['sqlite3', 'mcap', 'ros1'])
def test_only_the_topics_asked_for_are_yielded(kind, write_bag, temperatures, decoded):
    rows = temperatures([1.0], kind) + temperatures([2.0], kind, topic='/other')
    items, _ = contents(write_bag(rows, kind), ['/other', '/unknown'])
    assert [(item[0], decoded(item[2])) for item in items] == [('/other', 2.0)]


def test_a_bag_can_be_read_twice_and_by_two_readers_at_once(write_bag, temperatures):
    with open_bag(write_bag(temperatures(range(10)))) as bag:
        pairs = list(zip(bag.messages(), bag.messages(), strict=True))
        assert len(pairs) == 10
        assert all(one == other for one, other in pairs)


@pytest.mark.parametrize('kind', ['sqlite3', 'mcap', 'file-zstd'])
def test_metadata_is_not_needed(kind, write_bag, temperatures):
    path = write_bag(temperatures([1.0, 2.0], kind), kind)
    (path / 'metadata.yaml').unlink()
    items, problems = contents(path)
    assert len(items) == 2
    assert problems == {'no metadata.yaml, read without it': 1}


def test_metadata_that_is_no_yaml_is_said_and_not_needed(write_bag, temperatures):
    path = write_bag(temperatures([1.0, 2.0]))
    (path / 'metadata.yaml').write_text('a: [b')
    items, problems = contents(path)
    assert len(items) == 2
    assert any('metadata.yaml is not readable' in what for what in problems)


def test_a_storage_file_is_read_alone(write_bag, temperatures):
    path = write_bag(temperatures([1.0, 2.0]))
    items, problems = contents(path / 'bag.db3')
    assert len(items) == 2
    assert problems == {}


def test_messages_are_read_where_metadata_names_another_qos(write_bag, temperatures, decoded):
    path = write_bag(temperatures([1.0, 2.0, 3.0]))
    qos = (
        '- {history: 1, depth: 7, reliability: 1, durability: 2, deadline: {sec: 0, nsec: 0}, '
        'lifespan: {sec: 0, nsec: 0}, liveliness: 1, '
        'liveliness_lease_duration: {sec: 0, nsec: 0}, avoid_ros_namespace_conventions: false}'
    )
    text = (path / 'metadata.yaml').read_text()
    changed = text.replace("offered_qos_profiles: ''", f"offered_qos_profiles: '{qos}'")
    assert changed != text
    (path / 'metadata.yaml').write_text(changed)
    with RosbagsReader(path) as reader:
        assert list(reader.messages()) == []  # what has to be read around
    items, problems = contents(path)
    assert [decoded(item[2]) for item in items] == [1.0, 2.0, 3.0]
    assert problems == {}


def test_fewer_messages_than_metadata_promises_are_said(write_bag, temperatures):
    path = write_bag(temperatures(range(10)))
    with sqlite3.connect(path / 'bag.db3') as database:
        database.execute('DELETE FROM messages WHERE id > 7')
    items, problems = contents(path)
    assert len(items) == 7
    assert problems == {'/temperature: metadata.yaml promises 10 messages, 7 can be read': 3}


def test_splits_are_read_one_after_the_other_and_may_overlap(
    write_bag, temperatures, tmp_path, decoded
):
    rows = temperatures(range(30))
    folder = tmp_path / 'split'
    folder.mkdir()
    # The second begins before the first ends; the third was listed first.
    for number, part in ((10, rows[20:]), (0, rows[0:12:2]), (2, rows[1:12:2] + rows[12:20])):
        path = write_bag(part, name=f'part{number}')
        shutil.copy(path / f'part{number}.db3', folder / f'split_{number}.db3')
    items, _ = contents(folder)
    assert [decoded(item[2]) for item in items] == list(range(30))


def test_a_missing_split_is_said_and_the_others_are_read(write_bag, temperatures):
    path = write_bag(temperatures(range(4)))
    text = (path / 'metadata.yaml').read_text()
    (path / 'metadata.yaml').write_text(text.replace('- bag.db3', '- bag.db3\n  - bag_1.db3', 1))
    items, problems = contents(path)
    assert len(items) == 4
    assert problems['metadata.yaml names bag_1.db3, which is not there'] == 1


@pytest.mark.parametrize(
    ('numbers', 'said'),
    [
        ((0, 1, 2), {}),
        ((0, 2), {'part 1 of 0 to 2 is not there': 1}),
        ((0, 7), {'parts 1, 2, 3, 4 ... of 0 to 7 are not there': 6}),
        ((2, 4), {}),  # a recorder that keeps the last parts only, or no parts at all
    ],
)
def test_parts_missing_between_others_are_said_without_metadata_too(
    numbers, said, write_bag, temperatures, tmp_path
):
    part = write_bag(temperatures(range(2))) / 'bag.db3'
    folder = tmp_path / 'split'
    folder.mkdir()
    for number in numbers:
        shutil.copy(part, folder / f'split_{number}.db3')
    _, problems = contents(folder)
    assert problems == {'no metadata.yaml, read without it': 1, **said}


def test_more_messages_than_metadata_promises_are_said(write_bag, temperatures):
    path = write_bag(temperatures(range(9)))
    text = (path / 'metadata.yaml').read_text()
    (path / 'metadata.yaml').write_text(text.replace('message_count: 9', 'message_count: 5'))
    items, problems = contents(path)
    assert len(items) == 9
    assert problems == {'/temperature: metadata.yaml promises 5 messages, 9 are there': 4}


def test_record_times_before_1970_are_said(write_bag, temperatures):
    _, problems = contents(write_bag(temperatures(range(20), start=-5 * SECOND)))
    assert problems == {'recorded from 5.000 s before 1970: no tick ends there': 1}


def test_a_recording_cut_off_is_completed_from_its_log_without_touching_the_folder(
    write_bag, temperatures, tmp_path, snapshot
):
    path = write_bag(temperatures(range(5)))
    database = sqlite3.connect(path / 'bag.db3')
    database.execute('PRAGMA journal_mode=WAL')
    database.execute('PRAGMA wal_autocheckpoint=0')
    row = database.execute('SELECT topic_id, timestamp, data FROM messages').fetchone()
    database.executemany(
        'INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)',
        [(row[0], row[1] + SECOND * i, row[2]) for i in range(100, 150)],
    )
    database.commit()
    killed = tmp_path / 'killed'
    shutil.copytree(path, killed)  # with the log, as a killed recorder leaves it
    database.close()
    assert (killed / 'bag.db3-wal').stat().st_size > 0
    before = snapshot(killed)
    items, problems = contents(killed)
    assert len(items) == 55
    assert 'bag.db3: recording was cut off, completed from its log beside it' in problems
    assert snapshot(killed) == before


@pytest.fixture
def killed(write_bag, temperatures, tmp_path):
    """Return a bag of 5 messages, with 50 in two transactions that only its log holds."""
    path = write_bag(temperatures(range(5)))
    database = sqlite3.connect(path / 'bag.db3')
    database.execute('PRAGMA journal_mode=WAL')
    database.execute('PRAGMA wal_autocheckpoint=0')
    row = database.execute('SELECT topic_id, timestamp, data FROM messages').fetchone()
    for first in (100, 125):
        database.executemany(
            'INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)',
            [(row[0], row[1] + SECOND * i, row[2]) for i in range(first, first + 25)],
        )
        database.commit()
    folder = tmp_path / 'killed'
    shutil.copytree(path, folder)
    database.close()
    return folder


@pytest.mark.parametrize(
    ('damage', 'read', 'said'),
    [
        (lambda log: log, 55, r'completed from its log beside it$'),
        (lambda log: log[:-10], 30, r'from its log .* up to byte [\d,]+ of [\d,]+; .* is cut$'),
        (lambda log: log[:5000], 5, r'wal beside it \(5,000 bytes\) is cut before the end of its'),
        (lambda log: log[:-9] + b'#' + log[-8:], 30, r'up to byte .*; what follows is damaged$'),
        (
            lambda log: log + log[:5000],
            55,
            r'; what follows is of an older recording, or damaged$',
        ),
        (lambda log: log[:9] + b'#' + log[10:], 5, r'is damaged in its head, and gives nothing'),
        (lambda log: b'no log at all' * 99, 5, r'is no log of SQLite, and gives nothing$'),
    ],
)
def test_what_a_log_gives_is_said_as_it_is(killed, damage, read, said):
    log = killed / 'bag.db3-wal'
    log.write_bytes(damage(log.read_bytes()))
    items, problems = contents(killed)
    assert len(items) == read
    what = next(what for what in problems if what.startswith('bag.db3: '))
    assert re.search(said, what), what


def test_a_journal_that_is_none_is_said_and_left_alone(write_bag, temperatures):
    path = write_bag(temperatures(range(5)))
    (path / 'bag.db3-journal').write_bytes(b'anything' * 99)
    items, problems = contents(path)
    assert len(items) == 5
    said = 'bag.db3: bag.db3-journal beside it is no journal of SQLite, and left alone'
    assert problems == {said: 1}


def test_a_log_without_its_database_is_not_taken_for_a_bag(killed):
    (killed / 'bag.db3').unlink()
    said = (
        r'bag.db3: is not there, and its log .*; metadata.yaml names bag.db3, which is not there'
    )
    with pytest.raises(BagError, match=said):
        open_bag(killed)


def test_messages_of_a_damaged_chunk_are_counted_by_topic(write_bag, temperatures):
    path = write_bag(temperatures(range(200)), 'mcap')
    file = next(path.glob('*.mcap'))
    content = bytearray(file.read_bytes())
    with open_bag(path) as bag:
        raw = [item[2] for item in bag.messages()][120]
    place = content.index(raw)  # the length of its record stands before its head of 22 bytes
    content[place - 30 : place - 22] = b'\xff' * 8
    file.write_bytes(content)
    items, problems = contents(path)
    assert len(items) == 120
    assert problems['/temperature: message lost in a damaged chunk'] == 80


def test_reading_writes_nothing_beside_the_bag(kind, write_bag, temperatures, snapshot):
    path = write_bag(temperatures(range(5), kind), kind)
    before = snapshot(path.parent)
    contents(path)
    assert snapshot(path.parent) == before


def test_a_type_that_nobody_knows_is_yielded_raw_and_has_no_structure(
    write_bag, messages, temperatures
):
    path = write_bag(temperatures([1.0]))
    with sqlite3.connect(path / 'bag.db3') as database:
        database.execute("UPDATE topics SET type = 'other_msgs/msg/Unknown'")
        database.execute('DELETE FROM message_definitions')
    with open_bag(path) as bag:
        assert bag.topics[0].message_type is None
        assert len(list(bag.messages())) == 1


@pytest.mark.parametrize('kind', ['sqlite3', 'mcap'])
def test_a_definition_stored_in_the_bag_is_used(kind, write_bag, messages):
    name = f'my_msgs/msg/Level{kind.title()}'
    messages.define(name, 'std_msgs/Header header\nfloat32[] levels\nstring<=5 word\nbool[3] on')
    raw = b'\0\1\0\0' + bytes(40)
    with open_bag(write_bag([('/level', name, START, raw)], kind)) as bag:
        fields = {field.name: field.type for field in bag.topics[0].message_type.fields}
    assert list(fields) == ['header', 'levels', 'word', 'on']
    assert fields['levels'].item.name == 'float32'
    assert fields['on'].length == 3


def test_old_names_of_types_are_understood(write_bag, temperatures):
    path = write_bag(temperatures([1.0]))
    with sqlite3.connect(path / 'bag.db3') as database:
        database.execute("UPDATE topics SET type = 'sensor_msgs/Temperature'")
    with open_bag(path) as bag:
        assert bag.topics[0].type == 'sensor_msgs/msg/Temperature'
        assert bag.topics[0].message_type is not None


def test_of_a_topic_with_two_types_the_more_frequent_is_read(
    write_bag, temperatures, messages, decoded
):
    rows = temperatures([1.0, 2.0])
    rows.append(
        (
            '/temperature',
            'std_msgs/msg/Float64',
            START,
            messages.simple('std_msgs/msg/Float64', 3.0),
        )
    )
    with open_bag(write_bag(rows)) as bag:
        assert [(t.type, t.count) for t in bag.topics] == [('sensor_msgs/msg/Temperature', 2)]
        assert dict(bag.problems) == {
            '/temperature: recorded as sensor_msgs/msg/Temperature and as std_msgs/msg/Float64, '
            'the latter left out': 1
        }
        assert [decoded(item[2]) for item in bag.messages()] == [1.0, 2.0]


def test_an_empty_bag_opens_and_holds_nothing(write_bag, temperatures):
    path = write_bag(temperatures([1.0]))
    with sqlite3.connect(path / 'bag.db3') as database:
        database.execute('DELETE FROM messages')
    (path / 'metadata.yaml').unlink()
    with open_bag(path) as bag:
        assert (bag.message_count, bag.start_ns, bag.end_ns) == (0, 0, 0)
        assert list(bag.messages()) == []


NOT_BAGS = {
    'pointer.db3': (
        b'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123456\n',
        r'Git LFS pointer, not the bag itself \(123,456 bytes\); fetch it with: git lfs pull',
    ),
    'empty.mcap': (b'', r'the file is empty \(0 bytes\)'),
    'text.bag': (b'hello, I am a text', "found a file that begins with b'hello, I am '"),
    'old.bag': (b'#ROSBAG V1.2\n', r"expected a ROS 1 bag of version 2.0, found '#ROSBAG V1.2'"),
    'cut.db3.zstd': (b'\x28\xb5\x2f\xfd\x00', 'nothing can be unpacked'),
}


@pytest.mark.parametrize('name', NOT_BAGS)
def test_what_is_no_bag_is_refused_in_one_line(name, tmp_path):
    content, reason = NOT_BAGS[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BagError, match=reason) as caught:
        open_bag(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert '\n' not in str(caught.value)


def test_a_path_that_is_nothing_says_so(tmp_path):
    with pytest.raises(BagError, match='no such file or folder'):
        open_bag(tmp_path / 'nowhere')


def test_several_recordings_in_a_folder_are_not_mixed(write_bag, temperatures, tmp_path):
    folder = tmp_path / 'both'
    folder.mkdir()
    for name in ('first', 'second'):
        path = write_bag(temperatures([1.0]), name=name)
        shutil.copy(path / f'{name}.db3', folder)
    with pytest.raises(BagError, match=r'holds 2 bags: first.db3, second.db3; name one'):
        open_bag(folder)


def test_a_database_that_is_no_bag_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / 'other.db3') as database:
        database.execute('CREATE TABLE people (name TEXT)')
    with pytest.raises(
        BagError, match=r"expected the tables topics and messages, found \['people'"
    ):
        open_bag(tmp_path / 'other.db3')
