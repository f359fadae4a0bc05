# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Calls services from a thread that may wait, while the executor spins in another one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

POLL_S = 0.05


class ServiceCalls:
    """Waits for services and answers, until it is told to stop."""

    def __init__(self, stopping: threading.Event) -> None:
        """Wait no longer than until `stopping` is set."""
        self.stopping = stopping

    def wait_for(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until a condition holds and return whether it does."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline or self.stopping.wait(POLL_S):
                return False
        return True

    def call(self, client: Any, request: Any, deadline: float) -> Any:
        """Call a service; None where it doesn't answer by the deadline, in monotonic seconds."""
        if not self.wait_for(client.service_is_ready, deadline - time.monotonic()):
            return None
        answered = threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: answered.set())
        while not answered.wait(POLL_S):
            if time.monotonic() > deadline or self.stopping.is_set():
                client.remove_pending_request(future)
                return None
        return future.result()
