# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the uplink sends, and what it makes of each answer."""

from __future__ import annotations

import hashlib
import time

import pytest

pytest.importorskip('uvicorn')
pytest.importorskip('fastapi')

from loopback import drain, make_experience, problem, taken

from thinking_policy.experience.record import to_line
from thinking_policy.experience.uplink import Uplink
from thinking_policy.server.ingest import BodyLimits

GARBAGE = [
    (200, {}, b''),
    (200, {'Content-Type': 'text/html'}, b'<html>Please log in to the Wi-Fi</html>'),
    (200, {}, b'{"accepted": 3, "known": 0, "rejected": []}'),
    (200, {}, b'{"accepted": 1, "known": 0, "rejected": []}'),
    (200, {}, b'{"accepted": -1, "known": 3, "rejected": []}'),
    (200, {}, b'{"accepted": 1, "known": 0, "rejected": [{"line": 3, "code": "x"}]}'),
    (200, {}, b'{"accepted": 1, "known": 0, "rejected": [{"line": 0, "code": "x"}]}'),
    (
        200,
        {},
        b'{"accepted": 0, "known": 0, "rejected": ['
        b'{"line": 1, "code": "x"}, {"line": 1, "code": "x"}]}',
    ),
    (200, {}, b'[' * 100_000),
    (200, {'Content-Encoding': 'gzip'}, b'{"accepted": 2, "known": 0, "rejected": []}'),
    (204, {}, b''),
]


def test_what_the_buffer_holds_arrives_as_it_was_recorded(real, uplink, put, standing):
    server = real()
    records = [make_experience(number) for number in range(25)]
    put(*records)
    status = drain(uplink(server.url, token=server.token(), most_records=10))
    assert server.lines() == [to_line(record) for record in records]
    assert standing() == ([], {})
    assert (status.state, status.sent, status.known, status.batches) == ('waiting', 25, 0, 3)
    assert (status.pending, status.quarantined) == (0, 0)


def test_a_thread_of_its_own_sends_what_comes_later_too(real, buffer, put, wait_until):
    from thinking_policy.experience.link_options import LinkOptions
    from thinking_policy.experience.server_link import ServerLink
    from thinking_policy.experience.uplink import UplinkOptions

    server = real()
    link = ServerLink(
        LinkOptions(server.url), environment={'THINKING_POLICY_TOKEN': server.token()}
    )
    with Uplink(buffer.ask, link, UplinkOptions(period_s=0.1)) as uplink:
        uplink.start()
        for number in range(3):
            put(make_experience(number))
            wait_until(lambda: len(server.lines()) == number + 1)  # noqa: B023
        wait_until(lambda: uplink.status().sent == 3)


def test_a_request_names_its_content_and_carries_the_token(scripted, uplink, put):
    server = scripted(taken)
    put(make_experience(0), make_experience(1))
    drain(uplink(f'{server.url}/behind/a/proxy/', token='tp_1_x'))
    [request] = server.heard
    body = b''.join(to_line(make_experience(number)) + b'\n' for number in range(2))
    assert (request.method, request.path) == ('POST', '/behind/a/proxy/v1/experiences')
    assert request.headers['authorization'] == 'Bearer tp_1_x'
    assert request.headers['content-type'] == 'application/x-ndjson'
    assert request.headers['content-encoding'] == 'gzip'
    assert request.headers['idempotency-key'] == hashlib.sha256(body).hexdigest()
    assert b''.join(line + b'\n' for line in request.lines) == body


def test_a_delivery_whose_answer_was_lost_counts_once(real, uplink, put, standing):
    server = real()
    for number in range(3):
        server.store(make_experience(number))
        put(make_experience(number))
    put(make_experience(3))
    status = drain(uplink(server.url, token=server.token()))
    assert (status.sent, status.known) == (4, 3)
    assert len(server.lines()) == 4
    assert standing() == ([], {})


