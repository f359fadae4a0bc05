# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the database takes data."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass, field

from thinking_policy.server.database import ServerDatabase


@dataclass
class HealthCheck:
    """Whether the database takes data; tried at most once a second, since anyone may ask."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    tried_s: float = float('-inf')
    error: sqlite3.Error | None = None

    def run(self, database: ServerDatabase, now_ns: int, now_s: float) -> None:
        """Write a beat, or tell of the last attempt.

        Args:
            database: The file.
            now_ns: Nanoseconds since 1970.
            now_s: On a clock that never jumps; seconds.

        Raises:
            sqlite3.Error: The file refuses.
        """
        with self.lock:
            if now_s - self.tried_s >= 1.0:
                try:
                    with database.writing() as writer:
                        writer.conn.execute(
                            'INSERT OR REPLACE INTO heartbeat VALUES (1, ?)', (now_ns,)
                        )
                    self.error = None
                except sqlite3.Error as error:
                    self.error = error
                self.tried_s = now_s
            if self.error is not None:
                raise self.error
