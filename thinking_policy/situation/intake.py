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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation.cdr import FieldReader, StampReader
from thinking_policy.situation.counters import TopicCounts

MAX_RAW = 65_536  # messages of a topic between two ingests; the oldest go first
MAX_RAW_BYTES = 32 << 20  # large messages must not fill the memory
MAX_ROWS = 200_000  # messages of a topic, as numbers, that wait for their tick

Float64s = NDArray[np.float64]
Int64s = NDArray[np.int64]


class Jump(enum.Enum):
    """What the clock did since the last tick."""

    NONE = 'none'
    BACK = 'back'
    FORWARD = 'forward'


@dataclass(frozen=True)
class Grid:
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
    """

    readers: tuple[tuple[FieldReader, Callable[[Float64s], Float64s]], ...]
    stamp: StampReader | None
    by_header: bool
    payload: Callable[[bytes], Any] | None

    def decode(self, raws: Sequence[bytes]) -> Decoded:
        """Read messages; what comes out for one does not depend on the others."""
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
        header = np.zeros(count, np.int64)
        if self.by_header and self.stamp is not None:
            header = self.stamp.read(raws)
            header[broken] = 0
        return Decoded(values, broken, header, payloads)


@dataclass
class Decoded:
    """n messages of one topic as numbers, whenever they came.

    Attributes:
        values: In the signals' units [n, signals], NaN where unusable.
        broken: Whether unreadable [n].
        header: The header's time [n]; 0 where there is none or it doesn't count.
        payloads: What event topics carry [n].
    """

    values: Float64s
    broken: NDArray[np.bool_]
    header: Int64s
    payloads: NDArray[np.object_]

    def part(self, start: int, stop: int) -> Decoded:
        """Return some of them."""
        chosen = slice(start, stop)
        return Decoded(
            self.values[chosen], self.broken[chosen], self.header[chosen], self.payloads[chosen]
        )


@dataclass
class Rows:
    """n messages of one topic.

    Attributes:
        stamps: Nanoseconds [n].
        arrivals: What tells equal receive times apart [n]: under sim time all messages of a tick
            have the same. All 0 by header time, where arrival says nothing.
        ticks: Where they belong [n].
        broken: Whether unreadable [n].
        values: In the signals' units [n, signals], NaN where unusable.
        payloads: What event topics carry [n].
    """

    stamps: Int64s
    arrivals: Int64s
    ticks: Int64s
    broken: NDArray[np.bool_]
    values: Float64s
    payloads: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.stamps)

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        """Return the rows where `mask` is true."""
        return Rows(
            self.stamps[mask],
            self.arrivals[mask],
            self.ticks[mask],
            self.broken[mask],
            self.values[mask],
            self.payloads[mask],
        )


class Intake:
    """The messages of one topic on their way to a tick."""

    def __init__(self, counts: TopicCounts) -> None:
        self.counts = counts
        self._columns: Columns | None = None
        self._raws: list[bytes] = []
        self._decoded: list[Decoded] = []  # or these: the same, read already
        self._sizes: list[int] = []
        self._received: list[int] = []
        self._arrivals: list[int] = []
        self._bytes = 0
        self._rows: list[Rows] = []

    def bind(self, columns: Columns) -> None:
        """Say how messages are read from now on."""
        self._columns = columns

    def receive(
        self, raws: Sequence[bytes], received_ns: Sequence[int], arrival_ns: Sequence[int]
    ) -> None:
        """Append messages; `arrival_ns` decides between equal receive times."""
        if self._expect(len(raws)):
            self._raws += raws
            self._append(list(map(len, raws)), received_ns, arrival_ns)

    def receive_decoded(
        self,
        decoded: Decoded,
        sizes: Sequence[int],
        received_ns: Sequence[int],
        arrival_ns: Sequence[int],
    ) -> None:
        """Append messages that `Columns.decode` has read, of `sizes` bytes."""
        if self._expect(len(sizes)):
            self._decoded.append(decoded)
            self._append(sizes, received_ns, arrival_ns)

    def decode(self, raws: Sequence[bytes]) -> Decoded:
        """Read messages ahead of time, for `receive_decoded`; the topic has to be bound."""
        assert self._columns is not None, 'bound before anything is replayed'
        return self._columns.decode(raws)

    def _expect(self, count: int) -> bool:
        self.counts.received += count
        if self._columns is None:
            self.counts.unbound += count
            return False
        self.counts.pending += count
        return True

    def _append(
        self, sizes: Sequence[int], received_ns: Sequence[int], arrival_ns: Sequence[int]
    ) -> None:
        self._sizes += sizes
        self._received += received_ns
        self._arrivals += arrival_ns
        self._bytes += sum(sizes)
        while len(self._sizes) > 1 and (len(self._sizes) > MAX_RAW or self._bytes > MAX_RAW_BYTES):
            self._bytes -= self._sizes.pop(0)
            del self._received[0], self._arrivals[0], self._raws[:1]
            self._leave('overflow', 1)

    def ingest(self, grid: Grid) -> None:
        """Read what came since the last time and put it on the grid."""
        if grid.jump is not Jump.NONE:
            self._rows = [self._of_this_epoch(rows, grid) for rows in self._rows]
        if not self._sizes or self._columns is None:
            return
        try:
            rows, stamped = self._place(self._columns, grid.period_ns)
        finally:  # whatever happens, the same messages don't come again at every tick
            self._raws, self._decoded, self._sizes = [], [], []
            self._received, self._arrivals, self._bytes = [], [], 0
        if grid.jump is not Jump.NONE:
            stamped = stamped[_in_epoch(rows, grid)]
            rows = self._of_this_epoch(rows, grid)
        if self._columns.by_header:  # by receive time nothing is early or late
            future = stamped & (rows.stamps > grid.now_ns + grid.future_ns)
            late = stamped & (rows.ticks < grid.open_tick)
            if future.any() or late.any():
                self._leave('future', int(future.sum()))
                self._leave('late', int(late.sum()))
                rows = rows.where(~(future | late))
        self._rows.append(rows)
        self._bound_rows()

    def take(self, tick: int) -> Rows | None:
        """Return the messages of a tick that is being closed, None if there are none."""
        if not self._rows:
            return None
        rows = self._rows[0] if len(self._rows) == 1 else _joined(self._rows)
        due = rows.ticks <= tick
        if due.all():
            self._rows = []
        else:
            self._rows = [rows.where(~due)]
            rows = rows.where(due)
        self._leave('used', len(rows) - int(np.count_nonzero(rows.broken)))
        return rows if len(rows) else None

    def leave_out_empty(self) -> None:
        """Count one message that was taken for a tick as empty instead."""
        self.counts.used -= 1
        self.counts.empty += 1

    def _place(self, columns: Columns, period_ns: int) -> tuple[Rows, NDArray[np.bool_]]:
        """Return what came as rows, and which of them have a stamp of their own."""
        count = len(self._sizes)
        decoded = self._read(columns, count)
        broken = int(np.count_nonzero(decoded.broken))
        stamps = np.array(self._received, np.int64)
        stamped = decoded.header > 0
        if columns.by_header:
            stamps = np.where(stamped, decoded.header, stamps)
            arrivals = np.zeros(count, np.int64)
            self.counts.unstamped += int(count - broken - stamped.sum())
        else:
            arrivals = np.array(self._arrivals, np.int64)
        self._leave('broken', broken)
        ticks = -(-stamps // period_ns)
        rows = Rows(stamps, arrivals, ticks, decoded.broken, decoded.values, decoded.payloads)
        return rows, stamped

    def _read(self, columns: Columns, count: int) -> Decoded:
        """Return the newest `count` of what came; older ones were too many."""
        if self._raws:  # a live topic's; what a bag brings was decoded ahead
            return columns.decode(self._raws)
        parts = self._decoded
        whole = parts[0] if len(parts) == 1 else _of_parts(parts)
        return whole if len(whole.broken) == count else whole.part(-count, len(whole.broken))

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


def _of_parts(parts: Sequence[Decoded]) -> Decoded:
    return Decoded(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.broken for part in parts]),
        np.concatenate([part.header for part in parts]),
        np.concatenate([part.payloads for part in parts]),
    )


def _in_epoch(rows: Rows, grid: Grid) -> NDArray[np.bool_]:
    """Tell which messages belong to the time after a clock jump."""
    keep: NDArray[np.bool_] = rows.stamps > (grid.open_tick - 1) * grid.period_ns
    if grid.jump is Jump.BACK:
        keep &= rows.stamps <= grid.now_ns
    return keep


def _joined(rows: Sequence[Rows]) -> Rows:
    return Rows(
        np.concatenate([part.stamps for part in rows]),
        np.concatenate([part.arrivals for part in rows]),
        np.concatenate([part.ticks for part in rows]),
        np.concatenate([part.broken for part in rows]),
        np.concatenate([part.values for part in rows]),
        np.concatenate([part.payloads for part in rows]),
    )
