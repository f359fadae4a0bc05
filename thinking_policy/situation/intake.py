# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What one topic brings: raw messages in, numbers or texts of one tick out.

Receiving only appends. At the next `ingest` everything that came is read in one batch and put
on the tick grid; what belongs to a later tick waits as a few numbers, not as a message.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation.cdr import FieldReader, StampReader
from thinking_policy.situation.counters import TopicCounts

MAX_RAW = 65_536  # messages of a topic between two ingests; the oldest go first
MAX_RAW_BYTES = 32 << 20  # large messages must not fill the memory
MAX_ROWS = 200_000  # messages of a topic, as numbers, that wait for their tick

Float64s = NDArray[np.float64]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Jump(enum.Enum):
    """What the clock did since the last tick."""

    NONE = 'none'
    BACK = 'back'
    FORWARD = 'forward'


class Grid(NamedTuple):  # one for each tick: made in a third of a dataclass's time
    """Where the ticks stand when messages are put on them."""

    period_ns: int
    open_tick: int
    now_ns: int
    future_ns: int
    jump: Jump


@dataclass(frozen=True)
class Columns:
    """How the messages of a topic are read.

    Attributes:
        readers: One per signal on the topic, with what turns raw numbers into its unit.
        stamp: Reads the header's time; None: the receive time counts.
        by_header: Whether the header's time was asked for.
        payload: Reads what an event topic carries; returns None for a broken message.
        period_ns: Of the tick grid.
    """

    readers: tuple[tuple[FieldReader, Callable[[Float64s], Float64s]], ...]
    stamp: StampReader | None
    by_header: bool
    payload: Callable[[bytes], Any] | None
    period_ns: int

    def read(
        self, raws: Sequence[bytes], received_ns: Sequence[int], arrival_ns: Sequence[int]
    ) -> Rows:
        """Read n messages; what comes out for one does not depend on the others."""
        count = len(raws)
        broken = np.zeros(count, np.bool_)
        values = np.empty((count, len(self.readers)))
        payloads = np.empty(count, np.object_)  # of None
        for index, (reader, to_unit) in enumerate(self.readers):
            numbers, unreadable = reader.read(raws)
            values[:, index] = to_unit(numbers)
            broken |= unreadable
        if self.payload is not None:
            for index, raw in enumerate(raws):
                payloads[index] = self.payload(raw)
                broken[index] |= payloads[index] is None
        values[broken] = np.nan
        stamps, stamped = self._stamps(raws, received_ns, broken)
        arrivals = np.zeros(count, np.int64) if self.by_header else np.array(arrival_ns, np.int64)
        ticks = -(-stamps // self.period_ns)
        usable = np.isfinite(values)
        return Rows(stamps, stamped, arrivals, ticks, broken, values, usable, payloads)

    def _stamps(
        self, raws: Sequence[bytes], received_ns: Sequence[int], broken: Bools
    ) -> tuple[Int64s, Bools]:
        """Return the times that count, and which of them are the header's."""
        received = np.array(received_ns, np.int64)
        if not self.by_header or self.stamp is None:
            return received, np.zeros(len(raws), np.bool_)
        header = self.stamp.read(raws)
        stamped = (header > 0) & ~broken
        return np.where(stamped, header, received), stamped


@dataclass
class Rows:
    """n messages of one topic.

    Attributes:
        stamps: Nanoseconds [n].
        stamped: Whether these are the header's, not the receive time [n].
        arrivals: What tells equal receive times apart [n]: under sim time all messages of a tick
            have the same. All 0 by header time, where arrival says nothing.
        ticks: Where they belong [n].
        broken: Whether unreadable [n].
        values: In the signals' units [n, signals], NaN where unusable.
        usable: Where they are not NaN [n, signals].
        payloads: What event topics carry [n].
    """

    stamps: Int64s
    stamped: Bools
    arrivals: Int64s
    ticks: Int64s
    broken: Bools
    values: Float64s
    usable: Bools
    payloads: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.stamps)

    def where(self, chosen: Bools | slice) -> Rows:
        """Return some of the rows."""
        return Rows(
            self.stamps[chosen],
            self.stamped[chosen],
            self.arrivals[chosen],
            self.ticks[chosen],
            self.broken[chosen],
            self.values[chosen],
            self.usable[chosen],
            self.payloads[chosen],
        )


