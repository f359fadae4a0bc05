# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the experience node does when its file or disk refuses; the policy node notices nothing."""

from __future__ import annotations

import contextlib
import itertools
import resource
import sqlite3

import pytest
from experience_robot import PERIOD_S, SECOND
from small_disk import fill, remount, small_disk

from thinking_policy.experience.record import from_line

OK, WARN, ERROR = 0, 1, 2
ROOMY = {'keep_free_bytes': 0}  # a disk of a few MiB is large enough for these tests


def changes(robot, count):
    """Publish ticks of which each is an experience."""
    for _ in range(count):
        is_odd = round(robot.next_ns / SECOND / PERIOD_S) % 2
        robot.tick(active=('trend',) if is_odd else ('hazard',))


def ticks_without_gap(messages):
    return all(
        after.tick == before.tick + 1 and after.episode == before.episode
        for before, after in itertools.pairwise(messages)
    )


@contextlib.contextmanager
def locked(database):
    """Hold the file as another process that writes does."""
    connection = sqlite3.connect(database, timeout=10.0, isolation_level=None)
    try:
        connection.execute('BEGIN EXCLUSIVE')
        yield
        connection.execute('ROLLBACK')
    finally:
        connection.close()


def test_a_locked_file_is_said_and_what_came_meanwhile_is_stored_afterwards(start_experience):
    robot = start_experience()
    changes(robot, 1)
    robot.wait_for_records(1)
    with locked(robot.database):
        changes(robot, 50)
        message = robot.wait_for_level('buffer', WARN, 'locked')
        assert str(robot.database) in message
        robot.wait_for_count('queued', 50, 'buffer')
        robot.wait_for_count('joined', 51)
        assert robot.state() == 'active'  # it answers meanwhile
    robot.wait_for_level('buffer', OK)
    assert len(robot.wait_for_records(51)) == 51
    assert robot.values('buffer')['dropped'] == '0'
    robot.end()


def test_a_file_that_is_locked_from_the_start_is_used_as_soon_as_it_is_free(
    start_experience, tmp_path
):
    database = tmp_path / 'late.db'
    with locked(database):
        robot = start_experience(database=database)
        changes(robot, 3)
        robot.wait_for_level('buffer', WARN, 'locked')
        robot.wait_for_count('queued', 3, 'buffer')
    robot.wait_for_level('buffer', OK)
    robot.wait_for_records(3)
    robot.end()


def test_a_queue_that_is_full_drops_the_oldest_and_counts_them(start_experience):
    robot = start_experience(buffer={'queue_records': 10})
    changes(robot, 1)
    robot.wait_for_records(1)
    with locked(robot.database):
        changes(robot, 30)
        robot.wait_for_level('buffer', ERROR, 'records lost')
        robot.wait_for_count('dropped', 20, 'buffer')
        robot.wait_for_level('buffer', WARN, '10 records wait')
    robot.wait_for_level('buffer', OK)
    kept = robot.wait_for_records(11)
    newest = round(max(r.situation.stamp_ns for r in kept))
    assert newest == robot.next_ns - 500_000_000
    assert robot.values('buffer')['dropped'] == '20'


def test_a_node_ends_in_time_though_its_file_is_locked(start_experience):
    robot = start_experience()
    changes(robot, 1)
    robot.wait_for_records(1)
    with locked(robot.database):
        changes(robot, 5)
        robot.wait_for_count('queued', 5, 'buffer')
        robot.end()
    assert '5 experiences are lost' in robot.output
    assert 'locked' in robot.output


def test_a_broken_file_is_set_aside_with_the_reason_and_a_new_one_begun(
    start_experience, tmp_path
):
    database = tmp_path / 'broken.db'
    database.write_bytes(b'This was a database once. ' * 1000)
    robot = start_experience(database=database)
    robot.wait_for_level('buffer', WARN, 'not a database')
    (aside,) = tmp_path.glob('broken.db.corrupt-*')
    assert aside.name in robot.values('buffer')['set_aside']
    assert aside.read_bytes().startswith(b'This was')
    changes(robot, 2)
    robot.wait_for_records(2)
    robot.end()


def test_a_deleted_file_is_said_and_a_new_one_begun(start_experience):
    robot = start_experience()
    changes(robot, 3)
    robot.wait_for_records(3)
    for path in robot.database.parent.glob(f'{robot.database.name}*'):
        path.unlink()
    changes(robot, 4)
    robot.wait_for(lambda: len(robot.lines()) == 4, 'four records in the new file')
    robot.wait_for_level('buffer', WARN, 'deleted')
    robot.wait_for(lambda: 'deleted' in robot.output, 'a line about it')
    robot.end()
    assert len(robot.lines()) == 4


