# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that lives through a scenario without end: seven scaled signals over time.

Needs numpy only. The same lives become training rows and drive the simulated robot node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.training.scenarios import (
    PHASES,
    SCENARIOS,
    SIGNAL_NAMES,
    TICK_S,
    Effect,
    Phase,
)
from thinking_policy.training.work import Work, WorkHabits, draw_habits

_COUNT = len(SIGNAL_NAMES)
_INDEX = {name: i for i, name in enumerate(SIGNAL_NAMES)}
# Healthy work ends up here, so that offsets and gains turn about it and not about zero.
_CENTRE = np.array([0.36, 0.33, 0.28, 0.6, 0.72, 0.3, 0.4])
_LARGEST_OFFSET = 0.06
# Share of faults during which the robot's work goes on changing.
_BUSY_FAULTS = 0.25


@dataclass(frozen=True)
class Identity:
    """One robot: what sets its sensors and its pace apart from another's.

    Attributes:
        offset: [F] added to each signal.
        gain: [F] about the middle of healthy work.
        noise: [F] standard deviation of a sample.
        pace: How much faster than usual everything happens.
        habits: How it works and how its signals follow the work.
    """

    offset: NDArray[np.float64]
    gain: NDArray[np.float64]
    noise: NDArray[np.float64]
    pace: float
    habits: WorkHabits


@dataclass(frozen=True)
class Moment:
    """The simulated robot at one time: values [F] scaled, the phase and what it calls for."""

    values: NDArray[np.float64]
    phase: str
    activities: tuple[str, ...]


@dataclass(frozen=True)
class Stretch:
    """One phase lived through, tick by tick.

    Attributes:
        phase: What happened.
        values: float64 [n, F] scaled, as the sensors would read without noise.
    """

    phase: Phase
    values: NDArray[np.float64]


def draw_identity(random: np.random.Generator) -> Identity:
    """Return a robot that nobody has met before."""
    return Identity(
        offset=random.uniform(-_LARGEST_OFFSET, _LARGEST_OFFSET, _COUNT),
        gain=random.uniform(0.8, 1.2, _COUNT),
        noise=random.uniform(0.003, 0.025, _COUNT),
        pace=float(random.uniform(0.75, 1.35)),
        habits=draw_habits(random),
    )


def stretches(scenario: str, identity: Identity, random: np.random.Generator) -> Iterator[Stretch]:
    """Yield the phases of a scenario over and over, without end.

    Args:
        scenario: A name in `SCENARIOS`.
        identity: The robot.
        random: Decides durations, sizes of effects and the work.
    """
    work = Work(identity.habits, random)
    added = np.zeros(_COUNT)
    while True:
        for name in SCENARIOS[scenario]:
            phase = PHASES[name]
            ticks = max(
                3, round(random.integers(phase.ticks[0], phase.ticks[1] + 1) / identity.pace)
            )
            fault = bool(phase.activities)
            work.enter(phase.work, steady=fault and random.random() > _BUSY_FAULTS)
            base = np.array([work.step(identity.pace) for _ in range(ticks)])
            effect = np.repeat(added[None, :], ticks, axis=0)
            for signal, change in phase.effects.items():
                i = _INDEX[signal]
                effect[:, i], added[i] = _course(change, float(added[i]), ticks, identity, random)
            yield Stretch(phase, _sensed(base + effect, identity))


def record(
    scenario: str, identity: Identity, random: np.random.Generator, ticks: int
) -> tuple[NDArray[np.float64], list[Phase], NDArray[np.int64]]:
    """Return a noisy recording of at least one phase.

    Args:
        scenario: A name in `SCENARIOS`.
        identity: The robot.
        random: Decides everything else.
        ticks: n, length.

    Returns:
        Values float64 [n, F]; the phase of each tick; ticks since it began int64 [n], from 1.
    """
    values: list[NDArray[np.float64]] = []
    phases: list[Phase] = []
    since: list[int] = []
    for stretch in stretches(scenario, identity, random):
        values.append(stretch.values)
        phases += [stretch.phase] * len(stretch.values)
        since += range(1, len(stretch.values) + 1)
        if len(phases) >= ticks:
            break
    clean = np.concatenate(values)[:ticks]
    noisy = clean + identity.noise * random.standard_normal(clean.shape)
    return noisy, phases[:ticks], np.array(since[:ticks])


