# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From probabilities to the active set, without flicker."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinking_policy.policy.errors import PolicyError

DEFAULT_HOLD_S = 2.0


class ActivationFilter:
    """The active set of Eq. 16, with hysteresis and a minimum hold.

    An activity becomes active when its probability reaches the on-threshold, and ends when the
    probability is below the off-threshold and it has been active for the minimum hold. Becoming
    active is never delayed: a fault right after another must not wait.
    """

    def __init__(
        self, on: ArrayLike, off: ArrayLike, minimum_hold_s: float = DEFAULT_HOLD_S
    ) -> None:
        """Start with nothing active.

        Args:
            on: On-thresholds [G], 0...1.
            off: Off-thresholds [G], each at most its on-threshold.
            minimum_hold_s: Shortest time an activity stays active; seconds.

        Raises:
            PolicyError: Wrong shapes or ranges.
        """
        self._on, self._off, self._hold_ns = _checked(on, off, minimum_hold_s)
        self._active = np.zeros(len(self._on), np.bool_)
        self._since_ns = np.zeros(len(self._on), np.int64)
        self._episode: str | None = None

    def configure(self, on: ArrayLike, off: ArrayLike, minimum_hold_s: float) -> None:
        """Change thresholds and hold; what is active stays so until the next update.

        Raises:
            PolicyError: Wrong shapes or ranges; nothing is changed then.
        """
        above, below, hold_ns = _checked(on, off, minimum_hold_s)
        if above.shape != self._on.shape:
            raise PolicyError(f'thresholds: expected {len(self._on)} values, found {len(above)}')
        self._on, self._off, self._hold_ns = above, below, hold_ns

    def reset(self) -> None:
        """Let nothing be active, as before the first update."""
        self._active[:] = False
        self._episode = None

    def update(
        self, probability: NDArray[np.float32], stamp_ns: int, episode: str
    ) -> NDArray[np.bool_]:
        """Take the probabilities of one tick and return what is active after it.

        Args:
            probability: float32 [G], 0...1. NaN changes nothing.
            stamp_ns: End of the tick; nanoseconds.
            episode: Another episode starts with nothing active.

        Returns:
            bool [G], the caller's own.
        """
        if episode != self._episode:
            self._active[:] = False
            self._episode = episode
        # A clock that went back would otherwise hold an activity for ever.
        np.minimum(self._since_ns, stamp_ns, out=self._since_ns)
        ending = self._active & (probability < self._off)
        ending &= stamp_ns - self._since_ns >= self._hold_ns
        starting = ~self._active & (probability >= self._on)
        self._active ^= ending | starting
        self._since_ns[starting] = stamp_ns
        return self._active.copy()


def _checked(
    on: ArrayLike, off: ArrayLike, minimum_hold_s: float
) -> tuple[NDArray[np.float32], NDArray[np.float32], int]:
    # float32 as the probabilities and the published thresholds are: 0.7 reaches 0.7.
    above, below = np.array(on, np.float32), np.array(off, np.float32)
    if above.ndim != 1 or above.shape != below.shape:
        raise PolicyError(
            f'thresholds: expected two lists of one length, found shapes {above.shape} and '
            f'{below.shape}'
        )
    if not (np.all(below >= 0) and np.all(below <= above) and np.all(above <= 1)):
        raise PolicyError(
            f'thresholds: expected 0 <= off <= on <= 1, found on {above.tolist()} and off '
            f'{below.tolist()}'
        )
    if not 0 <= minimum_hold_s < 1e6:
        raise PolicyError(f'minimum hold: expected seconds in 0...1e6, found {minimum_hold_s}')
    return above, below, round(minimum_hold_s * 1e9)
