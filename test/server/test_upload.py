# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Uploads: what is stored, what is refused, and that nothing is stored by halves."""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from thinking_policy.experience.record import MAX_LINE, to_line
from thinking_policy.server.ingest import BodyLimits


@pytest.fixture
def robot(server):
    return server.client(server.token())


def test_records_are_stored_as_they_were_sent(server, robot, send, body, experience, amendment):
    records = [experience(0), experience(1), amendment(0, revision=5)]
    answer = send(robot, body(*records))
    assert answer.status_code == 200
    assert answer.json() == {'accepted': 3, 'known': 0, 'rejected': []}
    assert server.lines('lab') == [
        to_line(records[0]),
        to_line(records[2]),
        to_line(records[1]),
    ]


def test_the_same_request_again_changes_nothing(server, robot, send, body, experience):
    content = body(experience(0), experience(1))
    key = hashlib.sha256(content).hexdigest()
    first = send(robot, content, packed=True, Idempotency_Key=key)
    before = server.lines('lab')
    again = send(robot, content, packed=True, Idempotency_Key=key)
    assert first.json()['accepted'] == 2
    assert again.json() == {'accepted': 0, 'known': 2, 'rejected': []}
    assert server.lines('lab') == before


def test_the_same_request_twice_at_the_same_time_counts_once(server, send, body, experience):
    content = body(*(experience(number) for number in range(300)))
    clients = [server.client(server.token()) for _ in range(6)]
    with ThreadPoolExecutor(len(clients)) as robots:
        found = [a.json() for a in robots.map(lambda robot: send(robot, content), clients)]
    assert sorted(answer['accepted'] for answer in found) == [0, 0, 0, 0, 0, 300]
    assert all(answer['accepted'] + answer['known'] == 300 for answer in found)
    assert len(server.lines('lab')) == 300


def test_odd_characters_are_kept_or_refused_never_a_fault(server, robot, send, body, experience):
    half = to_line(experience(0)).replace(b'"r1"', b'"\\ud800"')
    nul = experience(1, robot='a\0b')
    found = send(robot, body(half, nul, experience(2, robot='\U0001f916'))).json()
    assert (found['accepted'], [r['line'] for r in found['rejected']]) == (2, [1])
    assert to_line(nul) in server.lines('lab')


def test_what_is_committed_is_there_for_another_process(server, robot, send, body, experience):
    send(robot, body(experience()))
    with sqlite3.connect(f'file:{server.database.path}?mode=ro', uri=True) as other:
        assert other.execute('SELECT COUNT(*) FROM record').fetchone() == (1,)
        other.execute('PRAGMA query_only=ON')
    with server.database.writing() as writer:
        assert writer.conn.execute('PRAGMA synchronous').fetchone() == (2,)  # FULL: fsynced


def test_a_changed_body_is_refused_by_its_digest(server, robot, send, body, experience):
    answer = send(robot, body(experience()), Idempotency_Key='0' * 64)
    assert (answer.status_code, answer.json()['error']) == (400, 'digest_mismatch')
    assert server.lines('lab') == []


def test_one_bad_line_does_not_hold_up_the_others(server, robot, send, body, experience):
    newer = json.loads(to_line(experience(2)))
    newer['schema_version'] = 2
    newer['kind'] = 'memory'
    broken = json.loads(to_line(experience(3)))
    broken['situation']['window'] = 'AAAA'
    answer = send(
        robot,
        body(
            experience(0),
            b'{"half": ',
            b'',
            json.dumps(newer).encode(),
            json.dumps(broken).encode(),
            b'\xff\xfe',
            b'[' * 5000,
            experience(1),
        ),
    )
    assert answer.status_code == 200
    found = answer.json()
    assert found['accepted'] == 2
    assert [(r['line'], r['code']) for r in found['rejected']] == [
        (2, 'invalid'),
        (3, 'invalid'),
        (4, 'schema'),
        (5, 'invalid'),
        (6, 'invalid'),
        (7, 'invalid'),
    ]
    by_line = {r['line']: r for r in found['rejected']}
    assert by_line[4]['id'] == experience(2).id
    assert by_line[4]['reason'] == 'expected schema_version 1, found 2'
    assert (by_line[5]['id'], by_line[5]['revision']) == (experience(3).id, 0)
    assert 'window' in by_line[5]['reason']
    assert len(server.lines('lab')) == 2


