# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiences in a real file, and the command that looks at them."""

from __future__ import annotations

import hashlib

import pytest


@pytest.fixture
def experience(capsys):
    """Return a function that runs `thinking-policy experience …` → (exit code, stdout, stderr)."""
    from thinking_policy.cli.main import main

    def run(*words):
        capsys.readouterr()
        code = main(['experience', *map(str, words)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def make_experience():
    """Return a function that makes an experience: the n-th of a robot, a second after the last."""
    np = pytest.importorskip('numpy')
    pytest.importorskip('pydantic')
    from thinking_policy.experience.record import (
        Activation,
        Experience,
        Observation,
        ObservationKind,
        Reason,
        time_ordered_id,
    )
    from thinking_policy.experience.stored_situation import stored
    from thinking_policy.situation import Event, EventKind, Reading, SignalState, Situation

    def make(n=0, *, robot='walker', episode='walker-1', reason='sample', active=(), outcome='',
             novelty=0.5, start_ns=1_700_000_000 * 10**9):  # fmt: skip
        stamp_ns = start_ns + n * 10**9
        window = np.stack([np.linspace(0.0, 1.0, 8), np.full(8, 0.5)], axis=1).astype(np.float32)
        valid = np.ones((8, 2), bool)
        valid[:3, 1] = False
        window[~valid] = 0.0
        situation = Situation(
            stamp_ns=stamp_ns,
            tick=n,
            episode=episode,
            period_s=1.0,
            signals=('heat', 'dust'),
            window=window,
            valid=valid,
            readings=(
                Reading('heat', SignalState.OK, 100.0, 0.25),
                Reading('dust', SignalState.STALE, float('nan'), 4.0),
            ),
            new_events=(),
            events=(Event(stamp_ns - 2 * 10**9, EventKind.LIMIT, 'heat_high', 'heat', 91.0),),
            recalled=(),
        )
        observations = ()
        if outcome:
            kind = ObservationKind.OUTCOME
            observations = (Observation(kind=kind, stamp_ns=stamp_ns, code=outcome, reward=-1.0),)
        return Experience(
            id=time_ordered_id(stamp_ns, hashlib.sha256(robot.encode()).digest()),
            robot=robot,
            reasons=(Reason(reason),),
            policy_version='5261670af532da4a',
            situation=stored(situation),
            activations=tuple(
                Activation(id=name, probability=0.75, threshold=0.5, active=name in active)
                for name in ('hazard', 'trend')
            ),
            novelty=novelty,
            novelty_threshold=3.0,
            observations=observations,
        )

    return make


@pytest.fixture
def amend():
    """Return a function that makes an amendment of an experience."""
    from thinking_policy.experience.record import Amendment, Observation, ObservationKind

    def make(experience, code='stuck', *, kind='outcome', after_s=5, **more):
        stamp_ns = experience.situation.stamp_ns + after_s * 10**9
        return Amendment(
            id=experience.id,
            robot=experience.robot,
            revision=stamp_ns // 10**6,
            observation=Observation(
                kind=ObservationKind(kind), stamp_ns=stamp_ns, code=code, **more
            ),
        )

    return make


@pytest.fixture
def keep(tmp_path):
    """Return a function that stores records in a file → its path; `then` is run on the store."""
    pytest.importorskip('sqlite_utils')
    from thinking_policy.experience.entry import entry_of
    from thinking_policy.experience.record import to_line
    from thinking_policy.experience.schema import open_database
    from thinking_policy.experience.store import ExperienceStore

    def store(*records, name='lived.db', tenant='', then=None):
        path = tmp_path / name
        database = open_database(path).database
        try:
            database.conn.execute('BEGIN')
            kept = ExperienceStore(database, tenant)
            kept.add([entry_of(record, to_line(record)) for record in records], 1)
            if then is not None:
                then(kept)
            database.conn.execute('COMMIT')
        finally:
            database.conn.close()
        return path

    return store
