# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Situations, moments and records for tests; the same arguments give the same ones."""

from __future__ import annotations

import hashlib

import numpy as np

from thinking_policy.experience.record import (
    Activation,
    Amendment,
    Experience,
    Observation,
    ObservationKind,
    Reason,
    stored,
    time_ordered_id,
)
from thinking_policy.experience.recorder import Moment
from thinking_policy.situation import Event, EventKind, Reading, SignalState, Situation

START_NS = 1_766_000_000_000_000_000
TICK_NS = 500_000_000
SIGNALS = ('temperature', 'current', 'vibration')


def situation(
    tick=0, *, length=4, signals=SIGNALS, episode='one', events=(), new=0, start=START_NS
):
    random = np.random.default_rng(tick)
    shape = (length, len(signals))
    valid = random.random(shape) > 0.2
    return Situation(
        stamp_ns=start + tick * TICK_NS,
        tick=tick,
        episode=episode,
        period_s=TICK_NS / 1e9,
        signals=tuple(signals),
        window=np.where(valid, random.random(shape, np.float32), np.float32(0)),
        valid=valid,
        readings=tuple(Reading(name, SignalState.OK, float(tick), 0.25) for name in signals),
        new_events=tuple(events)[len(events) - new :],
        events=tuple(events),
        recalled=(),
    )


def event(code, stamp_ns=START_NS):
    return Event(stamp_ns, EventKind.TOPIC, code, '/events', float('nan'))


def moment(tick=0, *, active=(), novelty=0.1, **changes):
    return Moment(
        situation=situation(tick, **changes),
        policy_version='v1',
        activations=tuple(
            Activation(
                id=name,
                probability=0.9 if name in active else 0.1,
                threshold=0.5,
                active=name in active,
            )
            for name in ('trend', 'cause')
        ),
        novelty=novelty,
        novelty_threshold=0.8,
    )


def observation(kind='outcome', stamp_ns=START_NS, **fields):
    return Observation(kind=ObservationKind(kind), stamp_ns=stamp_ns, **fields)


def experience(number=0, *, robot='robot', labelled=False, text='', **changes):
    """Return the experience of a tick; its id follows from number and robot."""
    seen = situation(number, **changes)
    random = hashlib.sha256(f'{robot} {number}'.encode()).digest()[:10]
    told = (observation(text=text),) if labelled else ()
    if text and not labelled:
        told = (observation('trace', text=text),)
    return Experience(
        id=time_ordered_id(seen.stamp_ns, random),
        robot=robot,
        reasons=(Reason.SAMPLE,),
        policy_version='v1',
        situation=stored(seen),
        activations=moment().activations,
        novelty=0.1,
        novelty_threshold=0.8,
        observations=told,
    )


def amendment(of, revision=1, kind='outcome', **fields):
    return Amendment(
        id=of.id, robot=of.robot, revision=revision, observation=observation(kind, **fields)
    )
