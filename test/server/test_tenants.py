# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Two tenants: nothing of one is ever seen by the other, not even that it is there."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import pytest

from thinking_policy import server as room
from thinking_policy.experience.record import to_line

CANARY = 'canary-7d1f'


@pytest.fixture
def theirs(server, send, body, experience, amendment):
    """Fill one tenant with what the other must not see; return its records."""
    records = [
        experience(0, robot=CANARY, policy_version=CANARY),
        amendment(0, 3, robot=CANARY, text=CANARY),
    ]
    robot = server.client(server.token(CANARY, robot=CANARY))
    assert send(robot, body(*records)).json()['accepted'] == 2
    server.publish(CANARY, CANARY, CANARY.encode(), CANARY.encode().ljust(64))
    status = {'robot': CANARY, 'policy_version': CANARY, 'state': 'refused', 'reason': CANARY}
    assert robot.post('/v1/robots/status', json=status).status_code == 204
    return records


def traces(answer) -> list[str]:
    """Return where a canary is found in an answer."""
    secret = [CANARY, hashlib.sha256(CANARY.encode()).hexdigest()]
    parts = {'body': answer.text, **dict(answer.headers)}
    return [name for name, text in parts.items() if any(word in text for word in secret)]


def everything(client, id):
    """Ask for all that can be asked for."""
    yield client.get('/v1/experiences')
    yield client.get('/v1/experiences', params={'after': id})
    yield client.get('/v1/experiences', params={'after': f'{id}.0'})
    yield client.get('/v1/experiences', params={'limit': 10_000})
    yield client.get(f'/v1/experiences/{id}')
    yield client.get('/v1/policy')
    yield client.get('/v1/policy', headers={'If-None-Match': '*'})
    for path in ('/healthz', '/metrics', '/docs', '/openapi.json', '/nothing', '/v1/robots'):
        yield client.get(path)


def test_the_canary_is_found_where_it_may_be(server, theirs):
    admin = server.client(server.token(CANARY, role='admin'))
    assert sum(bool(traces(answer)) for answer in everything(admin, theirs[0].id)) == 6


@pytest.mark.parametrize('role', ['robot', 'reader', 'admin', None])
def test_no_answer_holds_anything_of_another_tenant(server, theirs, role):
    client = server.client(None if role is None else server.token('other', role=role))
    for answer in everything(client, theirs[0].id):
        assert traces(answer) == [], answer.url


def test_another_tenants_id_looks_like_one_that_is_not_there(server, theirs, experience):
    admin = server.client(server.token('other', role='admin'))
    there = admin.get(f'/v1/experiences/{theirs[0].id}')
    nowhere = admin.get(f'/v1/experiences/{experience(99).id}')
    assert (there.status_code, there.content) == (nowhere.status_code, nowhere.content)
    assert there.status_code == 404


def test_another_tenants_robot_and_etag_look_like_none(server, theirs):
    admin = server.client(server.token('other', role='admin'))
    for name in (CANARY, 'nobody'):
        answer = admin.get('/v1/experiences', params={'robot': name})
        assert (answer.status_code, answer.content) == (200, b'')
        answer = admin.get('/v1/policy', headers={'If-None-Match': f'"{name}"'})
        assert answer.status_code == 404
    server.publish('other', 'mine', b'mine', None)
    answer = admin.get('/v1/policy', headers={'If-None-Match': f'"{CANARY}"'})
    assert (answer.status_code, answer.content) == (200, b'mine')


def test_the_same_id_in_two_tenants_is_two_records(server, theirs, send, body, experience):
    robot = server.client(server.token('other'))
    mine = experience(0, robot='mine')
    assert mine.id == theirs[0].id
    for expected in ({'accepted': 1, 'known': 0}, {'accepted': 0, 'known': 1}):
        found = send(robot, body(mine)).json()
        assert found == {**expected, 'rejected': []}  # neither known nor a conflict by theirs
    reader = server.client(server.token('other', role='reader'))
    assert reader.get(f'/v1/experiences/{mine.id}').content == body(mine)
    assert server.lines(CANARY) == [to_line(record) for record in theirs]


def test_error_texts_of_a_tenant_hold_nothing_of_another(server, theirs, send, body, amendment):
    robot = server.client(server.token('other', robot='r1'))
    other = amendment(0, 3)
    answers = [
        send(robot, body(other, amendment(0, 3, text='differs'), b'{"id": 1}')),
        send(robot, body(other), Idempotency_Key='0'),
        robot.post('/v1/robots/status', json={'robot': 'r9'}),
        robot.post(
            '/v1/robots/status', json={'robot': 'r9', 'policy_version': '', 'state': 'running'}
        ),
    ]
    assert [answer.status_code for answer in answers] == [200, 400, 422, 403]
    for answer in answers:
        assert traces(answer) == []


def test_a_robots_report_stays_in_its_tenant(server, theirs):
    from thinking_policy.server.tenancy import TenantData

    with server.database.reading() as database:
        assert TenantData(database, 'other').robots.all() == []
        assert [r.robot for r in TenantData(database, CANARY).robots.all()] == [CANARY]


def test_only_the_modules_behind_the_boundary_speak_sql():
    """An endpoint that asks the database itself could forget the tenant."""
    folder = Path(room.__file__).parent
    words = ('SELECT ', 'INSERT ', 'UPDATE ', 'DELETE ')
    speaking = {
        path.name
        for path in folder.glob('*.py')
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith(words)
    }
    assert speaking == {'database.py', 'health.py', 'registry.py', 'robots.py', 'tokens.py'}
