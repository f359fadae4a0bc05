# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Situations of simulated lives: what a robot would see, and what that calls for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.manifest import ManifestSignal
from thinking_policy.training.learning_set import LearningSet, concatenate
from thinking_policy.training.scenarios import (
    ACTIVITIES,
    CROSS_SIGNAL,
    SCENARIOS,
    SIGNAL_NAMES,
    SIGNALS,
    TICK_S,
    Phase,
)
from thinking_policy.training.simulator import Identity, draw_identity, record

WINDOW_LENGTH = 10
# After a phase, its thinking may linger this many ticks at usual pace without being wrong.
OVER_AFTER = 7
# Share of a window's samples from which a signal counts as seen, and below which as not seen.
SEEN, UNSEEN = 0.5, 0.15
HEALTHY_SHARE = 0.4
LEARNED_SIGNALS = tuple(
    ManifestSignal(s.name, s.unit, s.nominal_low, s.nominal_high, TICK_S) for s in SIGNALS
)
_COUNT = len(SIGNAL_NAMES)


@dataclass(frozen=True)
class Recording:
    """One life as the situation would have it, tick by tick.

    Attributes:
        values: float32 [n, F], scaled, 0 where invalid.
        valid: bool [n, F].
        phases: n phases.
        since: Ticks since the phase began, int64 [n], from 1.
        pace: The robot's pace.
    """

    values: NDArray[np.float32]
    valid: NDArray[np.bool_]
    phases: Sequence[Phase]
    since: NDArray[np.int64]
    pace: float


@dataclass(frozen=True)
class Disturbance:
    """How badly samples get lost.

    Attributes:
        drop: Share of samples lost at random; None: drawn for each life, 0 to 0.6.
        missing: Share of lives that lack whole signals.
        odd: Share of lives with coarse, slow and stuck sensors and single samples far off.
    """

    drop: float | None = None
    missing: float = 0.5
    odd: float = 0.5


AS_TRAINED = Disturbance()
CLEAN = Disturbance(drop=0.0, missing=0.0, odd=0.0)


def draw_recording(
    scenario: str,
    ticks: int,
    random: np.random.Generator,
    disturbance: Disturbance,
    identity: Identity | None = None,
) -> Recording:
    """Record a life of a robot that nobody has met before, from some moment on.

    Args:
        scenario: A name in `SCENARIOS`.
        ticks: n, length.
        random: Decides everything.
        disturbance: How badly samples get lost.
        identity: The robot; None: another one.
    """
    identity = identity or draw_identity(random)
    skip = int(random.integers(0, 80))
    values, phases, since = record(scenario, identity, random, ticks + skip)
    values, phases, since = values[skip:], phases[skip:], since[skip:]
    valid = np.ones(values.shape, np.bool_)
    if random.random() < disturbance.odd:
        _slow_down(values, random)
        _add_noise(values, random)
        if scenario == 'healthy':
            # In a fault a signal that never moves would hide it or feign another.
            _freeze(values, random)
    if random.random() < disturbance.missing:
        _take_signals_away(valid, random)
    drop = (
        random.choice((0.0, random.uniform(0.0, 0.6)))
        if disturbance.drop is None
        else disturbance.drop
    )
    valid &= random.random(valid.shape) >= drop
    values = np.where(valid, np.clip(values, -10, 10), 0.0)
    return Recording(values.astype(np.float32), valid, phases, since, identity.pace)