def test_a_record_never_changes(server, robot, send, body, experience, amendment):
    kept = [experience(0), amendment(0, 7, text='first')]
    send(robot, body(*kept))
    other = experience(0, policy_version='another')
    answer = send(robot, body(experience(1), other, amendment(0, 7, text='second')))
    found = answer.json()
    assert found['accepted'] == 1
    assert [(r['line'], r['code'], r['revision']) for r in found['rejected']] == [
        (2, 'conflict', 0),
        (3, 'conflict', 7),
    ]
    assert server.lines('lab')[:2] == [to_line(record) for record in kept]


def test_of_two_records_with_one_id_in_a_body_the_first_counts(
    server, robot, send, body, experience
):
    first, second = experience(0), experience(0, policy_version='another')
    found = send(robot, body(first, second, first)).json()
    assert (found['accepted'], found['known']) == (1, 1)
    assert [(r['line'], r['code']) for r in found['rejected']] == [(2, 'conflict')]
    assert server.lines('lab') == [to_line(first)]


def test_a_token_of_one_robot_takes_records_of_no_other(server, send, body, experience):
    bound = server.client(server.token(robot='r1'))
    found = send(bound, body(experience(0, robot='r2'), experience(1, robot='r1'))).json()
    assert found['accepted'] == 1
    (rejected,) = found['rejected']
    assert (rejected['line'], rejected['code']) == (1, 'robot')
    assert "'r1'" in rejected['reason']


def test_an_amendment_says_nothing_of_another_robots_experience(
    server, send, body, experience, amendment
):
    first, second = (server.client(server.token(robot=name)) for name in ('r1', 'r2'))
    assert send(first, body(experience(0, robot='r1'))).json()['accepted'] == 1
    lines = body(amendment(0, revision=5, robot='r2'), experience(1, robot='r2'))
    found = send(second, lines).json()
    assert found['accepted'] == 1
    (rejected,) = found['rejected']
    # No `robot`: to an uplink that would mean that its token is a wrong one.
    assert (rejected['line'], rejected['code']) == (1, 'invalid')
    assert rejected['reason'] == "robot: expected 'r1', whose experience it is, found 'r2'"
    assert send(first, body(amendment(0, revision=6, robot='r1'))).json()['accepted'] == 1


def test_a_line_beyond_the_limit_of_a_record_is_rejected_alone(
    server, robot, send, body, experience
):
    found = send(robot, body(b'"' + b'x' * MAX_LINE + b'"', experience()), packed=True).json()
    assert found['accepted'] == 1
    assert [(r['line'], r['code'], r['id']) for r in found['rejected']] == [(1, 'too_large', None)]


@pytest.mark.parametrize(
    ('content', 'error'),
    [
        (b'no gzip', 'gzip'),
        (b'', 'gzip'),
        (gzip.compress(b'x' * 1000)[:-9], 'gzip'),
        (gzip.compress(b'a\n') + gzip.compress(b'b\n'), 'gzip'),
        (gzip.compress(b'a\n')[:-8] + bytes(8), 'gzip'),  # another checksum
        (zlib.compress(b'a\n'), 'gzip'),
    ],
)
def test_a_broken_encoding_is_refused(robot, send, content, error):
    answer = send(robot, content, Content_Encoding='gzip')
    assert (answer.status_code, answer.json()['error']) == (400, error)


def test_another_encoding_or_type_is_refused(robot, send):
    assert send(robot, b'', Content_Encoding='br').status_code == 400
    answer = robot.post('/v1/experiences', json={})
    assert (answer.status_code, answer.json()['error']) == (415, 'content_type')


