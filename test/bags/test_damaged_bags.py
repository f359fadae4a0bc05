# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is left of a cut or damaged bag is read; what is lost is said."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinking_policy.bags import BagError, open_bag
from thinking_policy.bags.sqlite_salvage import salvage_messages

COUNT = 4000


@pytest.fixture(scope='module', params=['sqlite3', 'mcap', 'ros1'])
def whole(request, tmp_path_factory, messages):
    """Return a storage file with COUNT messages, its suffix, and the messages."""
    from rosbags.rosbag1 import Writer as Ros1Writer
    from rosbags.rosbag2 import StoragePlugin, Writer

    kind, type_name = request.param, 'sensor_msgs/msg/Temperature'
    path = tmp_path_factory.mktemp('whole') / ('bag.bag' if kind == 'ros1' else 'bag')
    if kind == 'ros1':
        writer, store = Ros1Writer(path), messages.ros1
    else:
        plugin = StoragePlugin[kind.upper()]
        writer, store = Writer(path, version=8, storage_plugin=plugin), messages.store
    with writer:
        connection = writer.add_connection('/t', type_name, typestore=store)
        for i in range(COUNT):
            raw = messages.temperature(float(i), i + 1, ros1=kind == 'ros1')
            writer.write(connection, i + 1, raw)
    file = next(p for p in path.iterdir() if p.suffix != '.yaml') if path.is_dir() else path
    expected = [(i + 1, messages.temperature(float(i), i + 1)) for i in range(COUNT)]
    return file.read_bytes(), file.suffix, expected


def read(path):
    with open_bag(path) as bag:
        return [(stamp, raw) for _, stamp, raw in bag.messages()], dict(bag.problems)


@pytest.mark.parametrize('share', [0.1, 0.5, 0.9])
def test_a_cut_file_gives_what_stands_before_the_cut(whole, share, tmp_path):
    content, suffix, expected = whole
    path = tmp_path / f'cut{suffix}'
    path.write_bytes(content[: int(len(content) * share)])
    items, problems = read(path)
    # Indexes lie between or behind the messages, and a page or chunk may be lost as a whole.
    assert len(items) >= COUNT * share * 0.75 - 300
    assert set(items) <= set(expected)
    stamps = [stamp for stamp, _ in items]
    assert stamps == sorted(set(stamps))
    if suffix != '.db3':  # a cut page of SQLite has lost its older messages, not its newer ones
        assert items == expected[: len(items)]
    assert any('cut' in what for what in problems)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_damage_brings_anything_but_true_messages_or_one_line(whole, data, tmp_path):
    content, suffix, expected = whole
    start = data.draw(st.integers(0, len(content) - 1))
    length = data.draw(st.sampled_from([1, 4, 100, 5000]))
    byte = data.draw(st.sampled_from([0, 255, 1]))
    damaged = bytearray(content)
    damaged[start : start + length] = bytes([byte]) * len(damaged[start : start + length])
    path = tmp_path / f'damaged{suffix}'
    path.write_bytes(damaged)
    try:
        items, problems = read(path)
    except BagError as error:
        items, problems = [], {str(error): 1}
    assert all('\n' not in what for what in problems)
    true = len(set(items) & set(expected))
    # Damage inside a message cannot be seen without a checksum; it touches few.
    assert true >= len(items) - 200


def test_a_damaged_page_costs_its_own_messages_only(write_bag, temperatures, decoded):
    path = write_bag(temperatures(range(COUNT)))
    file = path / 'bag.db3'
    content = bytearray(file.read_bytes())
    pages = [at for at in range(0, len(content), 4096) if content[at] == 0x0D]
    content[pages[len(pages) // 2] : pages[len(pages) // 2] + 4096] = b'\xff' * 4096
    file.write_bytes(content)
    with open_bag(path) as bag:
        values = [decoded(raw) for _, _, raw in bag.messages()]
        assert COUNT - 100 < len(values) < COUNT
        assert bag.message_count == len(values)
        assert sorted(values) == values
        assert any('damaged' in what for what in bag.problems)
        lost = COUNT - len(values)
        promised = f'metadata.yaml promises {COUNT} messages, {len(values)} can be read'
        assert bag.problems[f'/temperature: {promised}'] == lost


def test_salvaged_rows_are_those_that_sqlite_reads_also_over_many_pages(write_bag, messages):
    rows = [
        (
            '/text',
            'std_msgs/msg/String',
            i * 10**9,
            messages.simple('std_msgs/msg/String', 'x' * n),
        )
        for i, n in enumerate([0, 10, 4000, 4050, 4060, 4070, 5000, 20_000, 300_000])
    ]
    file = write_bag(rows) / 'bag.db3'
    with sqlite3.connect(file) as database:
        expected = database.execute(
            'SELECT topic_id, timestamp, data FROM messages ORDER BY id'
        ).fetchall()
    assert sorted(salvage_messages(file), key=lambda row: row[1]) == expected


def test_a_message_that_is_no_such_message_is_left_out_and_counted(write_bag, temperatures):
    rows = temperatures([1.0, 2.0], 'ros1')
    rows[0] = (*rows[0][:3], rows[0][3][:-3])
    with open_bag(write_bag(rows, 'ros1')) as bag:
        assert len(list(bag.messages())) == 1
        ((what, count),) = bag.problems.items()
        assert what.startswith('/temperature: not a sensor_msgs/msg/Temperature')
        assert count == 1


def test_a_damaged_compressed_message_is_left_out_and_counted(write_bag, temperatures):
    path = write_bag(temperatures([1.0, 2.0, 3.0], 'message-zstd'), 'message-zstd')
    with sqlite3.connect(path / 'bag.db3') as database:
        database.execute('UPDATE messages SET data = substr(data, 1, 9) WHERE id = 2')
    with open_bag(path) as bag:
        assert len(list(bag.messages())) == 2
        ((what, count),) = bag.problems.items()
        assert what.startswith('/temperature: compressed message is damaged')
        assert count == 1


@pytest.mark.parametrize(('cause', 'count'), [('index', COUNT), ('chunk', 0)])
def test_a_damaged_ros1_bag_is_not_called_cut_and_says_where_reading_ended(
    cause, count, write_bag, temperatures
):
    path = write_bag(temperatures(range(COUNT), 'ros1'), 'ros1')
    content = bytearray(path.read_bytes())
    index = int.from_bytes(content[content.index(b'index_pos=') + 10 :][:8], 'little')
    content[index + 3] = 0xFF  # the length of its first record
    first = 13  # of the chunks: behind the head of the bag
    for _ in range(2):
        first += 4 + int.from_bytes(content[first : first + 4], 'little')
    if cause == 'chunk':
        content[first + 3] = 0xFF
    path.write_bytes(content)
    if not count:
        with pytest.raises(
            BagError, match=f'cut or damaged at byte {first:,} of {len(content):,}'
        ):
            open_bag(path)
        return
    items, problems = read(path)
    assert len(items) == count
    assert problems == {'bag.bag: index cut or damaged, read from the top': 1}
