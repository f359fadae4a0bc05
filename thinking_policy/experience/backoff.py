# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""When to try again: later each time, not when all others do, and not sooner for a restart.

Exponential with full jitter, so that a fleet that lost its server does not come back at once:
https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
"""

from __future__ import annotations

import json
import random as _random
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from tenacity import RetryCallState, Retrying, wait_exponential

from thinking_policy.experience.pauses import LONGEST_RETRY_AFTER_S, Pauses


class Backoff:
    """Counts failures in a row and says how long to wait. One thread uses it.

    Attributes:
        attempts: That failed in a row.
    """

    def __init__(
        self,
        pauses: Pauses,
        *,
        clock_ns: Callable[[], int],
        monotonic: Callable[[], float],
        random: Callable[[], float] = _random.random,
    ) -> None:
        """Begin without a failure.

        Args:
            pauses: How long.
            clock_ns: What outlives a restart, nanoseconds since 1970.
            monotonic: What does not jump, seconds.
            random: Uniform in 0…1.
        """
        self.attempts = 0
        self._pauses = pauses
        self._clock_ns, self._monotonic, self._random = clock_ns, monotonic, random
        self._window = wait_exponential(pauses.first_s, max=pauses.longest_s)
        self._ends_s: float | None = None
        self._for = ''

    def failed(self, retry_after_s: float | None = None, configuration: str = '') -> float:
        """Count a failure.

        Args:
            retry_after_s: What the server asked for; the jitter comes on top of it. None: nothing.
            configuration: With which it failed; see `recall`.

        Returns:
            The pause, seconds.
        """
        self.attempts += 1
        asked_s = min(retry_after_s or 0.0, LONGEST_RETRY_AFTER_S)
        return self._pause(asked_s + self._random() * self._window_s(), configuration)

    def refused(self, configuration: str = '') -> float:
        """Count a failure that waiting alone won't end; return the pause, which is the cap."""
        self.attempts += 1
        return self._pause(self._pauses.longest_s, configuration)

    def succeeded(self) -> bool:
        """Begin anew; return whether there was a failure before."""
        failures, self.attempts, self._ends_s, self._for = self.attempts, 0, None, ''
        return failures > 0

    def remaining_s(self, configuration: str = '') -> float:
        """Return how long it is to wait still; 0 where it failed with another configuration."""
        if self._ends_s is None or configuration != self._for:
            return 0.0
        return max(0.0, self._ends_s - self._monotonic())

    def next_ns(self) -> int:
        """Return when the pause ends, nanoseconds since 1970; 0: there is none."""
        if self._ends_s is None:
            return 0
        return self._clock_ns() + round((self._ends_s - self._monotonic()) * 1e9)

    def kept(self) -> str:
        """Return what a restart has to know."""
        return json.dumps(
            {
                'attempts': self.attempts,
                'not_before_ns': self.next_ns(),
                'configuration': self._for,
            }
        )

    def recall(self, kept: str | None) -> None:
        """Go on where `kept` was written. What can't be read counts as nothing.

        A pause that would be longer than any is cut: the wall clock of a robot may have been
        wrong then.
        """
        try:
            found = json.loads(kept or '{}')
            attempts, not_before_ns = int(found['attempts']), int(found['not_before_ns'])
            self._for = str(found['configuration'])
        except (ValueError, TypeError, KeyError, OverflowError):
            return
        self.attempts = max(0, attempts)
        left_s = (not_before_ns - self._clock_ns()) / 1e9
        if self.attempts and left_s > 0.0:
            longest_s = LONGEST_RETRY_AFTER_S + self._pauses.longest_s
            left_s = self._pauses.longest_s if left_s > longest_s else left_s
            self._ends_s = self._monotonic() + left_s

    def _pause(self, seconds: float, configuration: str) -> float:
        self._for = configuration
        self._ends_s = self._monotonic() + seconds
        return seconds

    def _window_s(self) -> float:
        state = RetryCallState(Retrying(), None, (), {})
        state.attempt_number = self.attempts
        return self._window(state)


def retry_after_s(headers: Mapping[str, str], now_ns: int) -> float | None:
    """Return how long a server asks to wait (RFC 9110, 10.2.3), seconds; None: it doesn't say.

    A date is compared with the server's own `Date` where there is one: the clock of a robot may
    be wrong.

    Args:
        headers: Of its answer, by name in small letters.
        now_ns: Nanoseconds since 1970.
    """
    text = headers.get('retry-after', '').strip()
    if text.isascii() and text.isdecimal():
        return float(min(int(text[:12]), LONGEST_RETRY_AFTER_S))
    at_s = _date_s(text)
    if at_s is None:
        return None
    now_s = _date_s(headers.get('date', ''))
    return min(max(0.0, at_s - (now_ns / 1e9 if now_s is None else now_s)), LONGEST_RETRY_AFTER_S)


def _date_s(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
