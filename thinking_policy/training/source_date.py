# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The time that builds agree on, in place of the clock: SOURCE_DATE_EPOCH."""

from __future__ import annotations

import datetime
import os

from thinking_policy.training.errors import LearningError

NAME = 'SOURCE_DATE_EPOCH'
_LAST = 253_402_300_799  # the end of the year 9999, beyond which ISO 8601 needs an agreement


def source_date() -> int | None:
    """Return the seconds since 1970 that the environment asks for; None where it asks for none.

    Raises:
        LearningError: It says something else than seconds up to the year 9999. Ignored, it would
            give a file that differs from the one that was asked for.
    """
    said = os.environ.get(NAME, '')
    if not said:
        return None
    # isdigit() alone takes "²", and int() no number of 5,000 digits.
    if said.isascii() and said.isdigit() and len(said) <= 20 and int(said) <= _LAST:
        return int(said)
    raise LearningError(
        f'{NAME}: expected seconds since 1970 as a whole number in 0...{_LAST} (the year 9999), '
        f'found {said!r:.60}; correct it or unset it'
    )


def iso_time(seconds: int) -> str:
    """Return seconds since 1970, up to the year 9999, as ISO 8601 in UTC."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime('%Y-%m-%dT%H:%M:%SZ')