def test_what_the_server_rejects_is_quarantined_with_its_reason(real, uplink, put, standing):
    server = real()
    server.store(make_experience(1, text='another one'))
    put(*[make_experience(number) for number in range(3)], make_experience(9, robot='r2'))
    status = drain(uplink(server.url, token=server.token('r1'), robot='r1'))
    waiting, quarantined = standing()
    assert waiting == []
    assert quarantined.keys() == {make_experience(1).id, make_experience(9).id}
    assert quarantined[make_experience(1).id].startswith('conflict: another record of that id')
    assert "expected 'r1'" in quarantined[make_experience(9).id]
    assert (status.sent, status.quarantined, status.state) == (2, 2, 'waiting')


def test_a_token_of_another_robot_is_no_fault_of_the_records(real, uplink, put, standing, clock):
    server = real()
    put(make_experience(0), make_experience(1))
    status = drain(uplink(server.url, token=server.token('r7'), robot='r1'))
    assert (status.state, status.attempts) == ('refused', 1)
    assert "expected 'r7', which the token is for" in status.reason
    assert standing() == ([make_experience(0).id, make_experience(1).id], {})
    assert status.next_attempt_ns == clock.time_ns() + 300 * 10**9


@pytest.mark.parametrize('status', [400, 413, 422])
def test_one_bad_record_among_many_is_found_and_the_rest_goes_on(
    scripted, uplink, put, standing, status
):
    def answer(request):
        if any(b'poison' in line for line in request.lines):
            return problem(status, 'invalid', 'no poison')
        return taken(request)

    server = scripted(answer)
    bad = {3, 77, 78}
    put(*[make_experience(n, text='poison' if n in bad else '') for n in range(100)])
    found = drain(uplink(server.url))
    assert standing() == ([], {make_experience(n).id: f'{status}: no poison' for n in bad})
    assert (found.sent, found.quarantined, found.state) == (97, 3, 'waiting')
    assert len(server.heard) < 60
    arrived = [line for heard in server.heard for line in heard.lines if b'poison' not in line]
    assert len(set(arrived)) == 97


def test_a_limit_makes_batches_smaller_and_only_what_alone_exceeds_it_is_quarantined(
    real, uplink, put, standing
):
    server = real(limits=BodyLimits(bytes=4000))
    records = [make_experience(n, text='x' * (5000 if n == 7 else 100)) for n in range(30)]
    put(*records)
    status = drain(uplink(server.url, token=server.token()))
    waiting, quarantined = standing()
    assert (waiting, list(quarantined)) == ([], [records[7].id])
    assert quarantined[records[7].id].startswith('413: the body: more than 4,000 bytes')
    assert (status.sent, status.quarantined) == (29, 1)
    assert len(server.lines()) == 29


def test_a_limit_that_the_server_names_is_used_up(scripted, uplink, put):
    line = len(to_line(make_experience(11))) + 1
    limit = 20 * line + 30

    def answer(request):
        if sum(len(one) + 1 for one in request.lines) > limit:
            return problem(413, 'too_large', 'too large', X_Limit_Bytes=str(limit))
        return taken(request)

    server = scripted(answer)
    put(*[make_experience(number) for number in range(10, 40)])
    assert drain(uplink(server.url, most_records=30)).sent == 30
    assert [len(request.lines) for request in server.heard] == [30, 20, 10]


def test_what_was_damaged_on_its_way_is_sent_again(scripted, uplink, put, standing, clock):
    said = iter([problem(400, 'digest_mismatch', 'changed'), problem(400, 'gzip', 'not gzip')])
    server = scripted(lambda request: next(said, None) or taken(request))
    put(make_experience(0))
    sending = uplink(server.url)
    assert drain(sending).state == 'backing_off'
    clock.seconds += 1.0
    assert drain(sending).state == 'backing_off'
    clock.seconds += 2.0
    assert drain(sending).sent == 1
    assert standing() == ([], {})


