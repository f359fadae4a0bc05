# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What set-up tells the person who waits for it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator


class SetupError(Exception):
    """A stage that could not be done; the message says what to do."""


@contextlib.contextmanager
def progress(title: str) -> Iterator[None]:
    """Say on stderr what is being done, and after it how long it took."""
    started = time.monotonic()
    print(f'set up: {title} …', end='', flush=True, file=sys.stderr)
    try:
        yield
    except BaseException as error:
        word = 'interrupted' if isinstance(error, KeyboardInterrupt) else 'failed'
        print(f' {word}', file=sys.stderr)
        raise
    print(f' {time.monotonic() - started:.0f} s', file=sys.stderr)
