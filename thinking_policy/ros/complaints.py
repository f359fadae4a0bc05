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
        self._say(self._logger.error, self.last_error, f'{self.last_error}{place}')
        self._logger.debug(''.join(traceback.format_exception(error)))

    def warn(self, subject: str, line: str) -> None:
        """Say a line, if none about this subject was said within the last minute."""
        self._say(self._logger.warning, subject, line)

    def inform(self, subject: str, line: str) -> None:
        """Say good news, as seldom as bad ones."""
        self._say(self._logger.info, subject, line)

    def _say(self, log: Callable[[str], Any], subject: str, line: str) -> None:
        now = self._clock()
        last, silent = self._said.get(subject, (-REPEAT_S, 0))
        if now - last < REPEAT_S:
            self._said[subject] = (last, silent + 1)
            return
        self._said[subject] = (now, 0)
        log(f'{line} (and {silent} times in the last minute)' if silent else line)
