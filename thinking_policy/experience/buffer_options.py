# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How a buffer is kept, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.schema import SYNC


@dataclass(frozen=True)
class BufferOptions:
    """How a buffer is kept.

    Attributes:
        sync: `commit`: an acknowledged record survives a power cut. `interval`: one that was
            acknowledged within the last `sync_interval_s` (and the time that the disk takes)
            may be lost by it, never by a crash of the process.
        sync_interval_s: See there; seconds.
        gather_s: A record waits at most so long for others to be stored with it; seconds.
        most_bytes: Of the file; the oldest experiences go, in the order of `EVICTION`. The log
            beside it takes up to 8 MB more.
        keep_free_bytes: Where the disk has less room than this, the file grows no further: new
            experiences take the place of old ones, in the same order.
        longest_s: Older experiences go, in the same order; 0: never. Seconds.
        queue_records: Records that wait for the file; more are dropped, the oldest first.
        queue_bytes: The same in bytes.
        busy_s: How long another process may hold the file in one attempt; seconds.
    """

    sync: str = 'commit'
    sync_interval_s: float = 5.0
    gather_s: float = 0.2
    most_bytes: int = 512 << 20
    keep_free_bytes: int = 32 << 20
    longest_s: float = 0.0
    queue_records: int = 10_000
    queue_bytes: int = 32 << 20
    busy_s: float = 1.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ExperienceError: One is out of range.
        """
        if self.sync not in SYNC:
            raise ExperienceError(f'sync: expected one of {", ".join(SYNC)}, found {self.sync!r}')
        for name, least in (
            ('sync_interval_s', 0.1),
            ('gather_s', 0.0),
            ('most_bytes', 1 << 20),
            ('keep_free_bytes', 0),
            ('longest_s', 0.0),
            ('queue_records', 1),
            ('queue_bytes', 1 << 16),
            ('busy_s', 0.0),
        ):
            found = getattr(self, name)
            if not found >= least:
                raise ExperienceError(f'{name}: expected at least {least:g}, found {found!r}')


@dataclass(frozen=True)
class BufferStatus:
    """How a buffer stands.

    Attributes:
        problem: Why nothing is being stored; empty: it is.
        queued, queued_bytes: What waits for the file.
        stored: Records stored since the start.
        known: Records that were there already.
        conflicting: Records that differ from one of the same id; they were left out.
        dropped: Records that were lost because the queue was full.
        refused: Records that will never be stored: too long, or not fit for the file.
        evicted: Records that were deleted since the start, by kind of `EVICTION`.
        full: Whether there is no room and nothing may be deleted.
        file_bytes: What of the file is in use.
        log_bytes: Size of the log beside it.
        set_aside: Files that were broken, or that someone has deleted, each with the reason.
    """

    problem: str = 'not opened yet'
    queued: int = 0
    queued_bytes: int = 0
    stored: int = 0
    known: int = 0
    conflicting: int = 0
    dropped: int = 0
    refused: int = 0
    evicted: dict[str, int] = field(default_factory=dict)
    full: bool = False
    file_bytes: int = 0
    log_bytes: int = 0
    set_aside: tuple[str, ...] = ()
