# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which files `experience` reads: those that others write, may not be written, or are broken."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import shutil
import sqlite3

import pytest

from thinking_policy.cli.main import main

pytest.importorskip('sqlite_utils')
pytest.importorskip('pydantic')

NOBODY = 65534


@pytest.fixture
def lived(keep, make_experience):
    """Return a file with three experiences, and those."""
    records = tuple(make_experience(n) for n in range(3))
    return keep(*records), records


def ids(out):
    return [json.loads(line)['id'] for line in out.splitlines()]


def test_what_is_no_file_of_experiences_is_refused_and_left_alone(experience, tmp_path):
    (tmp_path / 'text').write_text('no database at all, but long enough to be one\n' * 10)
    (tmp_path / 'empty').write_bytes(b'')
    with sqlite3.connect(tmp_path / 'other') as other:
        other.execute('CREATE TABLE thing (name TEXT)')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, expected in (
        ('text', 'text: expected an SQLite file of experiences, found something else'),
        ('empty', 'empty: expected an SQLite file of experiences, found an empty file'),
        ('other', 'other: is an SQLite file, but holds no experiences (no table `record`)'),
        ('.', 'expected a file of experiences, found none'),
    ):
        for words in (('list',), ('purge', '--uploaded', '--yes'), ('quarantine', 'release')):
            code, _, err = experience(*words, '--db', tmp_path / name)
            assert code == 2
            assert expected in err
            assert err.count('\n') == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_of_another_version_is_refused(experience, lived):
    path, _ = lived
    with sqlite3.connect(path) as connection:
        connection.execute(
            'INSERT INTO _sqlite_migrations (migration_set, name, applied_at) '
            "VALUES ('experience', '999_more', '')"
        )
    code, _, err = experience('list', '--db', path)
    assert code == 2
    assert 'was made by a newer version of this package (it has 999_more)' in err
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = '999_more'")
        connection.execute("UPDATE _sqlite_migrations SET name = '000_less'")
    assert 'version of this package' in experience('list', '--db', path)[2]


def test_a_damaged_file_gives_one_line_and_is_left_alone(experience, keep, make_experience):
    path = keep(*(make_experience(n) for n in range(200)))
    body = bytearray(path.read_bytes())
    for begin in range(8192, len(body) - 4096, 8192):
        body[begin : begin + 512] = b'\xa5' * 512
    path.write_bytes(body)
    code, out, err = experience('stats', '--db', path)
    assert (code, out) == (2, '')
    assert 'is damaged' in err
    assert err.count('\n') == 1
    assert path.read_bytes() == body


def test_a_file_is_read_while_another_process_writes_it(experience, lived):
    path, _ = lived
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute('BEGIN IMMEDIATE')
    writer.execute("INSERT INTO counter VALUES ('', 'odd', 1)")
    try:
        code, out, _ = experience('list', '--db', path, '--json')
        assert (code, len(ids(out))) == (0, 3)
        writer.execute('COMMIT')  # reading did not hold it up
    finally:
        writer.close()
    assert json.loads(experience('stats', '--db', path, '--json')[1])['counters']['odd'] == 1


@pytest.fixture
def as_nobody(experience, keep):
    """Return a function that lists a file as a user who may not write → (code, stdout, stderr)."""
    if os.name != 'posix' or os.geteuid() != 0:
        pytest.skip('only root can become another user')
    experience('list', '--json', '--db', keep(name='another.db'))  # all is imported from here on

    def listed(path, answer):
        out, err = io.StringIO(), io.StringIO()
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(['experience', 'list', '--json', '--db', str(path)])
        answer.send((code, out.getvalue(), err.getvalue()))

    def run(path):
        context = multiprocessing.get_context('fork')
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=listed, args=(path, there))
        child.start()
        there.close()
        found = here.recv()
        child.join(30)
        return found

    return run


def open_to_read(path):
    for folder in path.parents:
        if folder.stat().st_uid == os.getuid() and 'pytest' in str(folder):
            folder.chmod(0o755)
    for file in path.parent.iterdir():
        file.chmod(0o644)


def test_a_folder_that_cannot_be_written_is_read_and_nothing_is_left_in_it(as_nobody, lived):
    path, _ = lived
    before = sorted(path.parent.iterdir())
    open_to_read(path)
    code, out, err = as_nobody(path)
    assert (code, err) == (0, '')
    assert len(ids(out)) == 3
    assert sorted(path.parent.iterdir()) == before


def test_what_is_still_in_the_log_is_read_too(as_nobody, lived, tmp_path, make_experience, keep):
    path, _ = lived
    writer = sqlite3.connect(path, isolation_level=None)
    try:
        writer.execute('SELECT COUNT(*) FROM record').fetchone()  # now the log is in use
        keep(make_experience(7200))
        open_to_read(path)
        code, out, err = as_nobody(path)  # beside one who writes
        assert (code, err, len(ids(out))) == (0, '', 4)
        away = tmp_path / 'away'
        away.mkdir()
        for file in (path, path.with_name(path.name + '-wal')):
            shutil.copy(file, away / file.name)
    finally:
        writer.close()
    open_to_read(away / path.name)
    code, out, err = as_nobody(away / path.name)  # as a copy in an archive has it
    assert (code, err, len(ids(out))) == (0, '', 4)
