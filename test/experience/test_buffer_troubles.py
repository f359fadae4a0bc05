# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0

import contextlib
import os
import sqlite3
import tempfile
import time
from pathlib import Path

import pytest
from made_records import experience

from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import from_line
from thinking_policy.experience.schema import open_database

WITHIN_S = 15.0


def ticks(path):
    with sqlite3.connect(path) as connection:
        rows = connection.execute('SELECT body FROM record ORDER BY seq').fetchall()
    connection.close()
    return [from_line(body).situation.tick for (body,) in rows]


@pytest.fixture
def other(path):
    """Return what opens another connection; all are closed at the end."""
    opened = []

    def connect():
        connection = sqlite3.connect(path, isolation_level=None)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()


def test_while_another_process_holds_the_file_the_queue_grows_and_the_problem_is_said(
    open_buffer, path, other, wait_until
):
    buffer = open_buffer()
    buffer.put(experience(0)).result(WITHIN_S)
    holder = other()
    holder.execute('BEGIN IMMEDIATE')
    receipts = [buffer.put(experience(number)) for number in range(1, 21)]
    wait_until(lambda: buffer.status().problem)
    status = buffer.status()
    assert status.problem == f'{path}: database is locked'
    assert (status.queued, status.stored, status.dropped) == (20, 1, 0)
    assert status.queued_bytes > 20 * 500
    assert not any(receipt.done() for receipt in receipts)
    holder.execute('ROLLBACK')
    for receipt in receipts:
        receipt.result(WITHIN_S)
    wait_until(lambda: not buffer.status().problem)
    assert ticks(path) == list(range(21))
    assert buffer.status().set_aside == ()


def test_a_question_waits_while_the_file_is_held(open_buffer, other, wait_until):
    buffer = open_buffer()
    buffer.put(experience(0)).result(WITHIN_S)
    holder = other()
    holder.execute('BEGIN IMMEDIATE')
    asked = buffer.ask(lambda store: store.totals()['experiences'])
    wait_until(lambda: buffer.status().problem)
    assert not asked.done()
    holder.execute('ROLLBACK')
    assert asked.result(WITHIN_S) == 1


def test_a_queue_that_is_full_drops_the_oldest_and_counts_them(
    open_buffer, path, other, wait_until
):
    buffer = open_buffer(queue_records=10)
    buffer.put(experience(0)).result(WITHIN_S)
    holder = other()
    holder.execute('BEGIN IMMEDIATE')
    receipts = []
    for number in range(1, 31):
        receipts.append(buffer.put(experience(number)))
        # Those that the thread has in hand count only once it has put them back.
        wait_until(lambda: buffer.status().problem or buffer.status().queued <= 10)
    wait_until(lambda: buffer.status().dropped == 20)
    for receipt in receipts[:20]:
        with pytest.raises(ExperienceError, match='dropped: the queue was full'):
            receipt.result(WITHIN_S)
    holder.execute('ROLLBACK')
    for receipt in receipts[20:]:
        receipt.result(WITHIN_S)
    assert ticks(path) == [0, *range(21, 31)]


def test_the_queue_is_bounded_in_bytes_too(open_buffer, other, wait_until):
    buffer = open_buffer(queue_bytes=1 << 16)
    buffer.put(experience(0)).result(WITHIN_S)
    other().execute('BEGIN IMMEDIATE')
    for number in range(1, 101):
        buffer.put(experience(number, length=100))
    wait_until(lambda: buffer.status().problem)
    wait_until(lambda: buffer.status().queued_bytes <= 1 << 16)
    status = buffer.status()
    assert status.queued + status.dropped == 100
    assert status.queued > 10


def test_closing_while_the_file_is_held_ends_in_time_and_says_what_is_lost(open_buffer, other):
    buffer = open_buffer()
    buffer.put(experience(0)).result(WITHIN_S)
    other().execute('BEGIN IMMEDIATE')
    receipts = [buffer.put(experience(number)) for number in range(1, 6)]
    asked = buffer.ask(lambda store: 1)
    began = time.monotonic()
    assert buffer.close(within_s=0.6) == 5
    assert time.monotonic() - began < 1.5
    for receipt in receipts:
        with pytest.raises(ExperienceError, match='closed before it could be stored'):
            receipt.result(0)
    with pytest.raises(ExperienceError, match='the buffer is closed'):
        asked.result(0)