class SimulatedRobot:
    """A life at any time, for a node whose sensors have rates of their own.

    Ticks are `TICK_S` apart; between them the signals go straight on. Time may not go back by
    more than a phase.
    """

    def __init__(self, scenario: str, seed: int = 0) -> None:
        """Start a life at time 0.

        Args:
            scenario: A name in `SCENARIOS`.
            seed: The same seed is the same robot in the same life.

        Raises:
            ValueError: No such scenario.
        """
        if scenario not in SCENARIOS:
            raise ValueError(f'no scenario {scenario!r}; there are {sorted(SCENARIOS)}')
        life, noise = np.random.SeedSequence(seed).spawn(2)
        random = np.random.default_rng(life)
        self.identity = draw_identity(random)
        self._noise = np.random.default_rng(noise)
        self._stretches = stretches(scenario, self.identity, random)
        self._first_tick = 0
        self._last = 0
        self._values = np.empty((0, _COUNT))
        self._phases: list[Phase] = []

    def at(self, time_s: float) -> Moment:
        """Return what happens at a time and one noisy sample of all signals.

        Args:
            time_s: Seconds since the life began, 0 or more.
        """
        position = max(0.0, time_s / TICK_S - self._first_tick)
        while position + 2 > len(self._phases):
            position -= self._live_on()
        tick = int(position)
        share = position - tick
        values = (1 - share) * self._values[tick] + share * self._values[tick + 1]
        values = values + self.identity.noise * self._noise.standard_normal(_COUNT)
        phase = self._phases[tick]
        return Moment(values, phase.name, phase.activities)

    def _live_on(self) -> int:
        """Live through another phase, forget all but the last one; return the ticks forgotten."""
        stretch = next(self._stretches)
        forgotten = len(self._phases) - self._last
        self._values = np.concatenate((self._values[forgotten:], stretch.values))
        self._phases = self._phases[forgotten:] + [stretch.phase] * len(stretch.values)
        self._last = len(stretch.values)
        self._first_tick += forgotten
        return forgotten


def _sensed(latent: NDArray[np.float64], identity: Identity) -> NDArray[np.float64]:
    sensed = _CENTRE + identity.offset + identity.gain * (latent - _CENTRE)
    # None of these quantities can be negative.
    return np.asarray(np.maximum(sensed, 0.0))


def _course(
    effect: Effect, start: float, ticks: int, identity: Identity, random: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """Return what an effect adds at each tick [n], and what remains of it afterwards."""
    end = float(random.uniform(effect.low, effect.high))
    now = np.arange(1, ticks + 1)
    if effect.shape in ('peak', 'echo'):
        return start + end * _peaks(now * identity.pace, effect.shape, random), start
    share = now / ticks
    if effect.shape == 'accelerate':
        share = share**2
    elif effect.shape == 'step':
        share = 1 - np.exp(-now * identity.pace / 0.8)
    elif effect.shape == 'rise':
        share = np.minimum(1.0, share * 3)
    elif effect.shape == 'settle':
        share = 1 - np.exp(-4 * share)
    return start + (end - start) * share, end


def _peaks(
    now: NDArray[np.floating[Any]], shape: str, random: np.random.Generator
) -> NDArray[np.float64]:
    """Return 0...1 [n]: a bump every nine ticks; the echo comes four ticks after the peak."""
    late = 4.0 if shape == 'echo' else 0.0
    distance = np.abs((now - 2.0 - late + 4.5) % 9.0 - 4.5)
    bump = np.where(distance < 2.0, 0.5 + 0.5 * np.cos(math.pi * distance / 2.0), 0.0)
    # Before the first peak there is nothing to echo.
    return np.where(now < late, 0.0, bump) * random.uniform(0.9, 1.1)
