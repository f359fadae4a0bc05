# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Learns what is normal while the node runs: collects ticks, then fits once.

Only the baseline of the novelty is learned. Nominal ranges decide what the policy sees; they stay
as they are, and `thinking-policy calibrate` takes them from a recording.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy import (
    Calibration,
    HealthyStretch,
    PolicyError,
    fewest_ticks,
)
from thinking_policy.situation import Situation, SituationConfig

_BLOCK = 256  # windows that are summed up together


class CalibrationState(enum.Enum):
    """How the last calibration of this activation stands."""

    NONE = 'none'
    RUNNING = 'running'
    DONE = 'done'
    FAILED = 'failed'
    CANCELLED = 'cancelled'


@dataclass(frozen=True)
class CalibrationProgress:
    """What is said of it: state, ticks collected of how many, lines for people."""

    state: CalibrationState
    ticks: int
    of: int
    message: str
    unkept: str = ''


class LiveCalibration:
    """One calibration at a time; in the executor's thread.

    Attributes:
        unkept: Why what was learned is not in its file; empty where it is.
    """

    def __init__(self, config: SituationConfig) -> None:
        """Begin with none running.

        Args:
            config: What the situations are made with.
        """
        self._config = config
        self._stretch = HealthyStretch(config)
        self._windows: list[tuple[NDArray[np.float32], NDArray[np.bool_]]] = []
        self._false_alarms = 0.0
        self._silent = 0
        self.unkept = ''
        self._state, self._ticks, self._of = CalibrationState.NONE, 0, 0
        self._message = 'none asked for'

    @property
    def progress(self) -> CalibrationProgress:
        """How it stands."""
        return CalibrationProgress(self._state, self._ticks, self._of, self._message, self.unkept)

    @property
    def is_running(self) -> bool:
        """Whether ticks are being collected."""
        return self._state is CalibrationState.RUNNING

    def begin(self, length_s: float, false_alarms: float) -> str:
        """Begin to collect.

        Args:
            length_s: Length of the stretch, seconds.
            false_alarms: Rate asked for, of windows that do not overlap.

        Returns:
            A line for whoever asked.

        Raises:
            PolicyError: One is running, or the stretch would be too short.
        """
        period_s, fewest = self._config.tick_period_s, fewest_ticks(self._config)
        if self.is_running:
            raise PolicyError(
                f'already running: {self._ticks} of {self._of} ticks; cancel it with data: false'
            )
        ticks = math.ceil(length_s / period_s - 1e-9)
        if ticks < fewest:
            raise PolicyError(
                f'calibration_s: {length_s:g} s are {ticks} ticks; at least {fewest} are needed '
                f'({fewest * period_s:g} s)'
            )
        self._stretch, self._windows = HealthyStretch(self._config), []
        self._false_alarms, self._silent = false_alarms, 0
        self._state, self._ticks, self._of = CalibrationState.RUNNING, 0, ticks
        self._message = f'collecting {ticks} ticks ({ticks * period_s:g} s)'
        return (
            f'{self._message}: let the robot work as it should; /diagnostics says how far it is, '
            'data: false cancels it'
        )

    def cancel(self, reason: str) -> str:
        """End it without a result.

        Returns:
            A line for whoever asked.

        Raises:
            PolicyError: None is running.
        """
        if not self.is_running:
            raise PolicyError('none is running')
        self._state = CalibrationState.CANCELLED
        self._message = f'{reason} after {self._ticks} of {self._of} ticks; all is as before'
        self._forget()
        return self._message

    def see(self, situation: Situation) -> Calibration | None:
        """Take the next tick; a tick without any usable sample says nothing and doesn't count.

        Returns:
            What was learned, with the last tick that is needed; else None.
        """
        if not self.is_running:
            return None
        if not situation.valid.any():
            self._silent += 1
            self._message = self._so_far()
            return None
        self._windows.append((situation.window, situation.valid))
        self._ticks += 1
        if len(self._windows) == _BLOCK or self._ticks == self._of:
            windows, valid = zip(*self._windows, strict=True)
            self._stretch.add(np.stack(windows), np.stack(valid))
            self._windows = []
        self._message = self._so_far()
        return self._finished() if self._ticks == self._of else None

    def _so_far(self) -> str:
        counted = f'{self._ticks} of {self._of} ticks'
        if not self._silent:
            return counted
        return f'{counted}; {self._silent} without a usable sample did not count'

    def _finished(self) -> Calibration | None:
        try:
            calibration = self._stretch.calibrate(false_alarms=self._false_alarms)
        except PolicyError as error:
            self._state, self._message = CalibrationState.FAILED, f'{error}; all is as before'
            return None
        finally:
            self._forget()
        self._state = CalibrationState.DONE
        judged = len(calibration.signals) - len(calibration.problems)
        self._message = (
            f'{judged} of {len(calibration.signals)} signals from {self._ticks} ticks, '
            f'{calibration.kept:.0%} of them counted as normal'
        )
        return calibration

    def _forget(self) -> None:
        self._stretch, self._windows = HealthyStretch(self._config), []
