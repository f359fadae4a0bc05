# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Errors that a callback let through, and lines for the log: all counted, seldom said."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import Any

REPEAT_S = 60.0  # a complaint that goes on is said again after this, with its count


class Complaints:
    """Says a complaint when it is new, then once a minute while it goes on.

    Attributes:
        errors: How many errors came.
        last_error: The last one, in one line.
    """

    def __init__(self, logger: Any, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing said.

        Args:
            logger: Where to say it: an rclpy logger.
            clock: Steady seconds.
        """
        self.errors = 0
        self.last_error = ''
        self._logger = logger
        self._clock = clock
        self._said: dict[str, tuple[float, int]] = {}

    def error(self, where: str, error: BaseException) -> None:
        """Count an error and say it with the place where it was raised."""
        self.errors += 1
        frames = traceback.extract_tb(error.__traceback__)
        place = f' ({frames[-1].filename}:{frames[-1].lineno})' if frames else ''
        reason = ' '.join(str(error).split()) or 'no reason given'
        self.last_error = f'{where}: {type(error).__name__}: {reason}'
        # rclpy allows one severity per line of code: each kind has its own.
        for line in self._due(self.last_error, f'{self.last_error}{place}'):
            self._logger.error(line)
        self._logger.debug(''.join(traceback.format_exception(error)))

    def guarded(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Return the callback with its errors counted and said instead of raised."""
        name = callback.__name__.strip('_')

        def call() -> None:
            try:
                callback()
            except Exception as error:
                self.error(name, error)

        return call

    def warn(self, subject: str, text: str) -> None:
        """Say a line, if none about this subject was said within the last minute."""
        for line in self._due(subject, text):
            self._logger.warning(line)

    def inform(self, subject: str, text: str) -> None:
        """Say good news, as seldom as bad ones."""
        for line in self._due(subject, text):
            self._logger.info(line)

    def _due(self, subject: str, line: str) -> list[str]:
        """Return the line to say, or none yet."""
        now = self._clock()
        last, silent = self._said.get(subject, (-REPEAT_S, 0))
        if now - last < REPEAT_S:
            self._said[subject] = (last, silent + 1)
            return []
        self._said[subject] = (now, 0)
        return [f'{line} (and {silent} times in the last minute)' if silent else line]