@pytest.mark.parametrize(
    ('status', 'headers', 'body', 'said'),
    [
        (401, {}, b'{"error": "token", "message": "unknown or revoked"}', 'unknown or revoked'),
        (403, {}, b'{"error": "role", "message": "for readers"}', '403: for readers'),
        (404, {}, b'<h1>Not Found</h1>', 'is it the right url?'),
        (400, {}, b'<h1>Bad Request</h1>', 'is it the right url?'),
        (422, {}, b'{"detail": "Unprocessable"}', 'is it the right url?'),
        (400, {}, b'{"error": "encoding", "message": "no gzip here"}', 'no gzip here'),
        (405, {}, b'', '405: '),
        (302, {'Location': 'https://else.example'}, b'', 'redirects to https://else.example'),
    ],
)
def test_a_wrong_configuration_costs_no_record(
    scripted, uplink, put, standing, clock, status, headers, body, said
):
    server = scripted(lambda _: (status, headers, body))
    put(make_experience(0), make_experience(1))
    sending = uplink(server.url, longest_pause_s=120.0)
    found = drain(sending)
    assert found.state == 'refused'
    assert said in found.reason
    assert standing() == ([make_experience(0).id, make_experience(1).id], {})
    clock.seconds += 119.0
    sending.step()
    assert len(server.heard) == 1
    clock.seconds += 1.0
    sending.step()
    assert len(server.heard) == 2


def test_a_redirect_is_not_followed(scripted, uplink, put):
    other = scripted(taken)
    server = scripted(lambda _: (307, {'Location': f'{other.url}/v1/experiences'}, b''))
    put(make_experience(0))
    assert drain(uplink(server.url)).state == 'refused'
    assert other.heard == []


@pytest.mark.parametrize('status', [408, 425, 429, 500, 502, 503, 504, 599])
def test_a_trouble_that_passes_is_waited_for(scripted, uplink, put, standing, clock, status):
    said = iter([(status, {'Retry-After': '7'}, b'<h1>Sorry</h1>')])
    server = scripted(lambda request: next(said, None) or taken(request))
    put(make_experience(0))
    sending = uplink(server.url, random=lambda: 0.0)
    found = drain(sending)
    assert (found.state, found.attempts) == ('backing_off', 1)
    assert found.next_attempt_ns == clock.time_ns() + 7 * 10**9
    assert found.reason.startswith(f'{status}: ')
    clock.seconds += 6.9
    sending.step()
    assert len(server.heard) == 1
    clock.seconds += 0.1
    found = drain(sending)
    assert (found.state, found.sent, found.attempts, found.reason) == ('waiting', 1, 0, '')


def test_while_it_tries_again_it_is_no_better_than_before(scripted, uplink, put, clock):
    states = []

    def answer(_):
        states.append(sending.status().state)
        return problem(500, 'internal', 'a fault') if len(states) < 3 else None

    server = scripted(lambda request: answer(request) or taken(request))
    put(make_experience(0))
    sending = uplink(server.url, random=lambda: 0.0)
    for _ in range(3):
        found = drain(sending)
        clock.seconds += 60.0
    assert states == ['sending', 'backing_off', 'backing_off']
    assert (found.state, found.sent) == ('waiting', 1)


@pytest.mark.parametrize('said', GARBAGE)
def test_an_answer_that_is_none_is_not_believed(scripted, uplink, put, standing, said):
    server = scripted(lambda _: said)
    put(make_experience(0), make_experience(1))
    status = uplink(server.url)
    found = drain(status)
    assert (found.state, found.sent) == ('backing_off', 0)
    assert standing() == ([make_experience(0).id, make_experience(1).id], {})
    assert len(found.reason) <= 500


def test_a_server_that_is_not_there_is_said_so(uplink, put):
    put(make_experience(0))
    found = drain(uplink('http://127.0.0.1:9'))
    assert (found.state, found.attempts, found.pending) == ('backing_off', 1, 1)
    assert found.reason.startswith('http://127.0.0.1:9: ')


def test_a_link_that_breaks_gets_less_to_carry(scripted, uplink, put, clock):
    sizes = []

    def answer(request):
        sizes.append(len(request.lines))
        if len(request.lines) > 8:
            time.sleep(0.5)  # longer than the client has patience for
        return taken(request)

    server = scripted(answer)
    put(*[make_experience(number) for number in range(30)])
    sending = uplink(server.url, timeout_s=0.2, most_records=30)
    for _ in range(100):
        drain(sending)
        if sending.status().state == 'waiting':
            break
        clock.seconds += 400.0
    assert sending.status().sent == 30
    assert sizes[:3] == [30, 15, 7]
