# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What who puts a record gets: whether it was stored.

It is what a `concurrent.futures.Future` is, less what that costs: a lock, a queue and three lists
for each record were a third of all that it takes to store one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from thinking_policy.experience.errors import ExperienceError

_changed = threading.Condition(threading.Lock())  # of all receipts: few wait, and not for long
_waiting = 0


class Receipt:
    """Done when the record is stored, or when it is known that it won't be."""

    __slots__ = ('_callbacks', '_done', '_error')

    def __init__(self) -> None:
        self._done = False
        self._error: ExperienceError | None = None
        self._callbacks: list[Callable[[Receipt], object]] | None = None

    def done(self) -> bool:
        """Whether it is known what became of the record."""
        return self._done

    def cancelled(self) -> bool:
        """Return False: what was put is stored if it can be."""
        return False

    def exception(self, timeout: float | None = None) -> ExperienceError | None:
        """Wait until it is done; return why the record was not stored, None if it was.

        Raises:
            TimeoutError: It took longer than `timeout` seconds.
        """
        global _waiting
        if not self._done:
            with _changed:
                _waiting += 1
                try:
                    done = _changed.wait_for(lambda: self._done, timeout)
                finally:
                    _waiting -= 1
            if not done:
                raise TimeoutError('the record is not stored yet')
        return self._error

    def result(self, timeout: float | None = None) -> None:
        """Wait until the record is stored.

        Raises:
            ExperienceError: It was dropped or refused; says why.
            TimeoutError: It took longer than `timeout` seconds.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error

    def add_done_callback(self, call: Callable[[Receipt], object]) -> None:
        """Have something called with the receipt once it is done, by the thread that stores."""
        with _changed:
            if not self._done:
                self._callbacks = [*(self._callbacks or ()), call]
                return
        call(self)


def settle(receipts: Iterable[Receipt], error: ExperienceError | None = None) -> None:
    """Say that records were stored, or why not; what is done stays as it is."""
    called = []
    with _changed:
        for receipt in receipts:
            if receipt._done:
                continue
            receipt._error = error
            receipt._done = True
            if receipt._callbacks:
                called.append(receipt)
        if _waiting:
            _changed.notify_all()
    for receipt in called:
        for call in receipt._callbacks or ():
            try:
                call(receipt)
            except Exception:  # no reason not to store what comes after
                logging.getLogger(__name__).exception('calling back for a receipt')
        receipt._callbacks = None
