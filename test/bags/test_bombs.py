# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Small bags that ask for much: memory, time and disk stay bounded, the good messages come out."""

from __future__ import annotations

import bz2
import sqlite3
import struct
import tracemalloc
from random import Random

import lz4.frame
import pytest
import zstandard

from thinking_policy.bags import BagError, decompression, open_bag
from thinking_policy.bags.decompression import decompress, message_bytes
from thinking_policy.bags.sqlite_salvage import salvage_messages
from thinking_policy.bags.staging import stage
from thinking_policy.bags.storage import Room, Source, in_order_of_time, reason

MB = 1 << 20
ZEROS = bytes(64 * MB)


def zstd_unsized(data):
    packer = zstandard.ZstdCompressor().compressobj()
    return packer.compress(data) + packer.flush()


PACKERS = {
    'zstd': zstandard.ZstdCompressor().compress,
    'zstd without size': zstd_unsized,
    'lz4': lambda data: lz4.frame.compress(data, store_size=False),
    'bz2': lambda data: bz2.compress(data, 1),
}


@pytest.fixture(scope='module')
def bombs():
    return {name: pack(ZEROS) for name, pack in PACKERS.items()}


@pytest.fixture
def peak_mb():
    """Return a function that says how much memory was taken at most since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1] / MB
    tracemalloc.stop()


@pytest.mark.parametrize('packing', PACKERS)
def test_a_chunk_unpacks_to_no_more_than_it_declares(packing, bombs, peak_mb):
    data, _ = decompress(packing.split()[0], bombs[packing], 1000)
    assert data == bytes(1000)
    assert peak_mb() < 3


@pytest.mark.parametrize('packing', PACKERS)
def test_a_chunk_that_declares_too_much_is_read_up_to_the_bound(packing, bombs, monkeypatch):
    monkeypatch.setattr(decompression, 'LARGEST', 16 * MB)
    data, _ = decompress(packing.split()[0], bombs[packing], 2**40)
    assert data == bytes(16 * MB)


@pytest.mark.parametrize('packing', PACKERS)
@pytest.mark.parametrize('size', [0, 1, 65_536, 65_537, 3_000_000])
@pytest.mark.parametrize('at_once', [0, 2**24])
def test_a_whole_chunk_is_unpacked_whole(packing, size, at_once, monkeypatch):
    monkeypatch.setattr(decompression, '_AT_ONCE', at_once)
    data = (Random(0).randbytes(50_000) * 60)[:size]
    packed = PACKERS[packing](data)
    assert decompress(packing.split()[0], packed, size) == (data, True)


@pytest.mark.parametrize('packing', PACKERS)
def test_what_stands_before_a_damage_is_unpacked(packing):
    data = Random(0).randbytes(2 * MB)
    packed = bytearray(PACKERS[packing](data))
    packed[len(packed) * 3 // 4 :] = b'\xff' * (len(packed) - len(packed) * 3 // 4)
    unpacked, whole = decompress(packing.split()[0], bytes(packed), len(data))
    assert len(unpacked) > len(data) * 0.4
    assert not whole or len(unpacked) < len(data)


def test_a_compression_that_nobody_knows_is_named():
    with pytest.raises(ValueError, match="compression 'zip' is not known"):
        decompress('zip', b'', 0)


@pytest.mark.parametrize('pack', [PACKERS['zstd'], zstd_unsized])
def test_a_message_is_unpacked_whether_its_frame_says_the_size_or_not(pack, peak_mb):
    assert message_bytes(pack(b'\x00\x01\x00\x00' + bytes(5000))) == b'\x00\x01' + bytes(5002)
    assert peak_mb() < 1


@pytest.mark.parametrize('packing', ['zstd', 'zstd without size'])
def test_a_message_that_unpacks_to_too_much_is_refused(packing, bombs, monkeypatch, peak_mb):
    monkeypatch.setattr(decompression, 'LARGEST', 4 * MB)
    with pytest.raises(ValueError, match=r'4,194,304'):
        message_bytes(bombs[packing])
    assert peak_mb() < 12


def test_a_lack_of_memory_has_words(monkeypatch):
    assert reason(MemoryError()) == 'not enough memory'
    assert reason(ValueError('odd\n')) == 'odd\\n'
    assert reason(EOFError()) == 'EOFError'

    def fail(_):
        raise MemoryError

    monkeypatch.setattr(zstandard, 'frame_content_size', fail)
    with pytest.raises(ValueError, match='not enough memory'):
        message_bytes(zstd_unsized(b'x'))


def mcap_record(operation, body):
    return struct.pack('<BQ', operation, len(body)) + body


def mcap_chunk(packing, packed, size):
    word = packing.split()[0].encode()
    head = struct.pack('<QQQII', 1, 2**62, size, 0, len(word)) + word
    return mcap_record(6, head + struct.pack('<Q', len(packed)) + packed)


def bag_with(write_bag, rows, piece, kind='mcap'):
    """Write a bag whose storage file begins with `piece`, so that its index is useless."""
    path = write_bag(rows, kind)
    file = next(path.glob('*.mcap')) if path.is_dir() else path
    content = file.read_bytes()
    start = 8 if path.is_dir() else 13
    if not path.is_dir():  # the head of a ROS 1 bag comes first
        for _ in range(2):
            start += 4 + int.from_bytes(content[start : start + 4], 'little')
    file.write_bytes(content[:start] + piece + content[start:])
    return path


@pytest.mark.parametrize('packing', PACKERS)
@pytest.mark.parametrize('size', [1000, 2**40])
def test_a_bomb_in_an_mcap_costs_itself_only(
    packing, size, bombs, write_bag, temperatures, decoded
):
    piece = mcap_chunk(packing, bombs[packing], size)
    with open_bag(bag_with(write_bag, temperatures([1.0, 2.0]), piece)) as bag:
        assert [decoded(raw) for _, _, raw in bag.messages()] == [1.0, 2.0]
        assert bag.problems['bag.mcap: chunk damaged, read up to there'] == 1


@pytest.mark.parametrize('packing', ['lz4', 'bz2'])
@pytest.mark.parametrize('size', [1000, 2**32 - 1])
def test_a_bomb_in_a_ros1_bag_costs_itself_only(
    packing, size, bombs, write_bag, temperatures, decoded
):
    fields = (b'op=\x05', b'compression=' + packing.encode(), b'size=' + struct.pack('<I', size))
    head = b''.join(struct.pack('<I', len(field)) + field for field in fields)
    parts = (head, bombs[packing])
    piece = b''.join(struct.pack('<I', len(part)) + part for part in parts)
    path = bag_with(write_bag, temperatures([1.0, 2.0], 'ros1'), piece, 'ros1')
    with open_bag(path) as bag:
        assert [decoded(raw) for _, _, raw in bag.messages()] == [1.0, 2.0]
        assert bag.problems['bag.bag: chunk cut or damaged, read up to there'] == 1


def test_a_summary_that_is_a_chunk_is_not_unpacked(bombs, tmp_path, peak_mb):
    magic = b'\x89MCAP0\r\n'
    footer = mcap_record(2, struct.pack('<QQI', len(magic), 0, 0))
    path = tmp_path / 'a.mcap'
    path.write_bytes(magic + mcap_chunk('zstd', bombs['zstd'], 1000) + footer + magic)
    with pytest.raises(BagError, match='no message can be read: chunk damaged'):
        open_bag(path)
    assert peak_mb() < 4


def test_a_large_chunk_without_compression_is_read_in_pieces(
    write_bag, temperatures, decoded, monkeypatch
):
    path = write_bag(temperatures(range(3000)), 'mcap')
    monkeypatch.setattr('thinking_policy.bags.mcap_storage.LARGEST', 10_000)
    with open_bag(path) as bag:
        assert [decoded(raw) for _, _, raw in bag.messages()] == list(range(3000))
        assert bag.message_count == 3000
        assert not bag.problems


def sqlite_bag(write_bag, temperatures, script):
    path = write_bag(temperatures([1.0, 2.0, 3.0]))
    with sqlite3.connect(path / 'bag.db3') as database:
        database.executescript(script)
    database.close()
    return path


@pytest.mark.parametrize(
    'script',
    [
        'ALTER TABLE messages RENAME TO old; CREATE VIEW messages AS WITH RECURSIVE r(i) AS '
        '(SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i AS id, 1 AS topic_id, '
        "i AS timestamp, x'0001' AS data FROM r;",
        'ALTER TABLE messages RENAME TO old; CREATE TABLE messages(id INTEGER PRIMARY KEY, '
        'topic_id INTEGER, timestamp INTEGER, data AS (zeroblob(900000000)));'
        'INSERT INTO messages SELECT id, topic_id, timestamp FROM old;',
    ],
    ids=['view', 'computed column'],
)
def test_messages_that_are_computed_are_no_bag(script, write_bag, temperatures):
    with pytest.raises(BagError, match='expected the tables topics and messages, found '):
        open_bag(sqlite_bag(write_bag, temperatures, script))


def test_a_message_too_long_to_read_is_left_out_and_counted(
    write_bag, temperatures, decoded, peak_mb
):
    script = 'UPDATE messages SET data = zeroblob(140000000) WHERE id = 2'
    with open_bag(sqlite_bag(write_bag, temperatures, script)) as bag:
        assert [decoded(raw) for _, _, raw in bag.messages()] == [1.0, 3.0]
        what = 'bag.db3: /temperature: message of more than 134,217,728 bytes, left out'
        assert bag.problems == {what: 1}
    assert peak_mb() < 20


def sqlite_page(cells, page=512):
    """Return a leaf page of a table with these cells."""
    places, end, body = [], page, b''
    for cell in cells:
        end -= len(cell)
        places.append(end)
        body = cell + body
    head = struct.pack('>BHHHB', 13, 0, len(cells), end, 0)
    head += b''.join(struct.pack('>H', place) for place in places)
    return head + bytes(page - len(head) - len(body)) + body


@pytest.mark.parametrize('length', [100_000, 2**60], ids=['goes round', 'absurd length'])
def test_an_overflow_chain_without_an_end_is_left(length, tmp_path):
    head = bytearray(512)
    head[:18] = b'SQLite format 3\x00' + struct.pack('>H', 512)
    shift = (49, 42, 35, 28, 21, 14, 7) if length < 2**56 else (56, 49, 42, 35, 28, 21, 14, 7)
    varint = bytes(length >> s & 0x7F | 0x80 for s in shift) + bytes([length & 0x7F])
    if length >= 2**56:  # the ninth byte holds eight bits
        varint = bytes((length >> s & 0x7F) | 0x80 for s in range(57, 0, -7))[:8] + b'\x00'
    cell = varint + b'\x01' + struct.pack('>I', 3) * 110
    round_and_round = struct.pack('>I', 3) + bytes(508)
    path = tmp_path / 'a.db3'
    path.write_bytes(bytes(head) + sqlite_page([cell]) + round_and_round)
    assert list(salvage_messages(path)) == []


@pytest.mark.parametrize('head', [b'', b'\x28\xb5\x2f\xfd'], ids=['zeros', 'packed twice'])
def test_what_is_no_bag_is_seen_before_it_fills_the_disk(head, tmp_path, monkeypatch):
    path = tmp_path / 'a.db3.zstd'
    path.write_bytes(zstd_unsized(head + ZEROS))
    written = []
    monkeypatch.setattr(
        'thinking_policy.bags.staging.kind_of', seen_sizes(written, 'a.db3', path.name)
    )
    with pytest.raises(BagError, match=r'not a bag|compressed twice'):
        open_bag(path)
    assert written == [MB]


def seen_sizes(written, name, packed):
    """Return a `kind_of` that notes how long the unpacked file is when it is asked."""
    from thinking_policy.bags.file_kinds import kind_of

    def look(path):
        if path.name == name:
            written.append(path.stat().st_size)
        return kind_of(path)

    return look


def test_zeros_behind_the_head_of_a_bag_take_no_disk(tmp_path):
    from collections import Counter
    from contextlib import ExitStack

    path = tmp_path / 'a.mcap.zstd'
    path.write_bytes(zstd_unsized(b'\x89MCAP0\r\n' + ZEROS))
    with ExitStack() as stack:
        copy, kind = stage(path, stack, Counter())
        found = copy.stat()
    assert (kind, found.st_size) == ('mcap', len(ZEROS) + 8)
    assert found.st_blocks * 512 < 4 * MB


def test_chunks_that_all_overlap_take_turns_in_a_small_room(monkeypatch):
    held = []
    room = Room(4000)

    def load(number):
        items = [('/t', 10 * step + number, bytes(1000)) for step in range(4)]
        held.append(items)
        return items

    sources = [
        Source(0, lambda number=number: room.messages(lambda: load(number))) for number in range(5)
    ]
    stamps = []
    for _, stamp, _ in in_order_of_time(sources):
        stamps.append(stamp)
        assert sum(map(len, held)) <= 4 or len(held) <= 1
        held[:] = [items for items in held if items]
    assert stamps == sorted(10 * step + number for step in range(4) for number in range(5))


def test_a_chunk_larger_than_the_room_is_loaded_once():
    loads = []
    items = [('/t', stamp, bytes(1000)) for stamp in range(5)]

    def load():
        loads.append(1)
        return list(items)

    assert list(Room(10).messages(load)) == items
    assert len(loads) == 1
    assert list(Room(10).messages(list)) == []


def test_large_messages_of_chunks_that_overlap_wait_outside_the_memory(peak_mb):
    def load(stamp):
        return [('/t', stamp, bytes(4 * MB))]

    room = Room()
    sources = [
        Source(0, lambda stamp=stamp: room.messages(lambda: load(stamp)), again=True)
        for stamp in range(40, 0, -1)
    ]
    assert [stamp for _, stamp, _ in in_order_of_time(sources)] == list(range(1, 41))
    assert peak_mb() < 60


def test_large_messages_behind_small_ones_wait_outside_the_memory(peak_mb):
    def load(number):
        return [('/t', number, b''), ('/t', 100 - number, bytes(4 * MB))]

    room = Room()
    sources = [
        Source(number, lambda number=number: room.messages(lambda: load(number)), again=True)
        for number in range(40)
    ]
    found = [(stamp, len(raw) // MB) for _, stamp, raw in in_order_of_time(sources)]
    assert found == [(n, 0) for n in range(40)] + [(100 - n, 4) for n in range(39, -1, -1)]
    assert peak_mb() < 60
