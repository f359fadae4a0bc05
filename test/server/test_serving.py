# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The server as a process: how it starts, refuses to start, stops, and is killed."""

from __future__ import annotations

import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from thinking_policy.experience.record import to_line
from thinking_policy.server.database import ServerDatabase
from thinking_policy.server.serving import GRACE_S, listen
from thinking_policy.server.tenancy import TenantData
from thinking_policy.server.tokens import Role, new_token

COMMAND = (
    sys.executable,
    '-c',
    'import sys; from thinking_policy.cli import main; sys.exit(main())',
)
STARTS_S = 30.0

# Ends itself as a power cut would, within or behind the n-th transaction.
KILLED = """
import contextlib, os, signal, sys
from thinking_policy.server.database import ServerDatabase

when, last = sys.argv[1], int(sys.argv[2])
plain, count = ServerDatabase.writing, 0

@contextlib.contextmanager
def writing(database):
    global count
    count += 1
    with plain(database) as lent:
        yield lent
        if (when, last) == ('within', count):
            os.kill(os.getpid(), signal.SIGKILL)
    if (when, last) == ('behind', count):
        os.kill(os.getpid(), signal.SIGKILL)

ServerDatabase.writing = writing
from thinking_policy.cli import main
sys.exit(main(sys.argv[3:]))
"""


class Process:
    """A server started from the command line."""

    def __init__(self, *words: str, command: tuple[str, ...] = COMMAND) -> None:
        self._process = subprocess.Popen(
            [*command, 'serve', '--port', '0', *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.first = self._line()
        self.url = self.first.partition(': ')[0]

    def _line(self) -> str:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], STARTS_S)
        line = self._process.stdout.readline() if ready else ''
        if not line.startswith('http://'):
            self._process.kill()
            pytest.fail(f'it did not start: {line}{self._process.communicate()[1]}')
        return line

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self, within_s: float = 10.0) -> tuple[int, str]:
        """Wait for it; return its exit code and what it said on stderr."""
        try:
            _, said = self._process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        return self._process.returncode, said

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / 'server.db'


@pytest.fixture
def secret(path: Path) -> str:
    with ServerDatabase(path) as database, database.writing() as writer:
        return new_token(writer, 'lab', None, Role.ROBOT, 1)[1]


@pytest.fixture
def run(path: Path) -> Iterator[Callable[..., Process]]:
    running = []

    def begin(*words: str, **options: Any) -> Process:
        process = Process('--db', str(path), *words, **options)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.stop()


def run_to_end(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(('number', 'code'), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_without_a_traceback(run, number, code):
    process = run()
    with httpx.Client(base_url=process.url) as client:  # a connection that stays open
        assert client.get('/healthz').status_code == 200
        process.signal(number)
        began = time.monotonic()
        assert process.end() == (code, '')
        assert time.monotonic() - began < GRACE_S


def test_a_request_under_way_is_answered_before_the_end(run, secret):
    process = run()
    sending, answers = threading.Event(), []

    def slowly():
        yield b'{'
        sending.set()
        time.sleep(3 * GRACE_S)  # longer than the server waits
        yield b'}'

    def upload():
        headers = {'Authorization': f'Bearer {secret}', 'Content-Type': 'application/x-ndjson'}
        with httpx.Client(base_url=process.url, timeout=30) as client:
            answers.append(client.post('/v1/experiences', content=slowly(), headers=headers))

    robot = threading.Thread(target=upload)
    robot.start()
    assert sending.wait(10)
    time.sleep(0.2)  # on its way
    began = time.monotonic()
    process.signal(signal.SIGTERM)
    code, said = process.end()
    assert time.monotonic() - began < 5.0
    assert code == 143
    assert 'Traceback' not in said
    robot.join()
    assert answers[0].status_code == 503
    assert int(answers[0].headers['Retry-After']) > 0


def test_a_port_in_use_is_said_in_one_line(path):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run_to_end('serve', '--db', str(path), '--port', port)
    assert done.returncode == 2
    assert done.stderr.count('\n') == 1
    assert f'127.0.0.1:{port}: cannot listen: Address already in use' in done.stderr


def test_without_a_token_only_this_machine_may_come_in(path):
    done = run_to_end('serve', '--db', str(path), '--host', '0.0.0.0', '--port', '0')
    assert done.returncode == 2
    assert 'thinking-policy token new --tenant NAME' in done.stderr


def test_with_a_token_others_may_come_in(run, secret):
    assert run('--host', '0.0.0.0').url.startswith('http://0.0.0.0:')


@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost', '127.8.9.1'])
def test_a_loopback_address_needs_no_token(host):
    with listen(host, 0, open_to_all=False) as listening:
        assert listening.getsockname()[0].startswith('127.')


@pytest.mark.slow
def test_killed_between_commit_and_answer_a_batch_counts_once(run, path, secret, experience):
    """Ten real kills, within and behind the commit in turns; each batch is then sent again."""
    batches = [
        b''.join(to_line(experience(20 * number + k)) + b'\n' for k in range(20))
        for number in range(11)
    ]
    headers = {'Authorization': f'Bearer {secret}', 'Content-Type': 'application/x-ndjson'}

    def upload(url: str, content: bytes) -> dict[str, Any]:
        answer = httpx.post(f'{url}/v1/experiences', content=content, headers=headers, timeout=30)
        assert answer.status_code == 200
        return answer.json()

    known = 0
    for number in range(10):
        when = ('behind', 'within')[number % 2]
        command = (sys.executable, '-c', KILLED, when, '1' if number == 0 else '2')
        process = run(command=command)
        if number:  # what the one before was killed over
            found = upload(process.url, batches[number - 1])
            assert found['accepted'] + found['known'] == 20
            known += found['known']
        with pytest.raises(httpx.TransportError):
            upload(process.url, batches[number])
        assert process.end()[0] == -signal.SIGKILL
    process = run()
    assert upload(process.url, batches[9])['accepted'] == 20  # killed within: nothing by halves
    assert upload(process.url, batches[10])['accepted'] == 20
    process.signal(signal.SIGTERM)
    process.end()
    assert known == 5 * 20
    with ServerDatabase(path) as database, database.reading() as reader:
        stored = [line.body + b'\n' for line in TenantData(reader, 'lab').experiences.all_lines()]
    assert b''.join(stored) == b''.join(batches)


def test_killed_while_it_writes_the_file_stays_whole(run, path, secret, experience):
    process = run()
    headers = {'Authorization': f'Bearer {secret}', 'Content-Type': 'application/x-ndjson'}
    acknowledged = 0
    timer = threading.Timer(0.7, process.signal, (signal.SIGKILL,))
    timer.start()
    with httpx.Client(base_url=process.url, headers=headers) as client:
        for number in range(100_000):
            line = to_line(experience(number)) + b'\n'
            try:
                answer = client.post('/v1/experiences', content=line)
            except httpx.TransportError:
                break
            acknowledged += answer.json()['accepted']
    timer.join()
    process.end()
    with sqlite3.connect(path) as database:
        assert database.execute('PRAGMA integrity_check').fetchone() == ('ok',)
        stored = database.execute('SELECT COUNT(*) FROM record').fetchone()[0]
    assert acknowledged > 0
    assert stored - acknowledged in (0, 1)  # the one that was not answered may be there
