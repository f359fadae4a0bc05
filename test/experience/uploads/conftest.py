# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Real buffers, and real servers on loopback."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    """Loopback is reached without a proxy, whatever this machine has."""
    for name in ('HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def clock():
    from loopback import Clock

    return Clock()


@pytest.fixture
def buffer(tmp_path):
    from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer

    with ExperienceBuffer(tmp_path / 'robot.db', BufferOptions(gather_s=0.0)) as made:
        yield made


@pytest.fixture
def put(buffer):
    """Return what stores records and waits until they are."""

    def store(*records):
        for future in [buffer.put(record) for record in records]:
            future.result(10)

    return store


@pytest.fixture
def standing(buffer):
    """Return what reads how the records stand: what waits, what is quarantined and why."""

    def read():
        def ask(store):
            rows = store.database.conn.execute(
                'SELECT id, uploaded_ns IS NOT NULL, quarantined FROM record ORDER BY seq'
            ).fetchall()
            return (
                [name for name, sent, why in rows if not sent and why is None],
                {name: why for name, _, why in rows if why is not None},
            )

        return buffer.ask(ask).result(10)

    return read


@pytest.fixture
def scripted():
    """Return what starts a server that answers as it is told."""
    from loopback import ScriptedServer

    running = []

    def start(answer, **options):
        running.append(ScriptedServer(answer, **options))
        return running[-1]

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def real(tmp_path):
    """Return what starts the real server."""
    from loopback import RealServer

    running = []

    def start(**options):
        from thinking_policy.server.state import ServerOptions

        running.append(RealServer(tmp_path / 'server.db', ServerOptions(**options)))
        return running[-1]

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def uplink(buffer, clock):
    """Return what makes an uplink that is stepped by the test and whose clock stands still."""
    from thinking_policy.experience.link_options import LinkOptions
    from thinking_policy.experience.server_link import ServerLink
    from thinking_policy.experience.uplink import Uplink, UplinkOptions

    made = []

    def make(url, *, transport=None, token='secret', random=lambda: 1.0, robot='', **options):
        link_options = LinkOptions(url, timeout_s=options.pop('timeout_s', 5.0))
        environment = {'THINKING_POLICY_TOKEN': token}
        link = ServerLink(link_options, transport=transport, environment=environment)
        made.append(
            Uplink(
                buffer.ask,
                link,
                UplinkOptions(**options),
                robot=robot,
                clock_ns=clock.time_ns,
                monotonic=clock.monotonic,
                random=random,
            )
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def robot():
    from policy_robot import Robot

    return Robot()


@pytest.fixture
def folder(tmp_path):
    from thinking_policy.experience.downlink import PolicyFolder

    return PolicyFolder(tmp_path / 'policies')


@pytest.fixture
def downlink(robot, folder, clock):
    """Return what makes a downlink that is stepped by the test; again is after a restart."""
    from thinking_policy.experience.downlink import (
        Downlink,
        DownlinkOptions,
        LinkOptions,
        ServerLink,
    )

    def make(url, *, token='secret', random=lambda: 0.5, **options):
        link = ServerLink(LinkOptions(url), environment={'THINKING_POLICY_TOKEN': token})
        return Downlink(
            link,
            folder,
            'r1',
            robot.verify,
            robot.swap,
            DownlinkOptions(**options),
            clock_ns=clock.time_ns,
            monotonic=clock.monotonic,
            random=random,
        )

    return make