class Intake:
    """The messages of one topic on their way to a tick."""

    def __init__(self, counts: TopicCounts) -> None:
        self.counts = counts
        self._columns: Columns | None = None
        self._raws: list[bytes] = []
        self._received: list[int] = []
        self._arrivals: list[int] = []
        self._read: list[Rows] = []  # or these: the same, read ahead
        self._sizes: list[int] = []
        self._bytes = 0
        self._rows: list[Rows] = []

    def bind(self, columns: Columns) -> None:
        """Say how messages are read from now on."""
        self._columns = columns

    def receive(
        self, raws: Sequence[bytes], received_ns: Sequence[int], arrival_ns: Sequence[int]
    ) -> None:
        """Append messages; `arrival_ns` decides between equal receive times."""
        self.counts.received += len(raws)
        if self._columns is None:
            self.counts.unbound += len(raws)
            return
        self._raws += raws
        self._received += received_ns
        self._arrivals += arrival_ns
        self._append(list(map(len, raws)))

    def read(
        self, raws: Sequence[bytes], received_ns: Sequence[int], arrival_ns: Sequence[int]
    ) -> Rows:
        """Read messages ahead of time, for `receive_rows`; the topic has to be bound."""
        assert self._columns is not None, 'bound before anything is replayed'
        return self._columns.read(raws, received_ns, arrival_ns)

    def receive_rows(self, rows: Rows, sizes: Sequence[int]) -> None:
        """Append messages that `read` has read, of `sizes` bytes."""
        self.counts.received += len(rows)
        self._read.append(rows)
        self._append(sizes)

    def _append(self, sizes: Sequence[int]) -> None:
        self.counts.pending += len(sizes)
        self._sizes += sizes
        self._bytes += sum(sizes)
        while len(self._sizes) > 1 and (len(self._sizes) > MAX_RAW or self._bytes > MAX_RAW_BYTES):
            self._bytes -= self._sizes.pop(0)
            del self._raws[:1], self._received[:1], self._arrivals[:1]
            self._leave('overflow', 1)

    def ingest(self, grid: Grid) -> None:
        """Read what came since the last time and put it on the grid."""
        if grid.jump is not Jump.NONE:
            self._rows = [self._of_this_epoch(rows, grid) for rows in self._rows]
        if not self._sizes or self._columns is None:
            return
        try:
            rows = self._newest()
        finally:  # whatever happens, the same messages don't come again at every tick
            self._raws, self._received, self._arrivals = [], [], []
            self._read, self._sizes, self._bytes = [], [], 0
        broken = int(np.count_nonzero(rows.broken))
        self._leave('broken', broken)
        if self._columns.by_header:
            self.counts.unstamped += len(rows) - broken - int(np.count_nonzero(rows.stamped))
        if grid.jump is not Jump.NONE:
            rows = self._of_this_epoch(rows, grid)
        if self._columns.by_header:  # by receive time nothing is early or late
            future = rows.stamped & (rows.stamps > grid.now_ns + grid.future_ns)
            late = rows.stamped & (rows.ticks < grid.open_tick)
            self._leave('future', int(np.count_nonzero(future)))
            self._leave('late', int(np.count_nonzero(late)))
            if np.count_nonzero(out := future | late):
                rows = rows.where(~out)
        self._rows.append(rows)
        self._bound_rows()

    def take(self, tick: int) -> Rows | None:
        """Return the messages of a tick that is being closed, None if there are none."""
        if not self._rows:
            return None
        rows = self._rows[0] if len(self._rows) == 1 else _joined(self._rows)
        self._rows = []
        if rows.ticks.max(initial=0) > tick:
            due = rows.ticks <= tick
            self._rows = [rows.where(~due)]
            rows = rows.where(due)
        self._leave('used', len(rows) - int(np.count_nonzero(rows.broken)))
        return rows if len(rows) else None

    def leave_out_empty(self) -> None:
        """Count one message that was taken for a tick as empty instead."""
        self.counts.used -= 1
        self.counts.empty += 1

    def _newest(self) -> Rows:
        """Return what came and was not too much."""
        if self._raws:  # a live topic's; what a bag brings was read ahead
            assert self._columns is not None
            return self._columns.read(self._raws, self._received, self._arrivals)
        rows = self._read[0] if len(self._read) == 1 else _joined(self._read)
        surplus = len(rows) - len(self._sizes)
        return rows.where(slice(surplus, None)) if surplus else rows

    def _of_this_epoch(self, rows: Rows, grid: Grid) -> Rows:
        keep = _in_epoch(rows, grid)
        self._leave('jumped', int((~keep & ~rows.broken).sum()))
        return rows.where(keep)

    def _bound_rows(self) -> None:
        surplus = sum(map(len, self._rows)) - MAX_ROWS
        if surplus > 0:
            rows = _joined(self._rows)
            self._leave('overflow', int((~rows.broken[:surplus]).sum()))
            self._rows = [rows.where(np.arange(len(rows)) >= surplus)]

    def _leave(self, how: str, count: int) -> None:
        """Move messages from pending to one of the other counts."""
        if count:
            setattr(self.counts, how, getattr(self.counts, how) + count)
            self.counts.pending -= count


def _in_epoch(rows: Rows, grid: Grid) -> Bools:
    """Tell which messages belong to the time after a clock jump."""
    keep: Bools = rows.stamps > (grid.open_tick - 1) * grid.period_ns
    if grid.jump is Jump.BACK:
        keep &= rows.stamps <= grid.now_ns
    return keep


def _joined(rows: Sequence[Rows]) -> Rows:
    return Rows(
        np.concatenate([part.stamps for part in rows]),
        np.concatenate([part.stamped for part in rows]),
        np.concatenate([part.arrivals for part in rows]),
        np.concatenate([part.ticks for part in rows]),
        np.concatenate([part.broken for part in rows]),
        np.concatenate([part.values for part in rows]),
        np.concatenate([part.usable for part in rows]),
        np.concatenate([part.payloads for part in rows]),
    )