def test_a_folder_that_cannot_be_made_is_said(start_experience, tmp_path):
    blocked = tmp_path / 'file'
    blocked.write_text('not a folder')
    robot = start_experience(database=blocked / 'experiences.db')
    message = robot.wait_for_level('buffer', ERROR)
    assert str(blocked) in message
    changes(robot, 3)
    robot.wait_for_count('queued', 3, 'buffer')
    blocked.unlink()  # somebody tidies up
    robot.wait_for_level('buffer', OK)
    robot.wait_for_records(3)
    robot.end()


def test_a_read_only_disk_is_said_and_used_again_when_it_is_writable(start_experience, tmp_path):
    with small_disk(tmp_path / 'disk', 8) as disk:
        robot = start_experience(database=disk / 'experiences.db', buffer=ROOMY)
        changes(robot, 1)
        robot.wait_for_records(1)
        robot.end()
        remount(disk, read_only=True)
        robot = start_experience(database=disk / 'experiences.db', buffer=ROOMY)
        robot.wait_for_level('buffer', ERROR, 'read')
        changes(robot, 3)
        robot.wait_for_count('queued', 3, 'buffer')
        remount(disk, read_only=False)
        robot.wait_for_level('buffer', OK)
        robot.wait_for_count('stored', 3, 'buffer')
        robot.wait_for_records(4)
        robot.end()


def test_the_policy_node_does_not_notice_a_full_disk(start_experience, start_robot, tmp_path):
    with small_disk(tmp_path / 'disk', 4) as disk:
        policy = start_robot()
        robot = start_experience(
            name=policy.namespace,
            active=False,
            database=disk / 'experiences.db',
            recording={'sample_s': 0.01},  # every tick
            buffer=ROOMY,
        )
        robot.wait_for(robot.lines, 'the first record')
        policy.next_activations()
        fill(disk / 'filler')
        robot.wait_for_level('buffer', ERROR, 'full')
        robot.wait_for_count('queued', 5, 'buffer')
        before = {(name, revision) for name, revision, _ in robot.lines()}
        policy.next_activations(10)
        (disk / 'filler').unlink()
        robot.wait_for_level('buffer', OK)
        robot.wait_for_count('stored', len(before) + 5, 'buffer')
        assert ticks_without_gap(policy.activations)
        robot.end()
        policy.next_activations(3)
        assert ticks_without_gap(policy.activations)
        lines = robot.lines()
        assert before < {(name, revision) for name, revision, _ in lines}
        ticks = [from_line(body).situation.tick for _, _, body in lines]
        assert ticks == list(range(ticks[0], ticks[0] + len(ticks)))  # none was lost
        assert robot.values('buffer')['dropped'] == '0'


def test_a_file_that_may_not_grow_recovers_without_a_restart(start_experience):
    """The same as a full disk where nothing can be mounted."""
    robot = start_experience(recording={'most_per_minute': 1000.0})
    changes(robot, 20)
    robot.wait_for_records(20)
    process = robot.process.pid
    size = robot.database.with_name(f'{robot.database.name}-wal').stat().st_size
    limits = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size + 10_000, limits[1]))
    for _ in range(10):
        changes(robot, 20)
        robot.observer.listen(0.05)
    robot.wait_for_level('buffer', ERROR)
    robot.wait_for_count('joined', 220)
    resource.prlimit(process, resource.RLIMIT_FSIZE, limits)
    robot.wait_for_level('buffer', OK)
    robot.wait_for_records(220)
    assert robot.values('buffer')['dropped'] == '0'
    assert robot.process.pid == process
    robot.end()


@pytest.mark.parametrize('sync', ['commit', 'interval'])
def test_a_bounded_file_lets_the_oldest_go_and_counts_them(start_experience, sync):
    robot = start_experience(
        buffer={'most_bytes': 1 << 20, 'sync': sync, 'keep_free_bytes': 0},
        recording={'most_per_minute': 100_000.0},
    )
    for number in range(1500):
        changes(robot, 1)
        if number % 50 == 0:
            robot.wait_for_count('joined', number - 20)
    robot.wait_for_count('joined', 1500)
    robot.wait_for_count('evicted_unlabelled', 1, 'buffer')
    robot.wait_for(lambda: robot.values('buffer')['queued'] == '0', 'an empty queue')
    robot.end()
    stamps = [record.situation.stamp_ns for record in robot.records()]
    assert stamps == sorted(stamps)
    assert stamps[-1] == robot.next_ns - 500_000_000
    assert robot.database.stat().st_size <= 1.2 * (1 << 20)
    values = robot.values('buffer')
    assert int(values['stored']) - int(values['evicted_unlabelled']) == len(stamps)
