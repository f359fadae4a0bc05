# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0

import os
import sqlite3
import tempfile
from pathlib import Path

import pytest
from made_records import experience
from sqlite_utils import Database, Migrations

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import to_line
from thinking_policy.experience.schema import KNOWN, migrations, open_database
from thinking_policy.experience.store import ExperienceStore, entry_of

NOW_NS = 1_766_000_000_000_000_000


def filled(path, count=50):
    """Make a file with records, its log beside it; return the connection that keeps that there."""
    database = open_database(path).database
    with database.conn:
        records = [experience(number) for number in range(count)]
        ExperienceStore(database).add([entry_of(r, to_line(r)) for r in records], NOW_NS)
    return database.conn


def pragma(database, name):
    return database.conn.execute(f'PRAGMA {name}').fetchone()[0]


def test_a_new_file_is_durable_by_its_settings(path):
    database = open_database(path).database
    assert pragma(database, 'journal_mode') == 'wal'
    assert pragma(database, 'synchronous') == 2
    assert pragma(database, 'auto_vacuum') == 2
    assert pragma(open_database(path, sync='interval').database, 'synchronous') == 1
    with pytest.raises(ExperienceError, match='sync: expected one of commit, interval'):
        open_database(path, sync='never')


def test_opening_again_changes_nothing(path):
    filled(path).close()
    opened = open_database(path)
    assert opened.set_aside is None
    assert ExperienceStore(opened.database).totals()['experiences'] == 50
    assert [done.name for done in migrations.applied(opened.database)] == list(KNOWN)
    assert [one.name for one in migrations._migrations] == list(KNOWN)


def test_an_empty_file_is_taken_as_new(path):
    path.parent.mkdir()
    path.touch()
    opened = open_database(path)
    assert opened.set_aside is None
    assert pragma(opened.database, 'auto_vacuum') == 2


def test_a_migration_that_fails_leaves_nothing_half_done(path, monkeypatch):
    broken = Migrations('experience')
    broken(name=KNOWN[0])(migrations._migrations[0].fn)

    @broken(name='_002_fails')
    def _(db: Database):
        db.execute('CREATE TABLE half (done)')
        raise sqlite3.OperationalError('disk I/O error')

    monkeypatch.setattr('thinking_policy.experience.schema.migrations', broken)
    with pytest.raises(sqlite3.OperationalError, match='disk I/O error'):
        open_database(path)
    monkeypatch.undo()
    assert set(open_database(path).database.table_names()) == {
        'record', 'pin', 'counter', 'setting', '_sqlite_migrations'
    }  # fmt: skip


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(path):
    newer = Migrations('experience')
    newer(name='_009_moods')(lambda db: db.execute('CREATE TABLE mood (at)') and None)
    connection = filled(path)
    newer.apply(Database(connection))
    with pytest.raises(ExperienceError, match=r'found one of a newer \(_009_moods\); update'):
        open_database(path)
    assert sorted(one.name for one in path.parent.iterdir()) == sorted(
        [path.name, f'{path.name}-wal', f'{path.name}-shm']
    )


def overwritten(path, where, junk):
    with path.open('r+b') as file:
        file.seek(where)
        file.write(junk)


def no_database(path):
    path.write_bytes(b'this was no database, ' * 500)


def half_a_header(path):
    path.write_bytes(path.read_bytes()[:40])


def torn_in_the_middle(path):
    os.truncate(path, path.stat().st_size // 2)


def junk_in_pages(path):
    overwritten(path, 8192, os.urandom(16 * 8192))


@pytest.mark.parametrize('damage', [no_database, half_a_header, torn_in_the_middle, junk_in_pages])
def test_a_broken_file_is_set_aside_and_a_new_one_begun(path, damage):
    filled(path).close()
    damage(path)
    content = path.read_bytes()
    opened = open_database(path, now_ns=NOW_NS)
    assert opened.set_aside == path.with_name(f'{path.name}.corrupt-{NOW_NS // 10**9}')
    assert opened.reason
    assert opened.set_aside.read_bytes() == content
    assert ExperienceStore(opened.database).totals()['experiences'] == 0
    opened.database.conn.close()
    assert open_database(path).set_aside is None


def test_the_log_goes_with_the_file_that_is_set_aside(path):
    connection = filled(path)
    connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    connection.execute("UPDATE record SET quarantined = 'no' WHERE seq = 1")
    log = path.with_name(f'{path.name}-wal')
    content = log.read_bytes()
    connection.close()
    # As a power cut in the middle leaves them: the log, and a file that is none.
    no_database(path)
    log.write_bytes(content)
    opened = open_database(path, now_ns=NOW_NS)
    assert Path(f'{opened.set_aside}-wal').read_bytes() == content
    assert ExperienceStore(opened.database).totals()['experiences'] == 0


def test_a_file_that_its_log_makes_whole_again_is_not_broken(path):
    connection = filled(path)
    log = path.with_name(f'{path.name}-wal')
    content = log.read_bytes()
    connection.close()
    no_database(path)
    log.write_bytes(content)
    opened = open_database(path, now_ns=NOW_NS)
    assert opened.set_aside is None
    assert ExperienceStore(opened.database).totals()['experiences'] == 50


def test_a_second_broken_file_does_not_take_the_name_of_the_first(path):
    path.parent.mkdir()
    names = set()
    for _ in range(3):
        no_database(path)
        opened = open_database(path, now_ns=NOW_NS)
        opened.database.conn.close()
        names.add(opened.set_aside)
    assert len(names) == 3
    assert all(name.exists() for name in names)


def test_who_does_not_own_a_broken_file_leaves_it_where_it_is(path):
    path.parent.mkdir()
    no_database(path)
    with pytest.raises(ExperienceError, match=r'found a broken one: .*; it is left as it is'):
        open_database(path, repair=False)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_distrusted_file_is_set_aside_though_it_looks_well(path):
    filled(path).close()
    opened = open_database(path, now_ns=NOW_NS, distrust='it failed twice')
    assert opened.reason == 'it failed twice'
    assert ExperienceStore(opened.database).totals()['experiences'] == 0


def test_a_locked_file_is_not_taken_for_a_broken_one(path):
    connection = filled(path)
    connection.execute('PRAGMA locking_mode=EXCLUSIVE')
    connection.execute('BEGIN EXCLUSIVE')
    with pytest.raises(sqlite3.OperationalError, match='locked'):
        open_database(path, busy_s=0.05)
    connection.execute('ROLLBACK')


@pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get('CI'), reason='needs another user')
def test_a_folder_that_may_not_be_written_is_said_so():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755 if os.geteuid() == 0 else 0o555)
        mine = os.geteuid()
        if mine == 0:
            os.seteuid(65534)
        try:
            with pytest.raises(sqlite3.OperationalError, match='unable to open'):
                open_database(folder / 'experiences.db')
            with pytest.raises(ExperienceError, match='cannot be made: Permission denied'):
                open_database(folder / 'below' / 'experiences.db')
        finally:
            os.seteuid(mine)
            folder.chmod(0o755)


def test_a_file_where_the_folder_should_be_is_said_so(tmp_path):
    (tmp_path / 'experience').touch()
    with pytest.raises(ExperienceError, match='cannot be made: File exists'):
        open_database(tmp_path / 'experience' / 'experiences.db')
