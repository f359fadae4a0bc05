# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that records and uploads, and its server: two processes that may be killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import socket
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

TENANT, ROBOT = 'lab', 'r1'
BACKLOG = 60  # records that wait before the next one is recorded, so that there is work at a kill
PRELOADED = (
    'thinking_policy.server.serving',
    'thinking_policy.experience.uplink',
    'thinking_policy.experience.buffer',
    'numpy',
)


class Both:
    """The two processes and their files."""

    def __init__(self, folder: Path, seed: int) -> None:
        from thinking_policy.server.database import ServerDatabase
        from thinking_policy.server.tokens import Role, new_token

        self.folder, self.server_db = folder, folder / 'server.db'
        self.robot_db = folder / 'robot.db'
        self._chance = random.Random(seed)
        with ServerDatabase(self.server_db) as database, database.writing() as writer:
            self._token = new_token(writer, TENANT, ROBOT, Role.ROBOT, time.time_ns())[1]
        with socket.create_server(('127.0.0.1', 0)) as free:
            self._port = free.getsockname()[1]
        # Processes that have the modules already start in no time; a kill is a kill.
        self._processes = multiprocessing.get_context('forkserver')
        self._processes.set_forkserver_preload(list(PRELOADED))
        self._running: dict[str, Any] = {}

    def start(self) -> None:
        """Start whichever of the two does not run."""
        url = f'http://127.0.0.1:{self._port}'
        work = {
            'server': (serve_until_killed, (self.server_db, self._port)),
            'robot': (
                record_and_upload,
                (self.folder, url, self._token, self._chance.getrandbits(32)),
            ),
        }
        for name, (target, arguments) in work.items():
            if name not in self._running:
                process = self._processes.Process(target=target, args=arguments, daemon=True)
                process.start()
                self._running[name] = process

    def kill(self, victim: str) -> None:
        """Kill one, or both."""
        names = ['robot', 'server'] if victim == 'both' else [victim]
        for name in names:
            self._running[name].kill()
        for name in names:
            self._running.pop(name).join()

    def finish(self, within_s: float) -> bool:
        """Let the robot send what is left and end; return whether it did."""
        (self.folder / 'last').touch()
        robot = self._running['robot']
        robot.join(within_s)
        ended = robot.exitcode == 0
        self.kill('both')
        return ended


def record_and_upload(folder: Path, url: str, token: str, seed: int) -> None:
    """Be the robot: record as long as nobody says `last`, and upload; what is acknowledged is
    written down."""
    from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer
    from thinking_policy.experience.uplink import LinkOptions, ServerLink, Uplink, UplinkOptions

    chance = random.Random(seed)
    link = ServerLink(
        LinkOptions(url, timeout_s=5.0), environment={'THINKING_POLICY_TOKEN': token}
    )
    options = UplinkOptions(most_records=20, period_s=0.1, first_pause_s=0.01, longest_pause_s=0.1)
    written = os.open(folder / 'acknowledged.txt', os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with (
        ExperienceBuffer(folder / 'robot.db', BufferOptions(gather_s=0.002)) as buffer,
        Uplink(buffer.ask, link, options, robot=ROBOT) as uplink,
    ):
        uplink.start()
        while not (folder / 'last').exists():
            records = some_records(chance)
            for record, receipt in [(record, buffer.put(record)) for record in records]:
                receipt.result(30.0)
                revision = getattr(record, 'revision', 0)
                os.write(written, f'{record.id} {revision}\n'.encode())
            while pending(folder / 'robot.db') > BACKLOG and not (folder / 'last').exists():
                time.sleep(0.005)
        while pending(folder / 'robot.db'):
            time.sleep(0.02)


def serve_until_killed(path: Path, port: int) -> None:
    """Be the server."""
    from thinking_policy.server.serving import serve

    serve(path, '127.0.0.1', port, say=lambda _: None)


def some_records(chance: random.Random) -> list[Any]:
    """Return an experience with a window of a real size, and sometimes an amendment of it."""
    import numpy as np

    from thinking_policy.experience.record import (
        Amendment,
        Experience,
        Observation,
        time_ordered_id,
    )
    from thinking_policy.experience.stored_situation import stored
    from thinking_policy.situation.situation import Situation

    now_ns = time.time_ns()
    window = np.random.default_rng(now_ns).random((20, 8), np.float32)
    situation = Situation(
        stamp_ns=now_ns,
        tick=1,
        episode='one',
        period_s=0.5,
        signals=tuple(f'signal {number}' for number in range(8)),
        window=window,
        valid=np.ones_like(window, bool),
        readings=(),
        new_events=(),
        events=(),
        recalled=(),
    )
    experience = Experience(
        id=time_ordered_id(now_ns, os.urandom(10)),
        robot=ROBOT,
        reasons=('sample',),
        policy_version='v1',
        situation=stored(situation),
    )
    records: list[Any] = [experience]
    if chance.random() < 0.2:
        records.append(
            Amendment(
                id=experience.id,
                robot=ROBOT,
                revision=now_ns // 1_000_000,
                observation=Observation(kind='outcome', stamp_ns=now_ns, code='stuck'),
            )
        )
    return records


def pending(path: Path) -> int:
    """Return how many records wait for the upload."""
    where = 'uploaded_ns IS NULL AND quarantined IS NULL'
    return int(rows(path, f'SELECT COUNT(*) FROM record WHERE {where}')[0][0])


def rows(path: Path, query: str) -> list[Any]:
    """Ask a file as another process that only reads: the log stays as the killed one left it."""
    where = f'{path.absolute().as_uri()}?mode=ro'
    with closing(sqlite3.connect(where, uri=True, timeout=10.0)) as connection:
        return connection.execute(query).fetchall()
