# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy token` and `registry`, and the file behind them."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from thinking_policy.cli import main
from thinking_policy.experience.buffer import ExperienceBuffer
from thinking_policy.policy import sign_file, write_key_pair
from thinking_policy.server.database import ServerDatabase
from thinking_policy.server.errors import ServerError
from thinking_policy.server.robots import RobotReport
from thinking_policy.server.tenancy import TenantData


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / 'deep' / 'server.db'
    monkeypatch.setenv('THINKING_POLICY_DB', str(path))
    monkeypatch.setenv('COLUMNS', '120')
    return path


@pytest.fixture
def policy(tmp_path: Path, checkout: Path) -> Path:
    return Path(shutil.copy(checkout / 'config' / 'policy.onnx', tmp_path / 'policy.onnx'))


def test_a_token_is_shown_once(path, capsys):
    assert main(['token', 'new', '--tenant', 'lab', '--robot', 'r1']) == 0
    shown = capsys.readouterr()
    secret = shown.out.strip()
    assert secret.startswith('tp_')
    assert '\n' not in secret  # alone, so that it can go into a file
    assert 'tenant lab, role robot, robot r1' in shown.err
    assert main(['token', 'list']) == 0
    listed = capsys.readouterr().out
    assert secret not in listed
    name = secret.split('_')[1]
    assert name in listed
    assert main(['token', 'revoke', name]) == 0
    assert f'{name}: revoked' in capsys.readouterr().out


def test_only_the_owner_may_read_the_file(path):
    main(['token', 'new', '--tenant', 'lab'])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    'words',
    [
        ('token', 'new', '--tenant', 'lab', '--robot', '\udcff'),
        ('token', 'revoke', '\udcff'),
        ('registry', 'rollback', '\udcff'),
    ],
)
def test_a_name_that_is_no_text_gives_one_line(path, capsys, words):
    main(['token', 'new', '--tenant', 'lab'])
    capsys.readouterr()
    assert main(list(words)) == 2
    said = capsys.readouterr().err
    assert said.count('\n') == 1
    assert "found '\\udcff'" in said


def test_a_robots_file_is_not_made_a_servers(tmp_path, capsys, experience):
    path = tmp_path / 'robot.db'
    with ExperienceBuffer(path) as buffer:
        buffer.put(experience(0)).result(10)
    for words in (['token', 'list'], ['registry', 'robots'], ['token', 'new', '--tenant', 'x']):
        assert main([*words, '--db', str(path)]) == 2
        assert "expected a server's database, found a robot's file" in capsys.readouterr().err
    assert main(['experience', 'list', '--db', str(path)]) == 0


def test_a_mistyped_path_makes_no_database(path, capsys):
    for words in (['token', 'list'], ['registry', 'list'], ['token', 'revoke', 'x']):
        assert main(words) == 2
        assert f'{path}: no such database' in capsys.readouterr().err
    assert not path.exists()


def test_a_policy_is_published_listed_and_taken_back(path, policy, tmp_path, capsys):
    main(['token', 'new', '--tenant', 'lab'])
    write_key_pair(tmp_path / 'private.pem', tmp_path / 'public.pem')
    public = str(tmp_path / 'public.pem')
    capsys.readouterr()
    assert main(['registry', 'publish', str(policy), '--key', public]) == 2
    assert 'not signed' in capsys.readouterr().err
    assert main(['registry', 'publish', str(policy)]) == 0
    assert 'is current, not signed' in capsys.readouterr().out
    signature = sign_file(policy, tmp_path / 'private.pem').read_bytes()
    assert main(['registry', 'publish', str(policy), '--key', public]) == 0
    assert 'is current, signed' in capsys.readouterr().out
    with ServerDatabase(path) as database, database.writing() as writer:
        data = TenantData(writer, 'lab')
        release = data.policies.current()
        assert release.signature == signature
        assert data.policies.body(release.version) == policy.read_bytes()
        data.robots.keep(RobotReport('r1', release.version, 'running', 'a\x1b[2Jb\nc', 1))
    assert main(['registry', 'robots']) == 0
    listed = capsys.readouterr().out
    assert f'{release.version} (current)' in listed
    assert 'a?[2Jb?c' in listed
    assert main(['registry', 'rollback']) == 0
    capsys.readouterr()
    assert main(['registry', 'list']) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if release.version in line]
    assert ['current' in line for line in lines] == [False, True]


