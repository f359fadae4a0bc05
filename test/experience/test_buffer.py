# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0

import dataclasses
import itertools
import sqlite3
import threading
import time

import pytest
from made_records import amendment, experience

from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import from_line, to_line

WITHIN_S = 10.0


def stored(path):
    """Return what another process would find: the numbers of the experiences."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute('SELECT body FROM record ORDER BY seq').fetchall()
    connection.close()
    return [from_line(body) for (body,) in rows]


def test_a_record_is_stored_before_it_is_acknowledged(open_buffer, path):
    buffer = open_buffer()
    for number in range(5):
        receipt = buffer.put(experience(number))
        receipt.result(WITHIN_S)
        assert stored(path)[-1] == experience(number)
    status = buffer.status()
    assert (status.stored, status.queued, status.problem) == (5, 0, '')
    assert status.file_bytes > 0


def test_records_that_come_together_are_stored_together(open_buffer, path):
    buffer = open_buffer(gather_s=0.2)
    receipts = [buffer.put(experience(number)) for number in range(100)]
    for receipt in receipts:
        receipt.result(WITHIN_S)
    assert stored(path) == [experience(number) for number in range(100)]


def test_many_threads_may_put(open_buffer, path):
    buffer = open_buffer()
    receipts = [[] for _ in range(4)]

    def put(which):
        for number in range(50):
            receipts[which].append(buffer.put(experience(number, robot=f'robot_{which}')))

    threads = [threading.Thread(target=put, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for receipt in itertools.chain(*receipts):
        receipt.result(WITHIN_S)
    found = stored(path)
    assert len(found) == len({record.id for record in found}) == 200
    for which in range(4):
        mine = [r.situation.tick for r in found if r.robot == f'robot_{which}']
        assert mine == list(range(50))


def test_the_same_record_twice_is_acknowledged_twice_and_stored_once(open_buffer, path):
    buffer = open_buffer()
    for _ in range(2):
        buffer.put(experience(1)).result(WITHIN_S)
    assert (buffer.status().stored, buffer.status().known) == (1, 1)
    assert len(stored(path)) == 1


def test_another_record_of_the_same_id_is_not_acknowledged(open_buffer, path):
    buffer = open_buffer(gather_s=0.05)
    buffer.put(experience(1)).result(WITHIN_S)
    receipts = [buffer.put(experience(1, text='differs')), buffer.put(experience(2))]
    assert 'another record of that id' in str(receipts[0].exception(WITHIN_S))
    receipts[1].result(WITHIN_S)
    assert buffer.status().conflicting == 1
    assert stored(path) == [experience(1), experience(2)]


def test_a_record_that_is_too_long_is_refused_and_the_next_is_not(open_buffer):
    buffer = open_buffer(most_bytes=1 << 20)
    receipt = buffer.put(experience(1, text='long ' * 13_000, length=900))
    longest = buffer.put(experience(2, length=20_000))
    receipt.result(WITHIN_S)
    assert 'refused: ' in str(longest.exception(WITHIN_S))
    assert 'expected at most 131,072 bytes' in str(longest.exception(WITHIN_S))
    assert (buffer.status().refused, buffer.status().stored) == (1, 1)


def test_who_puts_is_called_back(open_buffer):
    buffer, called = open_buffer(), []
    first = buffer.put(experience(1))
    first.add_done_callback(lambda receipt: 1 / 0)  # its own fault, and nobody else's
    first.add_done_callback(called.append)
    first.result(WITHIN_S)
    buffer.put(experience(2)).result(WITHIN_S)
    assert called == [first]
    first.add_done_callback(called.append)
    assert called == [first, first]
    assert first.done()
    assert not first.cancelled()


def test_a_question_is_answered_in_a_transaction_of_its_own(open_buffer):
    buffer = open_buffer()
    buffer.put(experience(1)).result(WITHIN_S)
    assert buffer.ask(lambda store: store.totals()['experiences']).result(WITHIN_S) == 1

    def half(store):
        store.keep_setting('half', 'done')
        raise ValueError('what a question')

    with pytest.raises(ValueError, match='what a question'):
        buffer.ask(half).result(WITHIN_S)
    assert buffer.ask(lambda store: store.setting('half')).result(WITHIN_S) is None
    assert buffer.status().problem == ''


@pytest.mark.parametrize(
    'sql', ['SELECT * FROM nowhere', 'SELEC 1', 'INSERT INTO record VALUES (1)']
)
def test_a_wrong_question_does_not_stop_the_buffer(open_buffer, sql):
    buffer = open_buffer()
    with pytest.raises(sqlite3.Error):
        buffer.ask(lambda store: store.database.conn.execute(sql)).result(WITHIN_S)
    buffer.put(experience(1)).result(WITHIN_S)
    assert buffer.status().problem == ''


def test_a_cancelled_question_does_no_harm(open_buffer):
    buffer = open_buffer()
    busy = threading.Event()
    buffer.ask(lambda store: busy.wait(WITHIN_S))
    asked = buffer.ask(lambda store: 1)
    assert asked.cancel()
    busy.set()
    buffer.put(experience(1)).result(WITHIN_S)


def test_closing_stores_what_is_in_the_queue(open_buffer, path):
    buffer = open_buffer(gather_s=3600.0)
    receipts = [buffer.put(experience(number)) for number in range(50)]
    began = time.monotonic()
    assert buffer.close() == 0
    assert time.monotonic() - began < 3.0
    assert all(receipt.done() for receipt in receipts)
    assert len(stored(path)) == 50
    assert not path.with_name(f'{path.name}-wal').exists()
    assert buffer.close() == 0


def test_a_closed_buffer_takes_nothing(open_buffer):
    buffer = open_buffer()
    buffer.close()
    with pytest.raises(ExperienceError, match='the buffer is closed'):
        buffer.put(experience(1)).result(WITHIN_S)
    with pytest.raises(ExperienceError, match='the buffer is closed'):
        buffer.ask(lambda store: 1).result(WITHIN_S)


def test_it_is_closed_at_the_end_of_its_block(path):
    with ExperienceBuffer(path) as buffer:
        receipt = buffer.put(experience(1))
    assert receipt.done()
    assert receipt.exception() is None


def test_what_was_stored_is_there_after_opening_again(open_buffer):
    first = open_buffer()
    first.put(experience(1)).result(WITHIN_S)
    first.close()
    second = open_buffer()
    second.put(experience(1)).result(WITHIN_S)
    assert second.status().known == 1


def test_waiting_for_a_receipt_ends_in_time(open_buffer):
    buffer = open_buffer(gather_s=3600.0)
    receipt = buffer.put(experience(1))
    with pytest.raises(TimeoutError, match='not stored yet'):
        receipt.result(0.01)


def many(count, **changes):
    return [experience(number, length=200, **changes) for number in range(count)]


def test_the_file_stays_within_its_bytes_and_the_oldest_go(open_buffer, path, moved_clock):
    bound = 2 << 20
    buffer = open_buffer(most_bytes=bound)
    largest = 0
    for record in many(1000):
        receipt = buffer.put(record)
        if record.situation.tick % 20 == 19:
            receipt.result(WITHIN_S)
            moved_clock.move(2.0)
            largest = max(largest, path.stat().st_size)
    status = buffer.status()
    assert status.stored == 1000
    assert set(status.evicted) == {'unlabelled'}
    left = [record.situation.tick for record in stored(path)]
    assert left == list(range(status.evicted['unlabelled'], 1000))
    assert len(left) > 300  # not far more than is needed
    assert largest < bound * 1.1
    counted = buffer.ask(lambda store: store.counters()).result(WITHIN_S)
    assert counted['evicted_unlabelled'] == status.evicted['unlabelled']
    assert not status.full


def test_what_is_pinned_fills_the_file_and_then_nothing_is_dropped_silently(
    open_buffer, path, wait_until
):
    buffer = open_buffer(most_bytes=1 << 20, queue_records=100)
    records = many(400)
    pinned = records[:60]
    for record in pinned:
        buffer.put(record).result(WITHIN_S)
    buffer.ask(lambda store: [store.pin(r.id, 'evidence') for r in records]).result(WITHIN_S)
    receipts = []
    for record in records[60:]:
        receipts.append(buffer.put(record))
        wait_until(lambda: receipts[-1].done() or buffer.status().full)
    wait_until(lambda: 'no room and nothing may be deleted' in buffer.status().problem)
    status = buffer.status()
    assert status.stored + status.queued + status.dropped == 400
    assert status.evicted == {}
    assert 60 <= status.stored == len(stored(path))
    assert path.stat().st_size < 1.1 * (1 << 20)
    # A question is answered all the same, and gives room again.
    buffer.ask(lambda store: [store.unpin(r.id, 'evidence') for r in records]).result(WITHIN_S)
    wait_until(lambda: buffer.status().queued == 0)
    assert buffer.status().problem == ''
    assert not buffer.status().full
    assert receipts[-1].exception(WITHIN_S) is None


def test_on_a_disk_that_is_nearly_full_the_file_does_not_grow(open_buffer, path, monkeypatch):
    buffer = open_buffer(keep_free_bytes=1 << 30)
    for record in many(100):
        buffer.put(record).result(WITHIN_S)
    monkeypatch.setattr(
        'thinking_policy.experience.upkeep.shutil.disk_usage',
        lambda folder: type('Usage', (), {'free': 1 << 20}),
    )
    buffer._upkeep._looked_s = None
    size = buffer.ask(lambda store: store.file_bytes()[0]).result(WITHIN_S)
    for number in range(100, 400):
        receipt = buffer.put(experience(number, length=200))
        if number % 10 == 9:
            receipt.result(WITHIN_S)
    assert buffer.ask(lambda store: store.file_bytes()[0]).result(WITHIN_S) <= size
    assert buffer.status().stored == 400
    assert stored(path)[-1].situation.tick == 399
    assert buffer.status().evicted['unlabelled'] > 250


def test_what_is_too_old_goes_whether_anything_comes_or_not(open_buffer, path, moved_clock):
    first = open_buffer(longest_s=3600.0)
    first.put(experience(1)).result(WITHIN_S)
    moved_clock.move(1800.0)
    first.put(experience(2)).result(WITHIN_S)
    first.close()
    moved_clock.move(1801.0)
    second = open_buffer(longest_s=3600.0)
    second.put(experience(3)).result(WITHIN_S)
    second.ask(lambda store: None).result(WITHIN_S)
    assert second.status().evicted in ({}, {'unlabelled': 1})
    second.close()
    assert [record.situation.tick for record in stored(path)] == [2, 3]


def test_a_clock_that_had_not_been_set_makes_nothing_old(open_buffer, path, moved_clock):
    today = moved_clock.wall_ns
    moved_clock.wall_ns = 10**9
    first = open_buffer(longest_s=3600.0)
    first.put(experience(1)).result(WITHIN_S)
    first.close()
    moved_clock.wall_ns = today
    second = open_buffer(longest_s=3600.0)
    second.put(experience(2)).result(WITHIN_S)
    second.close()
    assert len(stored(path)) == 2


def test_amendments_go_the_same_way(open_buffer, path):
    buffer = open_buffer()
    buffer.put(experience(1))
    buffer.put(amendment(experience(1), 7)).result(WITHIN_S)
    assert stored(path) == [experience(1), amendment(experience(1), 7)]
    assert to_line(stored(path)[1]) == to_line(amendment(experience(1), 7))


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('sync', 'sometimes'), ('sync_interval_s', 0.0), ('gather_s', -1.0), ('most_bytes', 1000),
        ('keep_free_bytes', -1), ('longest_s', -1.0), ('queue_records', 0), ('queue_bytes', 1),
        ('busy_s', float('nan')),
    ],
)  # fmt: skip
def test_an_option_out_of_range_is_refused(name, value):
    with pytest.raises(ExperienceError, match=f'^{name}: expected'):
        dataclasses.replace(BufferOptions(), **{name: value})
