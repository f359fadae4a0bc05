# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The API page against the server: it keeps what it promises, and nothing makes it fail."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from thinking_policy.experience.record import to_line

schemathesis = pytest.importorskip('schemathesis')

LINES = 'application/x-ndjson'
CHECKS = (
    'not_a_server_error',
    'status_code_conformance',
    'content_type_conformance',
    'response_headers_conformance',
    'response_schema_conformance',
)
OPERATIONS = (
    'POST /v1/experiences',
    'GET /v1/experiences',
    'GET /v1/experiences/{id}',
    'GET /v1/policy',
    'POST /v1/robots/status',
    'GET /healthz',
    'GET /metrics',
)
WITHOUT_PARAMETERS = ('GET /healthz', 'GET /metrics')
BOUNDED = settings(
    max_examples=40,
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@schemathesis.serializer(LINES)
def as_lines(_, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def operations(server):
    page = schemathesis.openapi.from_url(f'{server.url}/openapi.json')
    return {found.ok().label: found.ok() for found in page.get_all_operations()}


def test_the_page_lists_every_endpoint(server):
    assert sorted(operations(server)) == sorted(OPERATIONS)


@pytest.mark.parametrize('role', ['admin', None])
@pytest.mark.parametrize('mode', list(schemathesis.GenerationMode))
def test_no_request_makes_the_server_fail(server, send, body, experience, role, mode):
    server.publish('lab', 'v1', b'policy', None)
    secret = server.token(role='admin')
    send(server.client(secret), body(experience()))
    headers = {} if role is None else {'Authorization': f'Bearer {secret}'}
    checks = schemathesis.checks.CHECKS.get_by_names(list(CHECKS))
    statuses = set()
    for label, operation in operations(server).items():
        if mode is schemathesis.GenerationMode.NEGATIVE and label in WITHOUT_PARAMETERS:
            continue

        @BOUNDED
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            statuses.add(case.call_and_validate(headers=headers, checks=checks).status_code)

        ask()
    assert statuses >= ({200, 204, 404} if role else {401})


def test_the_page_holds_the_models_of_a_line(server):
    page = server.client().get('/openapi.json').json()
    schemas = page['components']['schemas']
    assert {'Experience', 'Amendment', 'StoredSituation', 'Lines', 'Problem'} <= set(schemas)
    assert set(_references(page)) <= {f'#/components/schemas/{name}' for name in schemas}
    upload = page['paths']['/v1/experiences']['post']
    assert set(upload['requestBody']['content']) == {LINES}
    assert {'200', '400', '401', '403', '413', '415', '429', '503'} <= set(upload['responses'])


def test_the_page_is_readable_without_the_internet(server):
    client = server.client()
    page, schemas = client.get('/docs').text, client.get('/openapi.json').json()['components']
    for label in OPERATIONS:
        assert f'<code>{label}</code>' in page
    for name in schemas['schemas']:
        assert f'<h3 id="{name}">' in page
    assert not re.search(r'<script|<link|src=|(?<!xmlns=")https?://', page)


def test_errors_have_one_shape(server):
    client = server.client()
    answers = [
        client.get('/nothing'),
        client.delete('/v1/policy'),
        client.get('/v1/policy'),
        client.get('/v1/experiences/x'),
    ]
    assert [answer.status_code for answer in answers] == [404, 405, 401, 401]
    for answer in answers:
        assert set(answer.json()) == {'error', 'message'}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def test_whatever_a_line_holds_it_is_stored_or_rejected(server, send, experience, amendment):
    robot = server.client(server.token())
    good = [json.loads(to_line(record)) for record in (experience(), amendment())]

    @BOUNDED
    @given(data=st.data())
    def upload(data):
        lines = [_changed(data, good) for _ in range(10)]
        answer = send(robot, b''.join(line + b'\n' for line in lines))
        assert answer.status_code == 200
        found = answer.json()
        assert found['accepted'] + found['known'] + len(found['rejected']) == len(lines)

    upload()


def _changed(data, records):
    """Return a line that was a record before one of its values was replaced."""
    record = json.loads(json.dumps(data.draw(st.sampled_from(records))))
    place = record
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(values)
    text = json.dumps(record)
    return text.encode('utf-8', 'replace') if data.draw(st.booleans()) else text[:-1].encode()


def _references(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == '$ref':
                yield value
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