def test_a_file_that_is_let_go_while_closing_takes_the_rest(open_buffer, path, other, wait_until):
    buffer = open_buffer(busy_s=0.5)
    buffer.put(experience(0)).result(WITHIN_S)
    holder = other()
    holder.execute('BEGIN IMMEDIATE')
    buffer.put(experience(1))
    wait_until(lambda: buffer.status().problem)
    buffer._waiting.close()
    holder.execute('ROLLBACK')
    assert buffer.close(within_s=3.0) == 0
    assert ticks(path) == [0, 1]


def test_a_folder_that_may_not_be_written_is_waited_for(wait_until):
    if os.geteuid() != 0:
        pytest.skip('needs to be another user for a while')
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = folder / 'experience.db'
        os.seteuid(65534)
        try:
            buffer = ExperienceBuffer(path, BufferOptions(gather_s=0.0))
            receipt = buffer.put(experience(1))
            wait_until(lambda: 'unable to open' in buffer.status().problem)
            assert not receipt.done()
        finally:
            os.seteuid(0)
        receipt.result(WITHIN_S)
        assert buffer.status().problem == ''
        buffer.close()
        assert ticks(path) == [1]


def test_a_file_in_place_of_the_folder_is_said_and_waited_for(open_buffer, path, wait_until):
    path.parent.touch()
    buffer = open_buffer()
    receipt = buffer.put(experience(1))
    wait_until(lambda: 'cannot be made' in buffer.status().problem)
    path.parent.unlink()
    receipt.result(WITHIN_S)
    assert buffer.status().problem == ''
    assert ticks(path) == [1]


def test_a_broken_file_is_set_aside_and_said(open_buffer, path):
    path.parent.mkdir()
    path.write_bytes(b'junk' * 5000)
    buffer = open_buffer()
    buffer.put(experience(1)).result(WITHIN_S)
    (said,) = buffer.status().set_aside
    assert said.startswith(f'{path.name}.corrupt-1766000000: file is not a database')
    assert buffer.status().problem == ''


@pytest.mark.parametrize(
    ('tables', 'expected'),
    [
        (('thing',), 'found an SQLite file of something else (tables thing)'),
        (('record', 'token'), None),
    ],
)
def test_a_file_of_somebody_else_is_left_alone(open_buffer, path, wait_until, tables, expected):
    path.parent.mkdir()
    if expected is None:  # what a server makes
        opened = open_database(path).database
        opened.execute('CREATE TABLE token (id TEXT)')
        opened.conn.close()
        expected = "expected a robot's file of experiences, found a server's database"
    else:
        with contextlib.closing(sqlite3.connect(path)) as other:
            for name in tables:
                other.execute(f'CREATE TABLE {name} (id TEXT)')
    buffer = open_buffer()
    receipt = buffer.put(experience(1))
    wait_until(lambda: expected in buffer.status().problem)
    assert not receipt.done()
    with contextlib.closing(sqlite3.connect(path)) as other:
        found = {name for (name,) in other.execute('SELECT name FROM sqlite_master')}
    assert set(tables) <= found
    assert 'record' not in found or not ticks(path)


@pytest.mark.parametrize('what', ['deleted', 'replaced'])
def test_a_file_that_someone_takes_away_is_begun_anew_with_what_is_in_hand(
    open_buffer, path, what
):
    buffer = open_buffer()
    buffer.put(experience(0)).result(WITHIN_S)
    for part in path.parent.iterdir():
        part.unlink()
    if what == 'replaced':
        path.touch()
    receipts = [buffer.put(experience(number)) for number in range(1, 6)]
    for receipt in receipts:
        receipt.result(WITHIN_S)
    assert ticks(path) == [1, 2, 3, 4, 5]
    (said,) = buffer.status().set_aside
    assert said == f'{path.name}: was deleted or replaced by someone; what was in it is gone'


def broken_while_open(path, where):
    size = path.stat().st_size
    with path.open('r+b') as file:
        file.seek(where)
        file.write(b'\xff' * (size - where))