def test_what_is_no_policy_is_not_published(path, tmp_path, capsys):
    main(['token', 'new', '--tenant', 'lab'])
    wrong = tmp_path / 'wrong.onnx'
    wrong.write_bytes(b'not a policy')
    capsys.readouterr()
    assert main(['registry', 'publish', str(wrong)]) == 2
    assert str(wrong) in capsys.readouterr().err
    assert main(['registry', 'list']) == 0
    assert 'current' not in capsys.readouterr().out


def test_a_signature_of_a_wrong_size_is_not_published(path, policy, capsys):
    main(['token', 'new', '--tenant', 'lab'])
    policy.with_name('policy.onnx.sig').write_bytes(b'short')
    capsys.readouterr()
    assert main(['registry', 'publish', str(policy)]) == 2
    assert 'expected an Ed25519 signature of 64 bytes, found 5' in capsys.readouterr().err


def test_with_several_tenants_one_is_named(path, capsys):
    assert main(['token', 'new', '--tenant', 'lab']) == 0
    assert main(['token', 'new', '--tenant', 'field']) == 0
    capsys.readouterr()
    assert main(['registry', 'list']) == 2
    assert '--tenant: expected one of field, lab, found none' in capsys.readouterr().err
    assert main(['registry', 'list', '--tenant', 'fleld']) == 2
    assert main(['registry', 'list', '--tenant', 'field']) == 0


def test_what_is_no_database_is_left_as_it_is(tmp_path):
    path = tmp_path / 'server.db'
    path.write_bytes(b'somebody wrote here')
    with pytest.raises(ServerError, match='expected a database, found something else'):
        ServerDatabase(path)
    assert path.read_bytes() == b'somebody wrote here'
    assert list(tmp_path.iterdir()) == [path]


def test_a_locked_file_is_said_in_one_line(path, capsys):
    main(['token', 'new', '--tenant', 'lab'])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute('BEGIN IMMEDIATE')
    capsys.readouterr()
    assert main(['token', 'new', '--tenant', 'lab']) == 2
    assert 'database is locked' in capsys.readouterr().err
    other.close()


def test_a_transaction_that_fails_leaves_nothing(tmp_path):
    def insert_twice(database):
        with database.writing() as writer:
            writer.conn.execute('INSERT INTO heartbeat VALUES (1, 1)')
            writer.conn.execute('INSERT INTO heartbeat VALUES (1, 1)')

    with ServerDatabase(tmp_path / 'server.db') as database:
        with pytest.raises(sqlite3.IntegrityError):
            insert_twice(database)
        with database.reading() as reader:
            assert reader.conn.execute('SELECT COUNT(*) FROM heartbeat').fetchone() == (0,)


def test_a_reader_cannot_write(tmp_path):
    with (
        ServerDatabase(tmp_path / 'server.db') as database,
        database.reading() as reader,
        pytest.raises(sqlite3.OperationalError, match='readonly'),
    ):
        reader.conn.execute('INSERT INTO heartbeat VALUES (1, 1)')


def test_a_database_of_a_newer_version_is_left_as_it_is(tmp_path):
    path = tmp_path / 'server.db'
    ServerDatabase(path).close()
    with sqlite3.connect(path) as newer:
        newer.execute(
            'INSERT INTO _sqlite_migrations (migration_set, name, applied_at) '
            "VALUES ('server', '_099_later', '')"
        )
    newer.close()
    with pytest.raises(ServerError, match='found one of a newer'):
        ServerDatabase(path)


def test_one_thread_at_a_time_writes(tmp_path):
    with ServerDatabase(tmp_path / 'server.db', busy_s=10.0) as database:
        with database.writing() as writer:
            writer.conn.execute('INSERT INTO heartbeat VALUES (1, 0)')

        def count():
            for _ in range(50):
                with database.writing() as writer:
                    (at,) = writer.conn.execute('SELECT at_ns FROM heartbeat').fetchone()
                    writer.conn.execute('UPDATE heartbeat SET at_ns = ?', (at + 1,))

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with database.reading() as reader:
            assert reader.conn.execute('SELECT at_ns FROM heartbeat').fetchone() == (200,)


def test_two_processes_may_begin_a_file_at_once(tmp_path):
    path = tmp_path / 'server.db'
    failed = []

    def begin():
        try:
            ServerDatabase(path, busy_s=10.0).close()
        except ServerError as error:
            failed.append(error)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
