# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a healthy robot does all day, and how its signals follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thinking_policy.training.scenarios import TICK_S

# Work modes: ranges of load and motion.
_MODES = {
    'idle': ((0.12, 0.3), (0.0, 0.04)),
    'drive': ((0.25, 0.45), (0.35, 0.7)),
    'heavy': ((0.45, 0.68), (0.1, 0.45)),
}


@dataclass(frozen=True)
class WorkHabits:
    """How a robot works and how its signals follow the work.

    Attributes:
        current: Current at rest, and what load and motion add to it.
        vibration: Vibration at rest, and what load and motion add to it.
        heat: Temperature at rest, and what the current adds to it in the long run.
        heating_s: Time constant of the temperature; seconds.
        inertia_s: Time constant of motion and load; seconds.
        mode_s: Mean time in one work mode; seconds.
        view: Middle of visibility.
        roaming: How quickly distances change while driving; 1/s.
    """

    current: tuple[float, float, float]
    vibration: tuple[float, float, float]
    heat: tuple[float, float]
    heating_s: float
    inertia_s: float
    mode_s: float
    view: float
    roaming: float


def draw_habits(random: np.random.Generator) -> WorkHabits:
    """Return the habits of another robot."""
    draw = random.uniform
    return WorkHabits(
        current=(draw(0.06, 0.16), draw(0.3, 0.55), draw(0.05, 0.2)),
        vibration=(draw(0.04, 0.12), draw(0.1, 0.25), draw(0.12, 0.3)),
        heat=(draw(0.1, 0.25), draw(0.3, 0.6)),
        heating_s=math.exp(draw(math.log(40.0), math.log(300.0))),
        inertia_s=draw(0.3, 1.5),
        mode_s=draw(8.0, 40.0),
        view=draw(0.64, 0.82),
        roaming=draw(0.02, 0.2),
    )


class Work:
    """The healthy part of a life, one tick after the other."""

    def __init__(self, habits: WorkHabits, random: np.random.Generator) -> None:
        """Begin in any work mode, with the heat that it had long enough to reach."""
        self._habits = habits
        self._random = random
        self._mode = ''
        self._steady = False
        self._change_mode()
        self._load, self._motion = self._load_target, self._motion_target
        rest, gain = habits.heat
        self._temperature = rest + gain * self._current() * random.uniform(0.6, 1.2)
        self._distance = self._distance_target = random.uniform(0.35, 1.0)
        self._visibility = habits.view

    def enter(self, mode: str, steady: bool) -> None:
        """Begin a phase.

        Args:
            mode: Work mode to be in; empty: the present one.
            steady: Whether the mode stays for the whole phase.
        """
        self._steady = steady or bool(mode)
        if mode and mode != self._mode:
            self._change_mode(mode)

    def step(self, pace: float) -> list[float]:
        """Live on for one tick and return the seven scaled values without fault or noise."""
        habits, random = self._habits, self._random
        seconds = TICK_S * pace
        if not self._steady and random.random() < seconds / habits.mode_s:
            self._change_mode()
        follow = 1 - math.exp(-seconds / habits.inertia_s)
        self._load += follow * (self._load_target - self._load) + 0.008 * random.standard_normal()
        self._motion += follow * (self._motion_target - self._motion)
        current = self._current()
        rest, gain = habits.heat
        heat_target = rest + gain * current
        self._temperature += seconds / habits.heating_s * (heat_target - self._temperature)
        self._look_about(seconds)
        still, by_load, by_motion = habits.vibration
        vibration = still + by_load * self._load + by_motion * self._motion
        return [
            self._temperature,
            current,
            vibration,
            self._distance,
            self._visibility,
            self._motion,
            self._load,
        ]

    def _current(self) -> float:
        still, by_load, by_motion = self._habits.current
        return still + by_load * self._load + by_motion * self._motion

    def _change_mode(self, mode: str = '') -> None:
        names = [name for name in _MODES if name != self._mode]
        self._mode = mode or names[self._random.integers(len(names))]
        load, motion = _MODES[self._mode]
        self._load_target = self._random.uniform(*load)
        self._motion_target = self._random.uniform(*motion)

    def _look_about(self, seconds: float) -> None:
        habits, random = self._habits, self._random
        # Another view now and then: a corner turned, somebody passing by.
        if random.random() < seconds * (0.02 + 0.1 * self._motion):
            self._distance_target = random.uniform(0.25, 1.1)
            if random.random() < 0.3:
                self._distance = self._distance_target
        step = self._distance_target - self._distance
        reach = seconds * habits.roaming * (0.3 + self._motion)
        self._distance += max(-reach, min(reach, step))
        self._visibility += (
            seconds / 20.0 * (habits.view - self._visibility)
            + 0.01 * math.sqrt(seconds) * random.standard_normal()
        )
        self._visibility = max(habits.view - 0.14, min(habits.view + 0.14, self._visibility))
