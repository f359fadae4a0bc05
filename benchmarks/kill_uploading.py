#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`kill -9` of robot and server while experiences are recorded and uploaded; then it is counted.

    .venv/bin/python benchmarks/kill_uploading.py --kills 200

One process records into a buffer and uploads, another one is the server, both as they are
installed; one of the two, or both, is killed again and again, at a random moment of a backlog that
is being sent. At the end all of this has to hold, or the exit status is 1:

    acknowledged = stored     what the buffer acknowledged is in its file
    stored = received         what is in its file is on the server, byte for byte; nothing is
                              evicted here, and that is checked
    no duplicate              each once
    uploaded = received       at every kill: what the robot holds for uploaded the server has
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from uploading_pair import Both, pending, rows

LAST_S = 120.0  # for what is left at the end


@dataclass
class Figures:
    """What happened.

    Attributes:
        kills: By whom they hit.
        while_sending: Kills at which records waited to be sent.
        acknowledged, stored, received: Records.
        faults: What does not hold.
    """

    kills: dict[str, int] = field(default_factory=lambda: {'robot': 0, 'server': 0, 'both': 0})
    while_sending: int = 0
    acknowledged: int = 0
    stored: int = 0
    received: int = 0
    faults: list[str] = field(default_factory=list)


def run(folder: Path, kills: int, seed: int) -> Figures:
    """Kill so often, let the rest be sent, count.

    Args:
        folder: For files.
        kills: How many.
        seed: Of who is killed when.
    """
    chance = random.Random(seed)
    figures, both = Figures(), Both(folder, seed)
    both.start()
    wait_for_upload(both, 1)
    for number in range(kills):
        time.sleep(chance.uniform(0.0, 0.3))
        victim = chance.choices(['robot', 'server', 'both'], [4, 4, 1])[0]
        both.kill(victim)
        figures.kills[victim] += 1
        figures.while_sending += pending(both.robot_db) > 0
        check_uploaded(both, figures)
        if chance.random() < 0.3:  # the other one goes on alone for a while
            time.sleep(chance.uniform(0.0, 0.2))
        uploaded = rows(both.robot_db, 'SELECT COUNT(uploaded_ns) FROM record')[0][0]
        both.start()
        if number % 2:  # some are killed as soon as they start, others in the midst of it
            wait_for_upload(both, uploaded + 1)
    if not both.finish(LAST_S):
        figures.faults.append(f'not everything was sent within {LAST_S:g} s')
    count(both, figures)
    return figures


def count(both: Both, figures: Figures) -> None:
    """Compare what was acknowledged, stored and received."""
    text = (both.folder / 'acknowledged.txt').read_text()
    acknowledged = {tuple(line.split()) for line in text.splitlines()}
    query = 'SELECT id, revision, body FROM record'
    stored = {(name, str(revision)): body for name, revision, body in rows(both.robot_db, query)}
    received = rows(both.server_db, query)
    by_key = {(name, str(revision)): body for name, revision, body in received}
    gone = rows(both.robot_db, "SELECT SUM(value) FROM counter WHERE name LIKE 'evicted%'")[0][0]
    aside = rows(both.robot_db, 'SELECT COUNT(quarantined) FROM record')[0][0]
    figures.acknowledged, figures.stored = len(acknowledged), len(stored)
    figures.received = len(received)
    for name, holds in (
        (
            f'{len(acknowledged - stored.keys())} acknowledged, not stored',
            acknowledged <= stored.keys(),
        ),
        (
            f'{len(stored.keys() - by_key.keys())} stored, not received',
            stored.keys() <= by_key.keys(),
        ),
        (
            f'{len(by_key.keys() - stored.keys())} received, not stored',
            by_key.keys() <= stored.keys(),
        ),
        ('received with another content', all(stored.get(k) == b for k, b in by_key.items())),
        (f'{len(received) - len(by_key)} duplicates', len(received) == len(by_key)),
        (f'{gone} evicted', not gone),
        (f'{aside} quarantined', not aside),
        ('a file was set aside', not list(both.folder.glob('*.corrupt-*'))),
    ):
        if not holds:
            figures.faults.append(name)
    for path in (both.robot_db, both.server_db):
        verdict = rows(path, 'PRAGMA integrity_check')[0][0]
        if verdict != 'ok':
            figures.faults.append(f'{path.name}: {verdict}')


def check_uploaded(both: Both, figures: Figures) -> None:
    """What the robot holds for uploaded has to be on the server, whoever has just died."""
    uploaded = rows(both.robot_db, 'SELECT id, revision FROM record WHERE uploaded_ns IS NOT NULL')
    missing = set(uploaded) - set(rows(both.server_db, 'SELECT id, revision FROM record'))
    if missing:
        figures.faults.append(f'{len(missing)} held for uploaded that the server does not have')


def wait_for_upload(both: Both, least: int) -> None:
    """Wait until so many records are uploaded."""
    ends = time.monotonic() + 60.0
    while time.monotonic() < ends:
        if both.robot_db.exists():
            try:
                if rows(both.robot_db, 'SELECT COUNT(uploaded_ns) FROM record')[0][0] >= least:
                    return
            except sqlite3.OperationalError:
                pass  # its tables are being made
        time.sleep(0.01)
    raise SystemExit('nothing is uploaded within a minute; what the processes said stands above')


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description='kill -9 of robot and server while uploading')
    parser.add_argument('--kills', type=int, default=200)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--keep', type=Path, help='folder for the files of a run that fails')
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix='kill_uploading_'))
    began = time.monotonic()
    try:
        figures = run(folder, given.kills, given.seed)
        if figures.faults and given.keep:
            shutil.copytree(folder, given.keep, dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    by_whom = ', '.join(f'{number} {name}' for name, number in figures.kills.items())
    print(
        f'{given.kills} kills ({by_whom}; {figures.while_sending} while records waited) in '
        f'{time.monotonic() - began:.0f} s: {figures.acknowledged:,} acknowledged, '
        f'{figures.stored:,} stored, {figures.received:,} received'
    )
    for fault in figures.faults:
        print(f'fault: {fault}')
    return 1 if figures.faults else 0


if __name__ == '__main__':
    sys.exit(main())
