# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Puts a calibration in force as parameters, keeps it in a file, and brings it back."""

from __future__ import annotations

import dataclasses
import os
from datetime import datetime, timezone
from pathlib import Path

from rclpy.node import Node
from rclpy.parameter import Parameter

from thinking_policy.policy import Calibration, PolicyError
from thinking_policy.ros.calibration_file import (
    BASELINE,
    Numbers,
    file_content,
    read_calibration,
)
from thinking_policy.ros.parameters import NodeParameters
from thinking_policy.ros.recalled_file import RecalledFile, default_path
from thinking_policy.situation import SituationConfig


class CalibrationKeeper:
    """What a live calibration learns is in the parameters, so that tools show and dump it.

    The file is written in a thread of its own.
    """

    def __init__(self, node: Node, parameters: NodeParameters) -> None:
        """Note the baseline that the user gave; nothing is read yet."""
        self._node, self._parameters = node, parameters
        self._given = self._ours = _baselines(parameters.situation)
        self._file: RecalledFile | None = None

    @property
    def path(self) -> Path | None:
        """Where it is kept, None where it isn't: under sim time, unless a file is named."""
        option = self._parameters.options.calibration_path
        if option == 'none' or (not option and self._node.get_clock().ros_time_is_active):
            return None
        if option:
            return Path(option).expanduser()
        return default_path(self._node.get_fully_qualified_name(), os.environ, 'calibration')

    @property
    def failure(self) -> str:
        """Why the file could not be written; empty where it could."""
        return '' if self._file is None else self._file.last_failure

    def restore(self) -> None:
        """Put in force what was learned before a restart, unless it is out of date.

        A baseline that somebody has set since the node began stays.
        """
        if self.path is None or _baselines(self._parameters.situation) not in (
            self._given,
            self._ours,
        ):
            return
        numbers, line = read_calibration(self.path, self._as_given())
        if numbers:
            self._set(numbers)
            self._node.get_logger().info(line)
        elif line:
            self._node.get_logger().warning(line)

    def take(self, calibration: Calibration) -> None:
        """Put in force what was learned, and keep it."""
        pairs = zip(calibration.signals, calibration.mean, calibration.spread, strict=True)
        self._set(
            {
                f'signals.{name}.{key}': number
                for name, *pair in pairs
                for key, number in zip(BASELINE, pair, strict=True)
            }
        )
        where = self.path
        for name, reason in calibration.problems.items():
            self._node.get_logger().info(f'calibration: {name} is judged by its range: {reason}')
        self._node.get_logger().info(
            f'calibrated: {calibration.kept:.0%} of the ticks counted as normal; '
            + (f'to be kept in {where}' if where else 'not kept: calibration_path names no file')
        )
        if where is not None:
            self.close()
            self._file = RecalledFile(where)
            at = datetime.now(timezone.utc).isoformat(timespec='seconds')
            self._file.offer(file_content(calibration, self._as_given(), at))

    def close(self) -> None:
        """Write what isn't written."""
        if self._file is not None and not self._file.close():
            self._node.get_logger().warning(f'{self._file.path}: not written in time')
        self._file = None

    def _as_given(self) -> SituationConfig:
        """Return the configuration as it is but for the baseline, which is as the user gave it."""
        situation = self._parameters.situation
        signals = [
            dataclasses.replace(signal, **dict(zip(BASELINE, map(float, pair), strict=True)))
            for signal, pair in zip(situation.signals, self._given, strict=True)
        ]
        return dataclasses.replace(situation, signals=tuple(signals))

    def _set(self, numbers: Numbers) -> None:
        result = self._node.set_parameters_atomically(
            [Parameter(name, value=number) for name, number in numbers.items()]
        )
        if not result.successful:
            raise PolicyError(f'calibration: {result.reason}')
        self._ours = _baselines(self._parameters.situation)


def _baselines(situation: SituationConfig) -> tuple[tuple[str, str], ...]:
    """Return mean and spread of every signal as text, in which NaN is like NaN."""
    return tuple((repr(s.baseline_mean), repr(s.baseline_spread)) for s in situation.signals)
