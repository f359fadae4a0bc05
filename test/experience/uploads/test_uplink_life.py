# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""An uplink over restarts, without a token or a server, and at its end."""

from __future__ import annotations

import json
import threading
import time

import pytest

pytest.importorskip('uvicorn')
pytest.importorskip('fastapi')

from loopback import drain, make_experience, taken

from thinking_policy.experience.link_options import LinkOptions
from thinking_policy.experience.server_link import ServerLink
from thinking_policy.experience.uplink import Uplink


def test_a_restart_does_not_hammer(scripted, uplink, buffer, put, clock):
    server = scripted(lambda _: (503, {}, b''))
    put(make_experience(0))
    before = uplink(server.url)
    for _ in range(4):
        drain(before)
        clock.seconds += 60.0
    drain(before)
    before.close()
    clock.seconds += 10.0
    after = uplink(server.url)
    found = drain(after)
    assert len(server.heard) == 5
    assert (found.state, found.attempts) == ('backing_off', 5)
    assert found.reason == 'failed before the restart'
    assert found.next_attempt_ns == clock.time_ns() + 6 * 10**9
    clock.seconds += 6.0
    assert drain(after).attempts == 6
    kept = json.loads(buffer.ask(lambda store: store.setting('uplink')).result(5))
    assert (kept['attempts'], kept['not_before_ns']) == (6, clock.time_ns() + 32 * 10**9)


def test_success_is_remembered_over_a_restart_too(scripted, uplink, put, clock):
    said = iter([(503, {}, b''), None, (503, {}, b'')])
    server = scripted(lambda request: next(said) or taken(request))
    put(make_experience(0))
    before = uplink(server.url)
    drain(before)
    clock.seconds += 1.0
    assert drain(before).sent == 1
    put(make_experience(1))
    assert drain(uplink(server.url)).attempts == 1


def test_a_new_token_counts_at_once_and_after_a_restart(real, buffer, put, clock, tmp_path):
    server = real()
    file = tmp_path / 'token'
    file.write_text('tp_wrong\n')
    put(make_experience(0))

    def make():
        link = ServerLink(LinkOptions(server.url, token_file=str(file)))
        return Uplink(buffer.ask, link, clock_ns=clock.time_ns, monotonic=clock.monotonic)

    uplink = make()
    assert drain(uplink).state == 'refused'
    assert drain(uplink).state == 'refused'
    restarted = make()
    assert drain(restarted).reason == 'failed before the restart'
    file.write_text(f'{server.token()}\n')
    assert drain(restarted).sent == 1


@pytest.mark.parametrize('content', [None, '', '\n', 'two words\n', 'schlüssel\n', 'x' * 5000])
def test_without_a_token_nothing_is_sent(scripted, buffer, put, tmp_path, content):
    server = scripted(taken)
    file = tmp_path / 'token'
    if content is not None:
        file.write_text(content)
    put(make_experience(0))
    uplink = Uplink(buffer.ask, ServerLink(LinkOptions(server.url, token_file=str(file))))
    found = drain(uplink)
    assert found.state == 'refused'
    assert found.reason.startswith(f'{file}: ')
    assert (content or '').strip() == '' or content.strip() not in found.reason
    assert server.heard == []


def test_without_a_server_the_buffer_alone_serves(buffer, put, standing):
    put(make_experience(0))
    with Uplink(buffer.ask, None) as uplink:
        uplink.start()
        uplink.step()
        assert uplink.status().state == 'off'
        assert 'url' in uplink.status().reason
    assert standing() == ([make_experience(0).id], {})


def test_what_waits_is_counted_while_nothing_gets_through(uplink, put, clock):
    put(make_experience(0))
    sending = uplink('http://127.0.0.1:9', first_pause_s=100.0)
    assert drain(sending).pending == 1
    put(make_experience(1), make_experience(2))
    clock.seconds += 10.0
    assert drain(sending).pending == 3


def test_closing_does_not_wait_for_a_server_that_says_nothing(scripted, uplink, put, wait_until):
    let_go = threading.Event()

    def answer(request):
        let_go.wait(30.0)
        return taken(request)

    server = scripted(answer)
    put(make_experience(0))
    sending = uplink(server.url, timeout_s=30.0)
    sending.start()
    wait_until(lambda: server.heard)
    before = time.monotonic()
    sending.close(within_s=0.1)
    assert time.monotonic() - before < 5.0
    let_go.set()


def test_closing_does_not_wait_for_a_file_that_is_locked(scripted, uplink, buffer, put):
    import sqlite3

    server = scripted(taken)
    put(make_experience(0))
    other = sqlite3.connect(buffer.path, isolation_level=None)
    other.execute('BEGIN IMMEDIATE')
    sending = uplink(server.url)
    sending.start()
    before = time.monotonic()
    sending.close(within_s=10.0)
    assert time.monotonic() - before < 5.0
    other.close()


def test_a_fault_of_its_own_is_said_and_it_goes_on(scripted, buffer, put, wait_until):
    server = scripted(taken)
    put(make_experience(0))
    faults = iter([RuntimeError('once')])

    def ask(question):
        for fault in faults:
            raise fault
        return buffer.ask(question)

    link = ServerLink(LinkOptions(server.url), environment={'THINKING_POLICY_TOKEN': 'x'})
    waited = []
    seen = []

    def wait(seconds):
        waited.append(seconds)
        seen.append(uplink.status())
        time.sleep(0.01)

    uplink = Uplink(ask, link, wait=wait)
    uplink.start()
    wait_until(lambda: uplink.status().sent == 1)
    uplink.close()
    assert (seen[0].state, seen[0].reason) == ('backing_off', 'once')
