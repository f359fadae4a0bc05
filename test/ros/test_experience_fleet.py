# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The experience node with a server: experiences go there, policies come from there."""

from __future__ import annotations

import itertools
import select
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from policy_files import write_policy

pytest.importorskip('fastapi')
pytest.importorskip('uvicorn')

OK, WARN, ERROR = 0, 1, 2
COMMAND = (
    sys.executable,
    '-c',
    'import sys; from thinking_policy.cli import main; sys.exit(main())',
)
STARTS_S = 30.0


class Fleet:
    """A server as a process on loopback, and its commands."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / 'server.db'
        self.url = ''
        self._port = '0'
        self._process: subprocess.Popen | None = None

    def command(self, *words: str) -> str:
        return subprocess.run(
            [*COMMAND, *words, '--db', str(self.database)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def start(self) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, 'serve', '--port', self._port, '--db', str(self.database)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        ready, _, _ = select.select([self._process.stdout], [], [], STARTS_S)
        line = self._process.stdout.readline() if ready else ''
        assert line.startswith('http://'), line
        self.url = line.partition(': ')[0].strip()
        self._port = self.url.rpartition(':')[2].strip('/')

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process.stdout.close()
            self._process = None

    def received(self) -> list[tuple[str, int]]:
        connection = sqlite3.connect(f'file:{self.database}?mode=ro', uri=True, timeout=5.0)
        try:
            return connection.execute('SELECT id, revision FROM record').fetchall()
        finally:
            connection.close()


@pytest.fixture
def fleet(tmp_path):
    result = Fleet(tmp_path)
    yield result
    result.stop()


@pytest.fixture
def token_file(fleet, tmp_path):
    path = tmp_path / 'token'
    path.write_text(fleet.command('token', 'new', '--tenant', 'lab', '--robot', 'unit-1'))
    return path


def server(fleet, token_file, **settings):
    return {
        'url': fleet.url,
        'token_file': str(token_file),
        'upload_period_s': 0.1,
        'fetch_period_s': 0.1,
        'upload_longest_pause_s': 1.0,
        **settings,
    }


def test_experiences_arrive_once_even_if_the_server_was_away(start_experience, fleet, token_file):
    fleet.start()
    fleet.stop()
    robot = start_experience(robot_id='unit-1', server=server(fleet, token_file))
    for number in range(10):
        robot.tick(active=('hazard',) if number % 2 else ('trend',))
    robot.wait_for_records(10)
    robot.wait_for_level('uplink', WARN, fleet.url)
    fleet.start()
    robot.wait_for(lambda: len(fleet.received()) == 10, 'ten records at the server', 30.0)
    robot.give_feedback(robot.next_ns, kind=1, code='late')
    robot.wait_for(lambda: len(fleet.received()) == 11, 'the amendment at the server', 30.0)
    assert sorted(fleet.received()) == sorted((i, r) for i, r, _ in robot.lines())
    robot.wait_for_level('uplink', OK)
    robot.wait_for_count('sent', 11, 'uplink')
    robot.end()


def test_a_token_of_another_robot_is_said_and_nothing_is_quarantined(
    start_experience, fleet, token_file
):
    fleet.start()
    robot = start_experience(robot_id='unit-2', server=server(fleet, token_file))
    robot.tick(active=('hazard',))
    robot.wait_for_level('uplink', ERROR)
    assert robot.values('uplink')['quarantined'] == '0'
    robot.end()


def test_a_bad_url_and_a_missing_token_are_refused_or_said(
    start_experience, start_node, tmp_path, fleet, token_file
):
    process = start_node('experience_node', ['-p', 'server.url:=fleet.example.org'], tmp_path)
    assert process.wait(30.0) == 2
    assert 'server.url: expected http(s)://' in process.output
    fleet.start()
    robot = start_experience(server=server(fleet, tmp_path / 'no-token'))
    robot.tick(active=('hazard',))
    robot.wait_for_records(1)
    robot.wait_for_level('uplink', ERROR, 'no-token')
    robot.end()


def test_it_ends_in_time_though_the_server_hangs(start_experience, token_file):
    import socket

    with socket.socket() as listener:  # takes connections and never answers
        listener.bind(('127.0.0.1', 0))
        listener.listen()
        robot = start_experience(
            server={
                'url': f'http://127.0.0.1:{listener.getsockname()[1]}',
                'token_file': str(token_file),
                'upload_period_s': 0.1,
                'fetch_policies': True,
            }
        )
        robot.tick(active=('hazard',))
        robot.wait_for_records(1)
        robot.wait_for(lambda: robot.values('uplink').get('state') == 'sending', 'a request')
        robot.end()
    assert len(robot.records()) == 1


@pytest.fixture
def robot_and_policy(start_experience, start_robot, fleet, token_file):
    """Return an experience node that fetches, and the policy node beside it."""
    fleet.start()
    policy = start_robot()
    robot = start_experience(
        name=policy.namespace,
        active=False,
        robot_id='unit-1',
        server=server(fleet, token_file, fetch_policies=True, upload=False),
    )
    robot.wait_for(lambda: robot.values('downlink').get('state') == 'waiting', 'an answer')
    return robot, policy


def published(fleet, path, **changes):
    write_policy(path, **{'signals': ('temperature',), 'length': 3, **changes})
    fleet.command('registry', 'publish', str(path), '--tenant', 'lab')


def ticks_without_gap(messages):
    return all(after.tick == before.tick + 1 for before, after in itertools.pairwise(messages))


def test_a_published_policy_runs_and_the_server_hears_of_it(robot_and_policy, fleet, tmp_path):
    robot, policy = robot_and_policy
    before = policy.next_activations()[0].policy_version
    published(fleet, tmp_path / 'new.onnx', bias=0.5)
    policy.wait_for(lambda: policy.activations[-1].policy_version != before, 'the new policy', 30)
    version = policy.activations[-1].policy_version
    robot.wait_for(lambda: robot.values('downlink')['version'] == version, 'its version')
    assert version in policy.parameter('policy_path')
    assert ticks_without_gap(policy.activations)
    robot.wait_for(
        lambda: f'{version} (current)' in fleet.command('registry', 'robots', '--tenant', 'lab'),
        'the report',
    )
    fleet.command('registry', 'publish', str(tmp_path / 'new.onnx'), '--tenant', 'lab')
    robot.end()


def test_a_policy_that_the_robot_refuses_leaves_the_old_one_and_its_path(
    robot_and_policy, fleet, tmp_path
):
    robot, policy = robot_and_policy
    before = policy.next_activations()[0].policy_version
    path = policy.parameter('policy_path')
    published(fleet, tmp_path / 'other.onnx', signals=('another_signal',))
    message = robot.wait_for_level('downlink', WARN, 'is refused')
    assert 'another_signal' in message
    assert policy.parameter('policy_path') == path
    policy.next_activations(2)
    assert {a.policy_version for a in policy.activations} == {before}
    robot.wait_for(
        lambda: 'refused' in fleet.command('registry', 'robots', '--tenant', 'lab'), 'the report'
    )
    robot.end()


def test_the_fetched_policy_runs_again_after_a_restart_of_both(
    start_experience, start_robot, fleet, token_file, tmp_path
):
    fleet.start()
    folder = tmp_path / 'policies'
    settings = server(
        fleet, token_file, fetch_policies=True, upload=False, policy_folder=str(folder)
    )
    published(fleet, tmp_path / 'new.onnx', bias=0.25)
    versions = []
    for number in range(2):
        policy = start_robot(name=f'/restarted{number}')
        robot = start_experience(
            name=policy.namespace, active=False, robot_id='unit-1', server=settings
        )
        own = policy.next_activations()[0].policy_version
        policy.wait_for(lambda p=policy, o=own: p.activations[-1].policy_version != o, 'it', 30)
        versions.append(policy.activations[-1].policy_version)
        robot.end()
        policy.process.end()
        fleet.stop()  # the second time there is no server
    assert versions[0] == versions[1]
    assert (folder / versions[0] / 'policy.onnx').exists()
