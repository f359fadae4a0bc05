# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Reading experiences: pages, one experience, one robot."""

from __future__ import annotations

import pytest


@pytest.fixture
def reader(server):
    return server.client(server.token(role='reader'))


def test_pages_together_are_everything_once(server, reader, send, body, experience, amendment):
    records = []
    for number in range(7):
        records += [experience(number), amendment(number, 4), amendment(number, 2**63 - 1)]
    send(server.client(server.token()), body(*records))
    pages, after = [], ''
    while True:
        answer = reader.get('/v1/experiences', params={'limit': 4, 'after': after})
        pages.append(answer.content)
        after = answer.headers.get('X-Next-After', '')
        if not after:
            break
    assert [page.count(b'\n') for page in pages] == [4, 4, 4, 4, 4, 1]
    assert b''.join(pages) == body(*records)
    assert reader.get('/v1/experiences', params={'after': experience(5).id}).content == body(
        *records[-3:]
    )


def test_one_experience_comes_with_its_amendments(
    server, reader, send, body, experience, amendment
):
    records = [experience(1), amendment(1, 5), amendment(1, 9)]
    send(server.client(server.token()), body(records[2], records[0], records[1], experience(2)))
    answer = reader.get(f'/v1/experiences/{experience(1).id}')
    assert answer.headers['Content-Type'].startswith('application/x-ndjson')
    assert answer.content == body(*records)


def test_records_of_one_robot(server, reader, send, body, experience):
    send(server.client(server.token()), body(experience(0), experience(1, robot='r 2/ü')))
    answer = reader.get('/v1/experiences', params={'robot': 'r 2/ü'})
    assert answer.content == body(experience(1, robot='r 2/ü'))


@pytest.mark.parametrize(
    'query',
    [
        {'limit': 0},
        {'limit': 10**30},
        {'limit': 'many'},
        {'after': 'x'},
        {'after': '0197a3f0-5b8c-7d3e-9f10-2b6f0c1d2e3f.'},
        {'robot': 'x' * 300},
    ],
)
def test_a_question_that_makes_no_sense_is_refused(reader, query):
    answer = reader.get('/v1/experiences', params=query)
    assert (answer.status_code, answer.json()['error']) == (422, 'invalid')
    assert next(iter(query)) in answer.json()['message']


def test_the_largest_revision_there_can_be_is_no_fault(reader):
    after = f'0197a3f0-5b8c-7d3e-9f10-2b6f0c1d2e3f.{10**19 - 1}'
    assert reader.get('/v1/experiences', params={'after': after}).status_code == 200


def test_an_experience_with_very_many_amendments_comes_in_pages(
    server, reader, send, body, experience, amendment, monkeypatch
):
    monkeypatch.setattr('thinking_policy.server.experiences.PAGE_BYTES', 3000)
    records = [experience(1), *[amendment(1, revision) for revision in range(1, 21)]]
    send(server.client(server.token()), body(*records, experience(2)))
    answer = reader.get(f'/v1/experiences/{experience(1).id}')
    after = answer.headers['X-Next-After']
    assert len(answer.content) <= 3000
    found = answer.content
    while after:
        answer = reader.get('/v1/experiences', params={'after': after})
        found += answer.content
        after = answer.headers.get('X-Next-After', '')
    assert found == body(*records, experience(2))
