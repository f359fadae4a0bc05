# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The experiences that `buffer.py` stores and sends."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thinking_policy.experience.record import (
    Activation,
    Experience,
    Reason,
    stored,
    time_ordered_id,
)
from thinking_policy.situation import Event, EventKind, Reading, SignalState, Situation

START_NS = 1_766_000_000_000_000_000


@dataclass(frozen=True)
class Load:
    """Records of one robot: a window of T samples of F signals, and so many activities."""

    name: str
    samples: int
    signals: int
    activities: int
    count: int


LOADS = (
    Load('the bundled policy', 10, 7, 10, 20_000),
    Load('a wheeled robot', 60, 20, 10, 12_000),
    Load('an arm', 200, 40, 10, 2_500),
)


def records(load: Load, count: int, first: int = 0) -> Iterator[Experience]:
    """Yield experiences of a load, all different; `first` is the first one's tick."""
    random = np.random.default_rng(7)
    names = tuple(f'signal_{index}' for index in range(load.signals))
    for number in range(first, first + count):
        stamp_ns = START_NS + number * 500_000_000
        event = Event(stamp_ns - 10**9, EventKind.LIMIT, 'temperature_high', names[0], 71.5)
        shape = load.samples, load.signals
        situation = Situation(
            stamp_ns=stamp_ns,
            tick=number,
            episode='benchmark',
            period_s=0.5,
            signals=names,
            window=random.random(shape, np.float32),
            valid=random.random(shape) > 0.05,
            readings=tuple(
                Reading(name, SignalState.OK, value, 0.25)
                for name, value in zip(names, random.random(load.signals).tolist(), strict=True)
            ),
            new_events=(),
            events=(event,),
            recalled=(),
        )
        yield Experience(
            id=time_ordered_id(stamp_ns, hashlib.sha256(str(number).encode()).digest()[:10]),
            robot='robot_1',
            reasons=(Reason.SAMPLE,),
            policy_version='0' * 16,
            situation=stored(situation),
            activations=tuple(
                Activation(id=f'activity_{index}', probability=p, threshold=0.5, active=p > 0.5)
                for index, p in enumerate(random.random(load.activities).tolist())
            ),
            novelty=0.1,
            novelty_threshold=0.8,
        )