def test_a_bomb_is_never_unpacked(start, send):
    server = start(limits=BodyLimits(bytes=1 << 20))
    packer = zlib.compressobj(9, wbits=31)
    bomb = b''.join(packer.compress(bytes(1 << 20)) for _ in range(200)) + packer.flush()
    assert len(bomb) < 1 << 20  # 200 MiB in a fifth of a MiB
    before = _peak_kb()
    answer = send(server.client(server.token()), bomb, Content_Encoding='gzip')
    assert answer.status_code == 413
    assert answer.headers['X-Limit-Bytes'] == str(1 << 20)
    assert _peak_kb() - before < 50_000


@pytest.mark.parametrize('chunked', [False, True])
def test_a_body_beyond_the_limit_is_answered_not_cut_off(start, send, chunked):
    server = start(limits=BodyLimits(bytes=1 << 20))
    robot = server.client(server.token())
    content = (bytes(1 << 16) for _ in range(400)) if chunked else bytes(25 << 20)
    answer = send(robot, content)
    assert (answer.status_code, answer.json()['error']) == (413, 'too_large')
    assert answer.headers['X-Limit-Bytes'] == str(1 << 20)
    assert server.state.held == 0


def test_too_many_lines_are_refused_at_once(start, send):
    server = start(limits=BodyLimits(lines=10))
    assert send(server.client(server.token()), b'\n' * 10).status_code == 200
    answer = send(server.client(server.token()), b'\n' * 11)
    assert answer.status_code == 413
    assert '11 lines' in answer.json()['message']


def test_bodies_together_have_a_limit(start, send):
    server = start(held_bytes=1 << 20)
    answer = send(server.client(server.token()), bytes(2 << 20))
    assert (answer.status_code, answer.json()['error']) == (503, 'busy')
    assert int(answer.headers['Retry-After']) >= 1
    assert server.state.held == 0


def test_a_slow_body_does_not_stay_forever(start, send):
    server = start(body_s=0.2)
    arrived = threading.Event()

    def slowly():
        yield b'x'
        arrived.wait(1)  # longer than a body may take
        yield b'x'

    answer = send(server.client(server.token()), slowly())
    assert (answer.status_code, answer.json()['error']) == (408, 'slow')


def test_a_locked_database_says_when_to_come_again(server, robot, send, body, experience):
    other = sqlite3.connect(server.database.path, isolation_level=None)
    other.execute('BEGIN IMMEDIATE')
    answer = send(robot, body(experience()))
    assert (answer.status_code, answer.json()['error']) == (503, 'database')
    assert int(answer.headers['Retry-After']) >= 1
    other.execute('ROLLBACK')
    other.close()
    assert send(robot, body(experience())).json()['accepted'] == 1


def test_a_full_disk_stores_nothing_of_a_request(server, robot, send, body, experience):
    send(robot, body(experience(0)))
    with server.database.writing() as writer:
        pages = writer.conn.execute('PRAGMA page_count').fetchone()[0]
        writer.conn.execute(f'PRAGMA max_page_count={pages + 4}')  # SQLITE_FULL behind that
    many = [experience(number, policy_version='x' * 250) for number in range(1, 400)]
    answer = send(robot, body(*many))
    assert answer.status_code == 503
    assert 'full' in answer.json()['message']
    assert len(server.lines('lab')) == 1
    with server.database.writing() as writer:
        writer.conn.execute('PRAGMA max_page_count=1000000')
    assert send(robot, body(*many)).json()['accepted'] == len(many)


def test_readers_do_not_wait_for_a_writer(server, robot, send, body, experience):
    reader = server.client(server.token(role='reader'))
    send(robot, body(experience()))
    with server.database.writing():
        assert reader.get('/v1/experiences').status_code == 200


def test_counters_count_records_and_name_no_one(server, robot, send, body, experience):
    send(robot, body(experience(0, robot='secretive'), b'{}'), packed=True)
    send(robot, body(experience(0, robot='secretive')))
    text = server.client().get('/metrics').text
    assert 'thinking_policy_records_total{outcome="accepted"} 1.0' in text
    assert 'thinking_policy_records_total{outcome="known"} 1.0' in text
    assert 'thinking_policy_records_total{outcome="rejected_invalid"} 1.0' in text
    assert 'endpoint="/v1/experiences",method="POST",status="200"} 2.0' in text
    assert 'lab' not in text.replace('label', '')
    assert 'secretive' not in text


def _peak_kb() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
