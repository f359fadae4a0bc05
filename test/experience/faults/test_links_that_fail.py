# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A real uplink to the real server through a proxy that fails: everything arrives once."""

from __future__ import annotations

import random
import time

import pytest

pytest.importorskip('uvicorn')
pytest.importorskip('fastapi')

from faulty_proxy import ANSWERS, DELAY, FAULTS, PASS, FaultyProxy
from loopback import RealServer, make_experience

from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer
from thinking_policy.experience.link_options import LinkOptions
from thinking_policy.experience.record import Amendment, Observation, to_line
from thinking_policy.experience.server_link import ServerLink
from thinking_policy.experience.uplink import Uplink, UplinkOptions

PATIENCE_S = 0.5  # of the client; a delay is longer
REFUSED = ('answers 401', 'answers 404', 'answers 302')


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ('HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(tmp_path):
    real = RealServer(tmp_path / 'server.db')
    yield real
    real.stop()


@pytest.fixture
def buffer(tmp_path):
    with ExperienceBuffer(tmp_path / 'robot.db', BufferOptions(gather_s=0.0)) as made:
        yield made


@pytest.fixture
def through(server):
    """Return what makes a proxy before the server."""
    made = []

    def make(plan, **options):
        host, _, port = server.url.removeprefix('http://').partition(':')
        proxy = FaultyProxy((host, int(port)), plan, delay_s=2 * PATIENCE_S, **options)
        made.append(proxy)
        return proxy

    yield make
    for proxy in made:
        proxy.stop()


@pytest.fixture
def upload(server, buffer):
    """Return what uploads all there is through a proxy and returns the states it went through."""

    def run(proxy, *, within_s=100.0, **options):
        link = ServerLink(
            LinkOptions(proxy.url, timeout_s=PATIENCE_S),
            environment={'THINKING_POLICY_TOKEN': server.token('r1')},
        )
        given = {'first_pause_s': 0.001, 'longest_pause_s': 0.02, **options}
        uplink = Uplink(buffer.ask, link, UplinkOptions(**given), robot='r1')
        ends, states = time.monotonic() + within_s, set()
        while uplink.status().state != 'waiting' or uplink.status().pending:
            time.sleep(min(uplink.step(), 0.05))
            states.add(uplink.status().state)
            assert time.monotonic() < ends, uplink.status()
        uplink.close()
        return uplink.status(), states

    return run


def put(buffer, records):
    for future in [buffer.put(record) for record in records]:
        future.result(10.0)


def standing(buffer):
    """Return ids and revisions by how they stand; what is quarantined with its reason."""

    def read(store):
        return store.database.conn.execute(
            'SELECT id, revision, uploaded_ns, quarantined FROM record'
        ).fetchall()

    rows = buffer.ask(read).result(10.0)
    sent = {(name, revision) for name, revision, at, _ in rows if at is not None}
    why = {(name, revision): text for name, revision, _, text in rows if text is not None}
    waiting = {(n, r) for n, r, at, text in rows if at is None and text is None}
    return sent, why, waiting


@pytest.mark.parametrize('fault', [fault for fault in FAULTS if fault != PASS])
def test_every_fault_alone_costs_nothing(server, buffer, through, upload, fault):
    records = [make_experience(number) for number in range(20)]
    put(buffer, records)
    faults = iter([fault] * 3)
    proxy = through(lambda: next(faults, PASS))
    _, states = upload(proxy, most_records=5)
    assert proxy.met[fault] == 3
    assert sorted(server.lines()) == sorted(to_line(record) for record in records)
    sent, why, waiting = standing(buffer)
    assert (len(sent), why, waiting) == (20, {}, set())
    if fault in REFUSED:
        assert 'refused' in states
    elif fault in ANSWERS or fault == DELAY:
        assert 'backing_off' in states


def amendment(number, revision):
    return Amendment(
        id=make_experience(number).id,
        robot='r1',
        revision=revision,
        observation=Observation(kind='outcome', stamp_ns=0, code='stuck'),
    )


@pytest.mark.parametrize('seed', range(5))
def test_all_faults_in_any_order_and_every_record_arrives_once_or_says_why_not(
    server, buffer, through, upload, seed
):
    chance = random.Random(seed)
    conflicting, foreign, large = {30, 31, 250}, {77, 130}, {5, 199}
    for number in conflicting:
        server.store(make_experience(number, text='stored before, and another one'))
    records = []
    for number in range(300):
        text = chance.randbytes(12_000).hex() if number in large else ''
        records.append(make_experience(number, 'r2' if number in foreign else 'r1', text))
        if number % 7 == 0:
            records.append(amendment(number, revision=1 + number))
    put(buffer, records)
    # Half of the requests meet a fault; a delay costs a second each and is rare.
    weights = [len(FAULTS) if fault == PASS else 0.2 if fault == DELAY else 1 for fault in FAULTS]
    proxy = through(lambda: chance.choices(FAULTS, weights)[0], most_bytes=8_000, seed=seed)
    status, _ = upload(proxy, most_records=40)

    sent, why, waiting = standing(buffer)
    assert waiting == set()
    bad = {(make_experience(number).id, 0) for number in conflicting | foreign | large}
    assert why.keys() == bad
    for number in conflicting:
        assert why[make_experience(number).id, 0].startswith('conflict: ')
    for number in foreign:
        assert why[make_experience(number).id, 0].startswith('robot: ')
    for number in large:
        assert why[make_experience(number).id, 0].startswith('413: ')
    good = [record for record in records if record.robot == 'r1']
    good = [record for record in good if (record.id, getattr(record, 'revision', 0)) in sent]
    assert len(good) == len(sent) == len(records) - len(bad)
    before = [make_experience(n, text='stored before, and another one') for n in conflicting]
    assert sorted(server.lines()) == sorted(to_line(record) for record in [*good, *before])
    assert status.sent == len(good)
    assert status.known > 0  # answers were lost, and what they were for counted once
    assert len(proxy.met) > 15


def test_a_server_that_is_restarted_while_the_upload_runs_gets_everything(
    tmp_path, server, buffer, through, upload
):
    records = [make_experience(number) for number in range(60)]
    put(buffer, records)
    restarted = []

    def plan():
        if not restarted and len(server.lines()) >= 20:
            restarted.append(True)
            server.stop()
            other = RealServer(tmp_path / 'server.db')
            restarted.append(other)
            host, _, port = other.url.removeprefix('http://').partition(':')
            proxy.server = (host, int(port))
        return PASS

    proxy = through(plan)
    upload(proxy, most_records=10)
    other = restarted[1]
    assert sorted(other.lines()) == sorted(to_line(record) for record in records)
    other.stop()
