# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Tokens: who is let in, as what, how often; and whether the server is well."""

from __future__ import annotations

import sqlite3

import pytest

from thinking_policy.server.errors import ServerError
from thinking_policy.server.tokens import Role, find_token, list_tokens, new_token, revoke_token


def test_only_the_hash_of_a_token_is_kept(server):
    secret = server.token()
    with server.database.writing() as writer:  # carried over from the log into the file
        writer.conn.execute('SELECT 1')
    held = b''.join(path.read_bytes() for path in server.database.path.parent.iterdir())
    assert secret.split('_', 2)[2].encode() not in held
    assert secret.split('_')[1].encode() in held  # its id, which lists show


@pytest.mark.parametrize(
    'headers',
    [
        {},
        {'Authorization': 'Bearer'},
        {'Authorization': 'Bearer nonsense'},
        {'Authorization': 'Bearer \xfc\xff'},
        {'Authorization': 'Basic YTpi'},
        {'Authorization': 'Bearer tp_00000000_'},
    ],
)
def test_without_a_good_token_nothing_is_open(server, headers):
    raw = {name: value.encode('latin-1') for name, value in headers.items()}
    client = server.client()
    for method, path in (
        ('POST', '/v1/experiences'),
        ('GET', '/v1/experiences'),
        ('GET', '/v1/experiences/0197a3f0-5b8c-7d3e-9f10-2b6f0c1d2e3f'),
        ('GET', '/v1/policy'),
        ('POST', '/v1/robots/status'),
    ):
        answer = client.request(method, path, headers=raw)
        assert answer.status_code == 401, (method, path)
        assert answer.json()['error'] == 'token'
        assert answer.headers['WWW-Authenticate'].startswith('Bearer')


def test_a_revoked_token_opens_nothing_from_then_on(server, send, body, experience):
    secret = server.token()
    robot = server.client(secret)
    assert send(robot, body(experience())).status_code == 200
    server.revoke(secret)
    answer = send(robot, body(experience(1)))
    assert answer.status_code == 401
    assert answer.json() == {
        'error': 'token',
        'message': 'the token is unknown or was revoked',
    }
    assert len(server.lines('lab')) == 1


def test_a_refusal_reaches_who_is_still_sending(server, send):
    answer = send(server.client('nonsense'), bytes(12 << 20))
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ('role', 'expected'),
    [
        ('robot', (200, 404, 204, 403)),
        ('reader', (403, 403, 403, 200)),
        ('admin', (200, 404, 204, 200)),
    ],
)
def test_a_role_opens_what_it_is_for(server, send, body, experience, role, expected):
    client = server.client(server.token(role=role))
    status = {'robot': 'r1', 'policy_version': 'v', 'state': 'running'}
    found = (
        send(client, body(experience())).status_code,
        client.get('/v1/policy').status_code,
        client.post('/v1/robots/status', json=status).status_code,
        client.get('/v1/experiences').status_code,
    )
    assert found == expected


def test_who_asks_too_often_is_told_when_to_come_again(start):
    server = start(rate_per_s=0.5, burst=3)
    eager, other = server.client(server.token()), server.client(server.token())
    assert [eager.get('/v1/policy').status_code for _ in range(4)] == [404, 404, 404, 429]
    assert other.get('/v1/policy').status_code == 404
    wait_s = int(eager.get('/v1/policy').headers['Retry-After'])
    assert wait_s == 2
    server.seconds += wait_s
    assert eager.get('/v1/policy').status_code == 404


def test_health_is_whether_the_database_takes_data(server):
    client = server.client()
    assert client.get('/healthz').json()['status'] == 'ok'
    other = sqlite3.connect(server.database.path, isolation_level=None)
    other.execute('BEGIN IMMEDIATE')
    server.seconds += 1
    answer = client.get('/healthz')
    assert answer.status_code == 503
    assert str(server.database.path) not in answer.text
    other.execute('ROLLBACK')
    other.close()
    assert client.get('/healthz').status_code == 503  # of the last attempt
    server.seconds += 1
    assert client.get('/healthz').status_code == 200


def test_names_of_tenants_and_bindings_are_checked(server):
    with server.database.writing() as database:
        for tenant in ('', ' ', 'a b', '../x', 'x' * 65):
            with pytest.raises(ServerError, match='tenant'):
                new_token(database, tenant, None, Role.ROBOT, 1)
        with pytest.raises(ServerError, match='only a token of role robot'):
            new_token(database, 'lab', 'r1', Role.READER, 1)


def test_a_token_is_revoked_by_its_id_once(server):
    with server.database.writing() as database:
        token, secret = new_token(database, 'lab', None, Role.ROBOT, 1)
        assert find_token(database, secret) == token
        assert revoke_token(database, token.id, 2).revoked_ns == 2
        assert revoke_token(database, secret, 3).revoked_ns == 2
        assert find_token(database, secret) is None
        assert [(t.id, t.revoked_ns) for t in list_tokens(database)] == [(token.id, 2)]
        with pytest.raises(ServerError, match='no such token'):
            revoke_token(database, 'ffffffff', 2)


@pytest.mark.parametrize('authorised', [True, False])
def test_a_body_that_ought_to_be_small_is_not_received_beyond_that(server, authorised):
    client = server.client(server.token() if authorised else None)
    for body in (b'[' * 1_000_000, iter([b'{"robot": "' + b'x' * 100_000 + b'"}'])):
        answer = client.post('/v1/robots/status', content=body)
        assert (answer.status_code, answer.json()['error']) == (413, 'too_large')
        assert answer.headers['X-Limit-Bytes'] == '65536'
