# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps a buffer's file within its bytes and its age, and its log on the disk."""

from __future__ import annotations

import functools
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from thinking_policy.experience.buffer_options import BufferOptions
from thinking_policy.experience.store import EVICTION, ExperienceStore

Result = TypeVar('Result')
Transaction = Callable[[Callable[[], Result]], Result]

AGE_CHECK_S = 60.0  # age runs slowly
MOST_AT_ONCE = 1000  # experiences that go in one transaction
OVERHEAD = 1.2  # a record in the file ÷ its line, with what is looked for and the gaps in pages
DISK_CHECK_S = 1.0  # others fill it too
SPARE = 64  # where room has to be made, a 64th more is, so that it isn't made with every record


class Upkeep:
    """Works on one open store, between the transactions of others.

    Attributes:
        evicted: Records that went since the start, by kind.
        full: Whether there was no room and nothing that may go.
        file_bytes, log_bytes: What of the file was in use last, and the size of its log.
    """

    def __init__(
        self,
        path: Path,
        options: BufferOptions,
        clock_ns: Callable[[], int],
        monotonic: Callable[[], float],
    ) -> None:
        self.evicted: Counter[str] = Counter()
        self.full = False
        self.file_bytes = 0
        self._options = options
        self._folder = path.parent
        self.log_bytes = 0
        self._log = path.with_name(path.name + '-wal')
        self._clock_ns, self._monotonic = clock_ns, monotonic
        self._aged_s: float | None = None
        self._unsynced_s: float | None = None  # since when there is something that isn't
        self._looked_s: float | None = None
        self._room = 0  # bytes that may still come before it has to be looked at again

    def wait_s(self) -> float:
        """Return in how many seconds there is something to do at the latest."""
        if self._options.longest_s and self._aged_s is None:
            return 0.0
        if self._unsynced_s is None:
            return AGE_CHECK_S
        passed = self._monotonic() - self._unsynced_s
        return max(0.0, min(AGE_CHECK_S, self._options.sync_interval_s - passed))

    def make_room(self, store: ExperienceStore, transaction: Transaction[int], more: int) -> None:
        """Let experiences go until records of so many bytes more have room.

        Args:
            store: Where they lie.
            transaction: Runs something in a transaction.
            more: Bytes of lines.
        """
        wanted = round(more * OVERHEAD)
        now = self._monotonic()
        self._room -= wanted
        if self._room > 0 and self._looked_s is not None and now - self._looked_s < DISK_CHECK_S:
            return  # to ask the file each time would cost as much as a few records
        self._looked_s = now
        used, bound = self._used_and_bound(store)
        # Where the bound is but the size of a small file on a full disk, nothing is gained by
        # letting everything go.
        if used + wanted > bound and wanted <= bound // 2:
            used = self._evict_down_to(store, transaction, bound - wanted)
        self.full = used + wanted > bound
        self.file_bytes = used
        # Half of it: by how much a record exceeds its line is an estimate.
        self._room = (bound - used - wanted) // 2

    def let_old_go(self, store: ExperienceStore, transaction: Transaction[int]) -> None:
        """Let experiences go that are too old; looks for them once a minute."""
        now = self._monotonic()
        longest_s = self._options.longest_s
        if not longest_s or (self._aged_s is not None and now - self._aged_s < AGE_CHECK_S):
            return
        before_ns = self._clock_ns() - round(longest_s * 1e9)
        for kind in EVICTION:
            while count := transaction(functools.partial(store.evict, kind, before_ns)):
                self.evicted[kind] += count
        self._aged_s = now

    def committed(self) -> None:
        """Note that something was acknowledged."""
        if self._options.sync == 'interval' and self._unsynced_s is None:
            self._unsynced_s = self._monotonic()

    def sync_if_due(self, *, now: bool = False) -> None:
        """Sync the log where its interval has run out.

        The file is opened anew for that: what was written through another descriptor is synced
        too, and a checkpoint, which would sync it as well, is put off by whoever is reading.

        Raises:
            OSError: The disk refuses.
        """
        if self._unsynced_s is None:
            return
        passed = self._monotonic() - self._unsynced_s
        if not now and passed < self._options.sync_interval_s:
            return
        try:
            descriptor = os.open(self._log, os.O_RDONLY)
        except FileNotFoundError:  # it was carried over into the file, which syncs both
            self._unsynced_s = None
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._unsynced_s = None

    def _size_of_log(self) -> int:
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0

    def _used_and_bound(self, store: ExperienceStore) -> tuple[int, int]:
        size, free = store.file_bytes()
        self.log_bytes = self._size_of_log()
        bound = self._options.most_bytes
        if shutil.disk_usage(self._folder).free < self._options.keep_free_bytes:
            bound = min(bound, size)
        return size - free, bound

    def _evict_down_to(
        self, store: ExperienceStore, transaction: Transaction[int], most_bytes: int
    ) -> int:
        used = store.used_bytes()
        target = most_bytes - most_bytes // SPARE
        for kind in EVICTION:
            while used > target:
                step = self._step(store, used, used - target)
                count = transaction(functools.partial(store.evict, kind, None, step))
                if not count:
                    break
                self.evicted[kind] += count
                used = store.used_bytes()
        size, _ = store.file_bytes()
        if size > self._options.most_bytes:  # it was allowed to be larger once
            store.database.conn.execute('PRAGMA incremental_vacuum(1000)').fetchall()
        return used

    def _step(self, store: ExperienceStore, used: int, surplus: int) -> int:
        """Return about how many experiences take up so many bytes."""
        first, last = store.database.conn.execute(
            'SELECT (SELECT MIN(seq) FROM record), (SELECT MAX(seq) FROM record)'
        ).fetchone()
        records = max(1, (last or 0) - (first or 0) + 1)
        return min(MOST_AT_ONCE, max(1, surplus * records // max(1, used)))
