# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The last T samples of every signal, scaled to nominal ranges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CLIP = 10.0  # nominal ranges: beyond this a value is as far off as can be told


class Window:
    """T samples × F signals; a column moves on only when its signal has a new sample."""

    def __init__(self, length: int, nominal: Sequence[tuple[float, float]]) -> None:
        self._nominal = tuple(nominal)
        self._values = np.zeros((length, len(self._nominal)), np.float32)
        self._valid = np.zeros((length, len(self._nominal)), np.bool_)

    def clear(self) -> None:
        """Forget all samples."""
        self._values[:] = 0.0
        self._valid[:] = False

    def push(self, column: int, value: float | None) -> None:
        """Append a sample in the signal's unit, or None for one that is not valid."""
        self._values[:-1, column] = self._values[1:, column]
        self._valid[:-1, column] = self._valid[1:, column]
        self._values[-1, column] = 0.0 if value is None else scaled(value, *self._nominal[column])
        self._valid[-1, column] = value is not None

    def snapshot(self) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return read-only copies: float32 [T, F] and bool [T, F], oldest first."""
        values, valid = self._values.copy(), self._valid.copy()
        values.flags.writeable = False
        valid.flags.writeable = False
        return values, valid


def scaled(value: float, low: float, high: float) -> float:
    """Return a finite value on the scale where `low` is 0 and `high` is 1, within ±10."""
    return max(-CLIP, min(CLIP, (value - low) / (high - low)))
