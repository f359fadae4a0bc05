# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A thread that does one thing again and again, and lets go at once when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future
from concurrent.futures import wait as wait_for_any
from typing import Any, TypeVar

Result = TypeVar('Result')

AFTER_A_FAULT_S = 10.0


class Rounds:
    """Calls `step`, waits as long as it says, calls it again.

    `start` and `close` belong to who owns it; `answer` to the thread.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], float],
        failed: Callable[[Exception], None],
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """Prepare; nothing runs yet.

        Args:
            name: Of the thread.
            step: Does the thing and returns after how many seconds to do it again.
            failed: Hears of what a step let through; the next one is made all the same.
            wait: Waits so many seconds; by default, until it is closed.
        """
        self._closing = threading.Event()
        self._closed: Future[None] = Future()
        self._step, self._failed = step, failed
        self._wait = wait or self._closing.wait
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def closing(self) -> bool:
        """Whether it was told to end."""
        return self._closing.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, within_s: float) -> None:
        """End it; a thread that waits for the network longer than that is left to itself.

        Args:
            within_s: How long this may take; seconds.
        """
        if not self._closing.is_set():
            self._closing.set()
            self._closed.set_result(None)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(within_s)

    def answer(self, future: Future[Result]) -> Result:
        """Wait for the answer of another thread.

        Raises:
            CancelledError: It was closed meanwhile.
            Exception: The future's.
        """
        either: list[Future[Any]] = [future, self._closed]
        wait_for_any(either, return_when=FIRST_COMPLETED)
        if not future.done():
            future.cancel()
        return future.result()

    def _run(self) -> None:
        while not self.closing:
            try:
                pause_s = self._step()
            except CancelledError:
                return
            except Exception as error:  # whatever it is, it is said, and it goes on
                self._failed(error)
                pause_s = AFTER_A_FAULT_S
            if pause_s > 0.0 and not self.closing:
                self._wait(pause_s)