def test_a_file_that_breaks_while_it_is_open_is_replaced(open_buffer, path):
    buffer = open_buffer()
    for number in range(200):
        receipt = buffer.put(experience(number))
    receipt.result(WITHIN_S)
    # Out of the cache, and out of the log.
    buffer.ask(lambda store: store.database.conn.execute('PRAGMA cache_size=1')).result(WITHIN_S)
    buffer.ask(lambda store: None).result(WITHIN_S)
    with sqlite3.connect(path) as connection:
        connection.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()
    connection.close()
    broken_while_open(path, 8192)
    receipts = [buffer.put(experience(number)) for number in range(200, 260)]
    for receipt in receipts:
        receipt.result(WITHIN_S)
    assert ticks(path) == list(range(200, 260))
    assert len(buffer.status().set_aside) == 1
    assert [part for part in path.parent.iterdir() if '.corrupt-' in part.name]


def test_a_file_that_fails_though_it_looks_well_is_given_up(open_buffer, path, monkeypatch):
    from thinking_policy.experience.store import ExperienceStore

    add = ExperienceStore.add

    def malformed(self, entries, now_ns):
        if not list(path.parent.glob('*.corrupt-*')):
            raise sqlite3.DatabaseError('database disk image is malformed')
        return add(self, entries, now_ns)

    monkeypatch.setattr(ExperienceStore, 'add', malformed)
    buffer = open_buffer()
    buffer.put(experience(1)).result(WITHIN_S)
    assert ticks(path) == [1]
    assert 'malformed' in buffer.status().set_aside[0]


def test_a_record_that_the_file_does_not_take_does_not_hold_up_the_others(
    open_buffer, path, monkeypatch
):
    from thinking_policy.experience.store import ExperienceStore

    add = ExperienceStore.add
    poison = experience(7).id

    def refusing(self, entries, now_ns):
        if any(entry.id == poison for entry in entries):
            raise sqlite3.IntegrityError('what is that')
        return add(self, entries, now_ns)

    monkeypatch.setattr(ExperienceStore, 'add', refusing)
    buffer = open_buffer(gather_s=0.05)
    receipts = [buffer.put(experience(number)) for number in range(15)]
    with pytest.raises(ExperienceError, match='refused: what is that'):
        receipts[7].result(WITHIN_S)
    for receipt in receipts[:7] + receipts[8:]:
        receipt.result(WITHIN_S)
    assert ticks(path) == [*range(7), *range(8, 15)]
    assert buffer.status().refused == 1


def test_a_full_disk_is_waited_for(open_buffer, path, wait_until):
    buffer = open_buffer()
    buffer.put(experience(0)).result(WITHIN_S)
    # The limit of SQLite itself: it says what it says of a full disk.
    limit = 'PRAGMA max_page_count=1'
    buffer.ask(lambda store: store.database.conn.execute(limit).fetchall()).result(WITHIN_S)
    receipts = [buffer.put(experience(number, length=500)) for number in range(1, 40)]
    wait_until(lambda: 'full' in buffer.status().problem)
    assert buffer.status().queued == 39
    limit = 'PRAGMA max_page_count=100000'
    buffer.ask(lambda store: store.database.conn.execute(limit).fetchall())
    for receipt in receipts:
        receipt.result(WITHIN_S)
    wait_until(lambda: not buffer.status().problem)
    assert ticks(path) == list(range(40))


def test_in_interval_mode_the_log_is_synced_when_its_interval_is_over(
    open_buffer, path, moved_clock, monkeypatch, wait_until
):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(
        'thinking_policy.experience.upkeep.os.fsync',
        lambda fd: (synced.append(str(Path(f'/proc/self/fd/{fd}').readlink())), fsync(fd)),
    )
    buffer = open_buffer(sync='interval', sync_interval_s=5.0)
    log = str(path.with_name(f'{path.name}-wal'))
    buffer.put(experience(0)).result(WITHIN_S)
    moved_clock.move(4.9)
    buffer.put(experience(1)).result(WITHIN_S)
    buffer.ask(lambda store: None).result(WITHIN_S)
    assert log not in synced
    moved_clock.move(0.2)
    buffer.put(experience(2)).result(WITHIN_S)
    wait_until(lambda: log in synced)
    moved_clock.move(100.0)
    buffer.close()
    assert ticks(path) == [0, 1, 2]
