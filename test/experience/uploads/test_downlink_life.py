# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A downlink over restarts, and with servers, nodes and disks that are not well."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('uvicorn')
pytest.importorskip('fastapi')

from loopback import offer, problem

from thinking_policy.experience.downlink import Downlink, DownlinkOptions, LinkOptions, ServerLink
from thinking_policy.experience.errors import ExperienceError


def test_after_a_restart_the_policy_runs_again_without_being_fetched(
    real, downlink, robot, folder
):
    server = real()
    token = server.token()
    server.publish('v1', b'policy v1')
    downlink(server.url, token=token).step()
    after = downlink(server.url, token=token)
    after.step()
    assert robot.ran == ['policy v1', 'policy v1']
    assert robot.verified[1] == folder.file('v1')
    assert (after.status().version, after.status().fetched) == ('v1', 0)


def test_without_a_server_the_last_policy_runs_after_a_restart(real, downlink, robot, clock):
    server = real()
    server.publish('v1', b'policy v1')
    downlink(server.url, token=server.token()).step()
    after = downlink('http://127.0.0.1:9')
    for _ in range(5):
        after.step()
        clock.seconds += 60.0
    assert robot.ran == ['policy v1', 'policy v1']
    assert after.status().state == 'backing_off'
    assert after.status().version == 'v1'


def test_what_was_refused_is_tried_once_more_after_a_restart(real, downlink, robot):
    server = real()
    token = server.token()
    server.publish('v1', b'policy v1')
    robot.objection = 'the key is missing'
    before = downlink(server.url, token=token)
    before.step()
    before.step()
    robot.objection = ''
    downlink(server.url, token=token).step()
    assert robot.ran == ['policy v1']
    assert server.reports() == [('r1', 'v1', 'running', '')]


def test_a_file_that_somebody_has_deleted_is_fetched_again(real, downlink, robot, folder):
    server = real()
    token = server.token()
    server.publish('v1', b'policy v1')
    downlink(server.url, token=token).step()
    folder.file('v1').unlink()
    downlink(server.url, token=token).step()
    assert robot.ran == ['policy v1', 'policy v1']
    assert folder.file('v1').is_file()


@pytest.mark.parametrize('content', ['', '{', '[]', '{"etag": 1}', '\0' * 100])
def test_a_memory_that_cannot_be_read_is_begun_anew(real, downlink, robot, folder, content):
    folder.path.mkdir()
    (folder.path / 'current.json').write_text(content)
    server = real()
    server.publish('v1', b'policy v1')
    downlink(server.url, token=server.token()).step()
    assert robot.ran == ['policy v1']


def test_a_node_that_does_not_answer_has_refused_nothing(real, downlink, robot, clock):
    server = real()
    server.publish('v1', b'policy v1')
    robot.unreachable = True
    one = downlink(server.url, token=server.token(), random=lambda: 1.0)
    one.step()
    assert one.status().state == 'backing_off'
    assert 'does not answer' in one.status().reason
    assert server.reports() == []
    robot.unreachable = False
    clock.seconds += 5.0
    one.step()
    assert robot.ran == ['policy v1']


def test_a_server_without_a_policy_is_no_trouble(real, downlink, robot):
    server = real()
    one = downlink(server.url, token=server.token())
    one.step()
    status = one.status()
    assert (status.state, status.attempts) == ('waiting', 0)
    assert status.reason == 'no policy is published'
    assert robot.ran == []


@pytest.mark.parametrize(
    ('said', 'state'),
    [
        ((503, {'Retry-After': '30'}, b''), 'backing_off'),
        ((429, {'Retry-After': '30'}, b''), 'backing_off'),
        (problem(401, 'token', 'unknown'), 'refused'),
        (problem(403, 'role', 'for readers'), 'refused'),
        ((404, {}, b'<html>'), 'refused'),
        ((302, {'Location': 'https://else.example'}, b''), 'refused'),
        ((200, {}, b'<html>log in</html>'), 'backing_off'),
    ],
)
def test_what_is_no_policy_changes_nothing(scripted, downlink, robot, clock, said, state):
    server = scripted(lambda _: said)
    one = downlink(server.url, random=lambda: 0.0)
    one.step()
    assert one.status().state == state
    assert robot.ran == []
    if 'Retry-After' in said[1]:
        clock.seconds += 29.0
        one.step()
        assert len(server.heard) == 1
        clock.seconds += 1.0
        one.step()
        assert len(server.heard) == 2


def test_a_report_that_was_not_heard_is_sent_again(scripted, downlink, clock):
    posts = iter([(503, {}, b''), (204, {}, b'')])

    def answer(heard):
        if heard.method == 'POST':
            return next(posts)
        return (304, {}, b'') if 'if-none-match' in heard.headers else offer('v1')

    server = scripted(answer)
    one = downlink(server.url)
    for _ in range(4):
        one.step()
        clock.seconds += 60.0
    assert [heard.method for heard in server.heard] == ['GET', 'POST', 'GET', 'POST', 'GET', 'GET']


def test_a_folder_that_cannot_be_made_is_said_so(real, downlink, robot, folder):
    folder.path.write_text('')  # a file is in its place
    server = real()
    server.publish('v1', b'policy v1')
    one = downlink(server.url, token=server.token())
    one.step()
    assert 'cannot be written' in one.status().reason
    assert robot.ran == []


def test_a_full_disk_refuses_no_policy(real, downlink, robot, folder, monkeypatch, clock):
    server = real()
    server.publish('v1', b'policy v1')
    one = downlink(server.url, token=server.token())

    def full(*_):
        raise ExperienceError('policy.onnx: cannot be written: No space left on device')

    with monkeypatch.context() as patch:
        patch.setattr(folder, 'keep', full)
        one.step()
    assert (one.status().state, one.status().refused_version) == ('backing_off', '')
    clock.seconds += 60.0
    one.step()
    assert robot.ran == ['policy v1']


def test_the_interval_has_jitter(real, downlink):
    server = real()
    token = server.token()
    pauses = [
        downlink(server.url, token=token, random=lambda: share).step()  # noqa: B023
        for share in (0.0, 0.5, 1.0)
    ]
    assert pauses == pytest.approx([54.0, 60.0, 66.0])


def test_without_a_server_it_is_off(folder, robot):
    with Downlink(None, folder, 'r1', robot.verify, robot.swap) as one:
        one.start()
        one.step()
        assert one.status().state == 'off'
    assert not folder.path.exists()


def test_a_thread_of_its_own_fetches_what_is_published_later(real, folder, robot, wait_until):
    server = real()
    link = ServerLink(
        LinkOptions(server.url), environment={'THINKING_POLICY_TOKEN': server.token()}
    )
    one = Downlink(link, folder, 'r1', robot.verify, robot.swap, DownlinkOptions(period_s=0.1))
    one.start()
    server.publish('v1', b'policy v1')
    wait_until(lambda: robot.runs == 'policy v1')
    before = time.monotonic()
    one.close()
    assert time.monotonic() - before < 2.0


def test_what_else_is_kept_in_the_folder_stays(real, downlink, folder):
    (folder.path / 'notes').mkdir(parents=True)
    (folder.path / 'notes' / 'mine.txt').write_text('keep')
    server = real()
    server.publish('v1', b'policy v1')
    downlink(server.url, token=server.token()).step()
    assert (folder.path / 'notes' / 'mine.txt').read_text() == 'keep'