def windows_of(
    recording: Recording, length: int = WINDOW_LENGTH
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the window at every tick, [n, T, F]; the first ones are not full yet."""
    before = ((length - 1, 0), (0, 0))
    pick = np.arange(len(recording.values))[:, None] + np.arange(length)[None, :]
    return np.pad(recording.values, before)[pick], np.pad(recording.valid, before)[pick]


def labels_of(
    recording: Recording, valid: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what each tick's window calls for.

    A phase's activities are right from when the phase can be told (`Phase.seen_after`), as long
    as the signals that show it are seen; while either answer is right the weight is 0. Two
    signals can't be compared when one of them is not there: then the answer is 0.

    Args:
        recording: n ticks.
        valid: bool [n, T, F], its windows' validity.

    Returns:
        Labels and weights, float32 [n, G].
    """
    seen = valid.mean(axis=1)
    labels = np.zeros((len(seen), len(ACTIVITIES)), np.float32)
    weight = np.ones_like(labels)
    before: tuple[str, ...] = ()
    for tick, (phase, since) in enumerate(zip(recording.phases, recording.since, strict=True)):
        if since == 1 and tick:
            before = recording.phases[tick - 1].activities
        elapsed = since * recording.pace
        share = [seen[tick, SIGNAL_NAMES.index(name)] for name in phase.shown_by]
        for index, activity in enumerate(ACTIVITIES):
            if activity in phase.activities:
                label, sure = _seen(activity, share)
                labels[tick, index] = label
                early = elapsed < phase.seen_after and activity not in before
                weight[tick, index] = sure and not early
            elif activity in before and elapsed < OVER_AFTER:
                weight[tick, index] = 0.0
    return labels, weight


def draw_learning_set(
    lives: int, ticks: int, random: np.random.Generator, disturbance: Disturbance = AS_TRAINED
) -> LearningSet:
    """Return the situations of many lives of robots of which no two are alike.

    Args:
        lives: How many; each is an episode.
        ticks: Rows that each life gives.
        random: Decides everything.
        disturbance: How badly samples get lost.
    """
    faults = [name for name in SCENARIOS if name != 'healthy']
    parts = []
    for life in range(lives):
        healthy = random.random() < HEALTHY_SHARE
        scenario = 'healthy' if healthy else faults[life % len(faults)]
        parts.append(situations_of(draw_recording(scenario, ticks, random, disturbance)))
    return concatenate(parts)


def situations_of(recording: Recording) -> LearningSet:
    """Return one row for each tick of a recording."""
    window, valid = windows_of(recording)
    labels, weight = labels_of(recording, valid)
    return LearningSet(
        window,
        valid,
        labels,
        weight,
        np.zeros(len(window), np.int64),
        ACTIVITIES,
        LEARNED_SIGNALS,
        TICK_S,
    )


def _seen(activity: str, share: Sequence[float]) -> tuple[float, bool]:
    """Return the label of an activity that is due, and whether it is sure."""
    if min(share) >= SEEN:
        return 1.0, True
    if max(share) < UNSEEN or (activity.startswith(CROSS_SIGNAL) and min(share) < UNSEEN):
        return 0.0, True
    return 1.0, False


def _slow_down(values: NDArray[np.float64], random: np.random.Generator) -> None:
    """Let some sensors speak every second or third tick only; between, the last value holds."""
    for signal in range(_COUNT):
        every = int(random.choice((1, 1, 2, 3)))
        ticks = np.arange(len(values))
        values[:, signal] = values[ticks - ticks % every, signal]


def _add_noise(values: NDArray[np.float64], random: np.random.Generator) -> None:
    """Make some sensors coarse, and let single samples be far off."""
    coarse = random.uniform(0.02, 0.08, _COUNT) * (random.random(_COUNT) < 0.2)
    values += coarse * random.standard_normal(values.shape)
    rate = random.uniform(0.0, 0.01)
    hit = random.random(values.shape) < rate
    values[hit] += random.uniform(-0.5, 0.5, int(hit.sum()))


def _freeze(values: NDArray[np.float64], random: np.random.Generator) -> None:
    """Let some signals of a healthy robot say one thing only, such as a driver that sends 0."""
    unused = [SIGNAL_NAMES.index(name) for name in ('current', 'vibration', 'motion', 'load')]
    for signal in range(_COUNT):
        if random.random() < 0.15:
            values[:, signal] = values[0, signal]
            if signal in unused and random.random() < 0.5:
                values[:, signal] = 0.0


def _take_signals_away(valid: NDArray[np.bool_], random: np.random.Generator) -> None:
    gone = random.random(_COUNT) < random.uniform(0.1, 0.5)
    gone[random.integers(_COUNT)] = False
    valid[:, gone] = False
    if random.random() < 0.5:
        signal, start = random.integers(_COUNT), random.integers(len(valid))
        valid[start : start + random.integers(3, 40), signal] = False
