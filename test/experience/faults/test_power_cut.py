# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A power cut at any place: what was acknowledged is there.

`kill -9` can't show that, since the kernel keeps what a dead process has written. So everything
that a buffer does to its folder is logged below SQLite, and the disk is made anew as a power cut
at a random place of that log would have left it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from disk import HOW, Disk, build, read_log
from writing import INTERVAL_S, STEP_S

from thinking_policy.experience.record import from_line
from thinking_policy.experience.schema import open_database
from thinking_policy.experience.store import ExperienceStore

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='preloads a library of Linux')


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    found = build(tmp_path_factory.mktemp('library'))
    if found is None:
        pytest.skip('no C compiler: what is preloaded below SQLite cannot be built')
    return found


def written(folder, library, sync, seed):
    """Return the log of a process that stores records."""
    place = folder / 'disk'
    place.mkdir()
    subprocess.run(
        [sys.executable, Path(__file__).with_name('writing.py'), place, sync, str(seed)],
        env=os.environ
        | {
            'LD_PRELOAD': str(library),
            'DISK_LOG_FOLDER': str(place),
            'DISK_LOG': str(folder / 'log'),
        },
        check=True,
        timeout=120,
    )
    return read_log(folder / 'log')


class Cut:
    """A power cut, and what was found after it.

    Attributes:
        acknowledged: Time of each record's acknowledgement by id and revision, before the cut.
        now_s: The buffer's time at the cut.
        found: What is in the file, by id and revision.
        set_aside: Why the file was not usable; empty: it was.
    """

    def __init__(self, folder, disk, notes, how, random):
        self.acknowledged = {}
        self.now_s = 0.0
        for line in notes.decode().splitlines():
            time_s, one, revision = line.split()
            self.now_s = float(time_s)
            self.acknowledged[one, int(revision)] = self.now_s
        folder.mkdir()
        for name, content in disk.after_cut(how, random).items():
            if not name.endswith('-shm'):  # SQLite makes it anew
                (folder / name).write_bytes(content)
        opened = open_database(folder / 'experience.db')
        self.set_aside = opened.reason
        lines = list(ExperienceStore(opened.database).all_lines())
        opened.database.conn.close()
        self.found = {(line.id, line.revision) for line in lines}
        assert len(self.found) == len(lines)
        for line in lines:
            record = from_line(line.body)
            assert (record.id, getattr(record, 'revision', 0)) == (line.id, line.revision)

    @property
    def lost(self):
        """Times of what was acknowledged and is not there."""
        return [at for key, at in self.acknowledged.items() if key not in self.found]


def cuts(folder, log, count, seed):
    """Yield power cuts at random places of a log, in order."""
    random = Random(seed)
    places = sorted(random.sample(range(len(log)), count))
    disk, notes, notes_file = Disk(), bytearray(), None
    for place, operation in enumerate(log):
        if operation.kind == 'N' and operation.name == 'acknowledged':
            notes_file = operation.file
        if operation.file == notes_file and operation.kind == 'W':
            notes += operation.data
        disk.take(operation)
        if place in places:
            # The last line may be half there only in the log of a process that was killed.
            yield Cut(folder / f'cut_{place}', disk, bytes(notes), random.choice(HOW), random)


def test_whatever_was_acknowledged_survives_a_power_cut(tmp_path, library):
    log = written(tmp_path, library, 'commit', seed=1)
    acknowledged = 0
    for cut in cuts(tmp_path, log, 80, seed=2):
        assert cut.set_aside == ''
        assert cut.lost == []
        acknowledged = max(acknowledged, len(cut.acknowledged))
    assert acknowledged > 300


def test_with_an_interval_no_more_is_lost_than_it_says(tmp_path, library):
    log = written(tmp_path, library, 'interval', seed=3)
    lost = 0
    for cut in cuts(tmp_path, log, 80, seed=4):
        assert cut.set_aside == ''
        lost += len(cut.lost)
        # A burst is acknowledged before the log is synced for the one before.
        assert all(cut.now_s - at < INTERVAL_S + STEP_S + 1e-6 for at in cut.lost)
    assert lost > 50, 'nothing was lost: this test sees no unsynced writes'


def test_without_syncing_something_would_have_been_lost(tmp_path, library):
    log = written(tmp_path, library, 'off', seed=1)
    found = Counter()
    for cut in cuts(tmp_path, log, 40, seed=2):
        found['lost'] += bool(cut.lost)
        found['broken'] += bool(cut.set_aside)
    assert found['lost'] > 10


def test_the_log_holds_all_that_was_written(tmp_path, library):
    log = written(tmp_path, library, 'commit', seed=5)
    disk = Disk()
    kinds = Counter()
    for operation in log:
        disk.take(operation)
        kinds[operation.kind] += 1
    made = disk.after_cut('everything', Random(0))
    real = {one.name: one.read_bytes() for one in (tmp_path / 'disk').iterdir()}
    for name in ('experience.db', 'experience.db-wal', 'acknowledged'):
        assert made[name] == real[name]
    assert set(kinds) >= set('NWSDU')
