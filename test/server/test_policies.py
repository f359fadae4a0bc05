# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Policies: what robots get, that versions never change, and the way back."""

from __future__ import annotations

import base64
import sqlite3

import pytest

from thinking_policy.server.errors import ServerError
from thinking_policy.server.registry import PolicyFile, PolicyRegistry

SIGNATURE = bytes(range(64))


@pytest.fixture
def robot(server):
    return server.client(server.token())


def test_a_robot_gets_the_current_policy_once(server, robot):
    assert robot.get('/v1/policy').json()['error'] == 'no_policy'
    server.publish('lab', 'v1', b'first', SIGNATURE)
    answer = robot.get('/v1/policy')
    assert (answer.status_code, answer.content) == (200, b'first')
    assert answer.headers['ETag'].startswith('"v1.')
    assert answer.headers['X-Policy-Version'] == 'v1'
    assert base64.b64decode(answer.headers['X-Policy-Signature']) == SIGNATURE
    assert answer.headers['Content-Type'] == 'application/octet-stream'
    again = robot.get('/v1/policy', headers={'If-None-Match': answer.headers['ETag']})
    assert (again.status_code, again.content) == (304, b'')
    assert again.headers['ETag'] == answer.headers['ETag']
    server.publish('lab', 'v2', b'second', None)
    newer = robot.get('/v1/policy', headers={'If-None-Match': answer.headers['ETag']})
    assert (newer.status_code, newer.content) == (200, b'second')
    assert 'X-Policy-Signature' not in newer.headers


@pytest.mark.parametrize(
    ('tags', 'status'),
    [('*', 304), ('W/"v1"', 304), ('"v0", "v1"', 304), ('"v"', 200), ('v1', 200), ('', 200)],
)
def test_any_form_of_if_none_match_is_understood(server, robot, tags, status):
    server.publish('lab', 'v1', b'first', None)
    assert robot.get('/v1/policy', headers={'If-None-Match': tags}).status_code == status


def test_a_rollback_leads_to_what_was_current_before(server, robot):
    for version in ('v1', 'v2', 'v3'):
        server.publish('lab', version, version.encode(), None)
    with server.database.writing() as database:
        registry = PolicyRegistry(database, 'lab')
        assert registry.rollback(None, 1).version == 'v2'
        assert registry.rollback(None, 1).version == 'v1'
        with pytest.raises(ServerError, match='nothing was published before it'):
            registry.rollback(None, 1)
    assert robot.get('/v1/policy').content == b'v1'
    server.publish('lab', 'v4', b'v4', None)
    with server.database.writing() as database:
        registry = PolicyRegistry(database, 'lab')
        assert registry.rollback(None, 1).version == 'v1'  # not v3, which was taken back
        assert registry.rollback('v3', 1).version == 'v3'
        assert registry.rollback(None, 1).version == 'v1'
        with pytest.raises(ServerError, match='v9: no such version'):
            registry.rollback('v9', 1)
        assert [release.version for release in registry.releases()] == [
            'v3',
            'v4',
            'v3',
            'v2',
            'v1',
        ]


def test_a_version_never_changes(server):
    server.publish('lab', 'v1', b'first', None)
    with pytest.raises(ServerError, match='v1: is published already, with another file'):
        server.publish('lab', 'v1', b'other', None)
    with (
        pytest.raises(sqlite3.IntegrityError, match='never changes'),
        server.database.writing() as database,
    ):
        database.conn.execute("UPDATE policy SET body = x'00'")


def test_a_policy_may_be_signed_later(server, robot):
    server.publish('lab', 'v1', b'first', None)
    etag = robot.get('/v1/policy').headers['ETag']
    server.publish('lab', 'v1', b'first', SIGNATURE)
    answer = robot.get('/v1/policy', headers={'If-None-Match': etag})
    assert answer.status_code == 200  # to who refused it as unsigned, it is something new
    assert 'X-Policy-Signature' in answer.headers
    with server.database.reading() as database:
        assert len(PolicyRegistry(database, 'lab').releases()) == 2


def test_publishing_the_same_twice_is_publishing_it_once(server):
    with server.database.writing() as database:
        registry = PolicyRegistry(database, 'lab')
        policy = PolicyFile('v1', '{}', b'first', None)
        assert registry.publish(policy, 1) == registry.publish(policy, 2)


def test_the_last_report_of_a_robot_counts(server, robot):
    from thinking_policy.server.tenancy import TenantData

    report = {'robot': 'r1', 'policy_version': 'v1', 'state': 'running'}
    assert robot.post('/v1/robots/status', json=report).status_code == 204
    report = {**report, 'policy_version': 'v2', 'state': 'refused', 'reason': 'not signed'}
    assert robot.post('/v1/robots/status', json=report).status_code == 204
    with server.database.reading() as database:
        (found,) = TenantData(database, 'lab').robots.all()
    assert (found.policy_version, found.state, found.reason) == ('v2', 'refused', 'not signed')


@pytest.mark.parametrize(
    'report',
    [
        {'robot': '', 'policy_version': 'v', 'state': 'running'},
        {'robot': 'r1', 'policy_version': 'v', 'state': 'asleep'},
        {'robot': 'r1', 'policy_version': 'v' * 300, 'state': 'running'},
        {'robot': 'r1', 'policy_version': 'v', 'state': 'running', 'more': 1},
        [],
    ],
)
def test_a_report_that_makes_no_sense_is_refused(robot, report):
    answer = robot.post('/v1/robots/status', json=report)
    assert (answer.status_code, answer.json()['error']) == (422, 'invalid')
