# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a running server holds, for its endpoints."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from thinking_policy.server.database import ServerDatabase
from thinking_policy.server.health import HealthCheck
from thinking_policy.server.ingest import BodyLimits
from thinking_policy.server.metrics import Metrics


@dataclass(frozen=True)
class ServerOptions:
    """How a server behaves.

    Attributes:
        limits: Of the body of one upload.
        held_bytes: Of bodies that are being received, all together; more are asked to come later.
        body_s: How long a body may take to arrive; seconds.
        rate_per_s: Requests of one token, on average; 0: as many as it likes.
        burst: Requests of one token that may come at once where there is a rate.
        ingesting: Uploads that are unpacked and stored at a time, each in a thread.
    """

    limits: BodyLimits = field(default_factory=BodyLimits)
    held_bytes: int = 256 << 20
    body_s: float = 120.0
    rate_per_s: float = 0.0
    burst: int = 20
    ingesting: int = 4


class TokenRates:
    """How often each token has asked lately: a leaky bucket each."""

    def __init__(self, rate_per_s: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._rate, self._burst, self._monotonic = rate_per_s, burst, monotonic
        self._fill: dict[str, tuple[float, float]] = {}  # requests in the bucket, since when
        self._lock = threading.Lock()

    def wait_s(self, token: str) -> int:
        """Count a request; return 0, or after how many seconds it may come again."""
        if not self._rate:
            return 0
        now = self._monotonic()
        with self._lock:
            fill, since = self._fill.get(token, (0.0, now))
            fill = max(0.0, fill - (now - since) * self._rate)
            if fill + 1.0 > self._burst:
                self._fill[token] = fill, now
                return max(1, math.ceil((fill + 1.0 - self._burst) / self._rate))
            self._fill[token] = fill + 1.0, now
        return 0


@dataclass
class ServerState:
    """The parts of a running server.

    Attributes:
        database: The file.
        options: How it behaves.
        metrics: What it counts.
        clock_ns: Nanoseconds since 1970.
        monotonic: For rates; seconds.
        held: Bytes of bodies being received; only the event loop touches it.
    """

    database: ServerDatabase
    options: ServerOptions = field(default_factory=ServerOptions)
    metrics: Metrics = field(default_factory=Metrics)
    clock_ns: Callable[[], int] = time.time_ns
    monotonic: Callable[[], float] = time.monotonic
    held: int = 0

    def __post_init__(self) -> None:
        """Make what depends on the options."""
        options = self.options
        self.rates = TokenRates(options.rate_per_s, options.burst, self.monotonic)
        # Threads of their own: uploads that wait for the file leave the others to readers.
        self.ingesting = ThreadPoolExecutor(options.ingesting, 'ingest')
        self.health = HealthCheck()
        self.metrics.watch(self.database)

    def close(self) -> None:
        """Let uploads that are being stored end, and close the file."""
        self.ingesting.shutdown(wait=True, cancel_futures=True)
        self.database.close()
