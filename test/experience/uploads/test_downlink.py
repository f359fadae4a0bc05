# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which policies are fetched, which are refused, and what a restart knows."""

from __future__ import annotations

import pytest

pytest.importorskip('uvicorn')
pytest.importorskip('fastapi')

from loopback import offer

from thinking_policy.experience.downlink import (
    Downlink,
    LinkOptions,
    ServerLink,
)
from thinking_policy.policy.signature import verify_file, write_key_pair

SIGNATURE = b's' * 64


def gets(server):
    return [heard for heard in server.heard if heard.method == 'GET']


def test_a_published_policy_runs_and_is_reported(real, downlink, robot, folder):
    server = real()
    server.publish('v1', b'policy v1', SIGNATURE)
    one = downlink(server.url, token=server.token('r1'))
    assert one.step() == 60.0
    assert robot.runs == 'policy v1'
    assert folder.file('v1').read_bytes() == b'policy v1'
    assert folder.file('v1').with_name('policy.onnx.sig').read_bytes() == SIGNATURE
    assert server.reports() == [('r1', 'v1', 'running', '')]
    status = one.status()
    assert (status.state, status.version, status.fetched) == ('waiting', 'v1', 1)


def test_it_is_asked_with_its_etag_and_not_fetched_twice(real, downlink, robot):
    server = real()
    server.publish('v1', b'policy v1')
    one = downlink(server.url, token=server.token())
    for _ in range(3):
        one.step()
    assert robot.ran == ['policy v1']
    assert one.status().fetched == 1


def test_the_next_version_takes_over_and_the_last_good_one_stays_for_a_rollback(
    real, downlink, robot, folder
):
    server = real()
    one = downlink(server.url, token=server.token())
    for version in ('v1', 'v2', 'v3'):
        server.publish(version, f'policy {version}'.encode())
        one.step()
    assert robot.ran == ['policy v1', 'policy v2', 'policy v3']
    assert sorted(path.name for path in folder.path.iterdir()) == ['current.json', 'v2', 'v3']
    server.rollback()
    one.step()
    assert robot.runs == 'policy v2'
    assert (one.status().version, one.status().previous) == ('v2', 'v3')
    assert server.reports() == [('r1', 'v2', 'running', '')]


def test_a_policy_that_the_robot_cannot_run_is_refused_once_and_the_old_one_stays(
    real, downlink, robot, folder
):
    server = real()
    server.publish('v1', b'policy v1')
    one = downlink(server.url, token=server.token())
    one.step()
    robot.objection = 'signal current: expected A, found mA'
    server.publish('v2', b'policy v2')
    for _ in range(3):
        one.step()
    assert robot.ran == ['policy v1']
    assert len(robot.verified) == 2
    assert server.reports() == [('r1', 'v2', 'refused', 'signal current: expected A, found mA')]
    status = one.status()
    assert (status.version, status.refused_version) == ('v1', 'v2')
    assert status.refused_reason == 'signal current: expected A, found mA'
    assert folder.file('v1').is_file()
    assert not folder.file('v2').exists()
    robot.objection = ''
    server.publish('v3', b'policy v3')
    one.step()
    assert robot.runs == 'policy v3'
    assert one.status().refused_version == ''


def test_going_back_to_what_runs_after_a_refusal_swaps_nothing(real, downlink, robot):
    server = real()
    server.publish('v1', b'policy v1')
    one = downlink(server.url, token=server.token())
    one.step()
    robot.objection = 'no'
    server.publish('v2', b'policy v2')
    one.step()
    server.rollback()
    one.step()
    assert robot.ran == ['policy v1']
    assert one.status().refused_version == ''
    assert server.reports() == [('r1', 'v1', 'running', '')]


def test_a_signature_that_is_not_good_keeps_the_file_from_its_place(real, downlink, robot, folder):
    server = real()
    robot.bad_signature = 'policy.onnx: not signed'
    server.publish('v1', b'policy v1')
    one = downlink(server.url, token=server.token())
    one.step()
    assert robot.ran == []
    assert robot.verified[0].parent != folder.file('v1').parent
    assert [path.name for path in folder.path.iterdir()] == ['current.json']
    assert server.reports() == [('r1', 'v1', 'refused', 'policy.onnx: not signed')]


def test_the_signatures_of_policies_are_verified_as_the_policy_room_does(
    real, folder, robot, tmp_path, clock
):
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    private, public = tmp_path / 'private.pem', tmp_path / 'public.pem'
    write_key_pair(private, public)
    key = load_pem_private_key(private.read_bytes(), None)
    server = real()
    one = Downlink(
        ServerLink(LinkOptions(server.url), environment={'THINKING_POLICY_TOKEN': server.token()}),
        folder,
        'r1',
        lambda path: verify_file(path, public),
        robot.swap,
        clock_ns=clock.time_ns,
        monotonic=clock.monotonic,
    )
    for version, signature in (
        ('v1', key.sign(b'policy v1')),
        ('v2', key.sign(b'something else')),
        ('v3', None),
        ('v4', key.sign(b'policy v4')),
    ):
        server.publish(version, f'policy {version}'.encode(), signature)
        one.step()
    assert robot.ran == ['policy v1', 'policy v4']


@pytest.mark.parametrize(
    'headers', [{'X-Policy-Signature': 'not base64!'}, {'X-Policy-Signature': 'c2hvcnQ='}]
)
def test_a_signature_that_is_none_is_refused(scripted, downlink, robot, headers):
    server = scripted(lambda heard: offer('v1', **headers))
    one = downlink(server.url)
    one.step()
    assert robot.ran == []
    assert 'signature of 64 bytes' in one.status().refused_reason


def test_a_policy_that_is_too_large_is_refused_before_it_is_here(scripted, downlink, robot):
    server = scripted(
        lambda heard: (
            offer('v1', 'x' * 5000)
            if heard.method == 'GET' and 'if-none-match' not in heard.headers
            else (304 if heard.method == 'GET' else 204, {}, b'')
        )
    )
    one = downlink(server.url, most_bytes=4096)
    one.step()
    one.step()
    assert robot.ran == []
    assert 'at most 4,096 bytes' in one.status().refused_reason
    assert [heard.headers.get('if-none-match') for heard in gets(server)] == [None, '"v1"']
    assert b'"refused"' in server.heard[1].body


@pytest.mark.parametrize('version', ['../../etc', '..', '', 'a/b', '.hidden', 'x' * 200, 'a.b'])
def test_a_version_that_is_no_name_is_no_policy(scripted, downlink, robot, folder, version):
    server = scripted(lambda _: offer(version))
    one = downlink(server.url)
    one.step()
    assert one.status().state == 'backing_off'
    assert robot.ran == []
    assert [path.name for path in folder.path.parent.iterdir()] == []


def test_a_version_that_comes_with_another_content_does_not_replace_what_runs(
    scripted, downlink, robot, folder
):
    etags = iter(['"1"', '"2"'])
    bodies = iter(['good', 'evil'])

    def answer(heard):
        if heard.method == 'POST':
            return 204, {}, b''
        return offer('v1', next(bodies), ETag=next(etags))

    one = downlink(scripted(answer).url)
    one.step()
    one.step()
    assert robot.ran == ['good']
    assert folder.file('v1').read_text() == 'good'
    assert 'another content' in one.status().refused_reason
