# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Times of a bag's topics: rates, gaps, and how header time stands to record time.

One pass over the messages, in flat memory: of a message with a header only its stamp is kept, and
of the periods between messages how many there are of each length, in steps of 4 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.reader import Bag
from thinking_policy.situation.cdr import stamp_reader
from thinking_policy.situation.message_types import INT32, UINT32, MessageType

GAP_FACTOR = 10.0
"""A period this many times as long as the median is a gap."""
AHEAD_S = 10.0
"""Header time that advances so much more than record time has jumped."""

Taker = Callable[[int, bytes], None]
"""Takes one message: record time, raw CDR."""

_BATCH = 1024  # stamps that are read at once
_BATCH_BYTES = 2**20  # of whole messages, where the stamp is not at the begin
_SAMPLE = 4096  # numbers kept for a median; beyond, every second one is
_OCTAVE = 18  # lengths of periods told apart between one length and its double
_STAMP = slice(4, 12)  # of a message that begins with one: seconds, nanoseconds
_ORDERS = {0: '>', 1: '<', 6: '>', 7: '<'}  # by the second byte of a message
_TELL_EVERY = 500  # messages between two calls of `progress`


@dataclass(frozen=True)
class TopicTimes:
    """Times of one topic, in order of record time.

    Attributes:
        messages: How many were read.
        first_ns: Record time of the first one.
        last_ns: Record time of the last one.
        period_s: Median time between two messages; 0 for fewer than two.
        longest_gap_s: Longest time between two messages.
        longest_gap_ns: Record time at which it begins.
        gaps: Times between two messages that are longer than `GAP_FACTOR` times the median.
        has_header: Whether the type has a header or a stamp.
        unset: Header stamps that are 0.
        invalid: Header stamps that are no time, or cannot be read.
        backward: Header stamps earlier than the one before.
        furthest_back_s: The largest such step.
        ahead: Header stamps that advance `AHEAD_S` more than record time does.
        offset_s: Record time minus header time: least, median, greatest; None without stamps.
    """

    messages: int = 0
    first_ns: int = 0
    last_ns: int = 0
    period_s: float = 0.0
    longest_gap_s: float = 0.0
    longest_gap_ns: int = 0
    gaps: int = 0
    has_header: bool = False
    unset: int = 0
    invalid: int = 0
    backward: int = 0
    furthest_back_s: float = 0.0
    ahead: int = 0
    offset_s: tuple[float, float, float] | None = None

    @property
    def rate_hz(self) -> float:
        """Messages per second between the first and the last; 0 for fewer than two."""
        span_s = (self.last_ns - self.first_ns) / 1e9
        return (self.messages - 1) / span_s if span_s > 0 else 0.0

    @property
    def unstamped(self) -> int:
        """Messages without a usable header time."""
        return self.unset + self.invalid if self.has_header else self.messages


def topic_times(
    bag: Bag, topics: Iterable[str], progress: Callable[[int], None] | None = None
) -> dict[str, TopicTimes]:
    """Read some topics once and measure their times.

    Args:
        bag: An opened bag.
        topics: Names of topics that the bag has.
        progress: Called with the number of messages read, now and then.
    """
    kinds = {topic.name: topic.message_type for topic in bag.topics}
    meters = {name: Meter(kinds[name]) for name in topics}
    take_messages(bag, {name: [meter.add] for name, meter in meters.items()}, progress)
    return {name: meter.result() for name, meter in meters.items()}


def take_messages(
    bag: Bag,
    takers: Mapping[str, Iterable[Taker]],
    progress: Callable[[int], None] | None = None,
) -> None:
    """Read topics once, in order of record time, and hand each message to those who ask for it."""
    for count, (topic, record_ns, raw) in enumerate(bag.messages(takers.keys())):
        for take in takers[topic]:
            take(record_ns, raw)
        if progress is not None and count % _TELL_EVERY == 0:
            progress(count)


class Meter:
    """Times of one topic, measured in batches and in flat memory."""

    def __init__(self, message_type: MessageType | None) -> None:
        """Prepare for a topic; its type may be unknown, then only record times count."""
        self._reader = stamp_reader(message_type) if message_type is not None else None
        self._at_begin = message_type is not None and _begins_with_stamp(message_type)
        self._raws: list[bytes] = []
        self._bytes = 0
        self._records: list[int] = []
        self._count = self._unset = self._invalid = self._backward = self._ahead = 0
        self._first = self._last = self._back = 0
        self._gap = self._gap_at = 0
        self._lengths: NDArray[np.int64] = np.zeros(64 * _OCTAVE, np.int64)
        self._periods, self._offsets = _Sample(), _Sample()
        self._before: tuple[int, int] | None = None  # header and record time of the last stamp
        self._low, self._high = 2**63 - 1, -(2**63)

    def add(self, record_ns: int, raw: bytes) -> None:
        """Take the next message."""
        self._records.append(record_ns)
        if self._at_begin:
            self._raws.append(raw[:12])
        elif self._reader is not None:
            self._raws.append(raw)
            self._bytes += len(raw)
        if len(self._records) >= _BATCH or self._bytes > _BATCH_BYTES:
            self._flush()

    def result(self) -> TopicTimes:
        """Return what was measured."""
        self._flush()
        offset = None
        if self._offsets:
            offset = self._low / 1e9, self._offsets.median() / 1e9, self._high / 1e9
        return TopicTimes(
            messages=self._count,
            first_ns=self._first,
            last_ns=self._last,
            period_s=self._periods.median() / 1e9,
            longest_gap_s=self._gap / 1e9,
            longest_gap_ns=self._gap_at,
            gaps=self._gaps(),
            has_header=self._reader is not None,
            unset=self._unset,
            invalid=self._invalid,
            backward=self._backward,
            furthest_back_s=self._back / 1e9,
            ahead=self._ahead,
            offset_s=offset,
        )

    def _flush(self) -> None:
        if not self._records:
            return
        records = np.array(self._records, np.int64)
        raws, self._raws, self._records, self._bytes = self._raws, [], [], 0
        if not self._count:
            self._first = int(records[0])
        self._measure_periods(records if not self._count else np.append(self._last, records))
        self._count += len(records)
        self._last = int(records[-1])
        if self._at_begin:
            stamps, usable, unset = _stamps_at_begin(raws)
        elif self._reader is not None:
            stamps = self._reader.read(raws)
            usable = stamps > 0
            unset = ~usable
        else:
            return
        self._unset += int(unset.sum())
        self._invalid += int((~usable & ~unset).sum())
        if usable.any():
            self._measure_headers(stamps[usable], records[usable])

    def _measure_periods(self, records: NDArray[np.int64]) -> None:
        periods = np.diff(records)
        if not len(periods):
            return
        longest = int(np.argmax(periods))
        if periods[longest] > self._gap:
            self._gap, self._gap_at = int(periods[longest]), int(records[longest])
        bins = (np.log2(np.maximum(periods, 1)) * _OCTAVE).astype(np.int64)
        self._lengths += np.bincount(bins, minlength=len(self._lengths))
        self._periods.add(periods)

    def _gaps(self) -> int:
        median = self._periods.median()
        if not median > 0.0:
            return 0
        return int(self._lengths[int(np.log2(GAP_FACTOR * median) * _OCTAVE) + 1 :].sum())

    def _measure_headers(self, stamps: NDArray[np.int64], records: NDArray[np.int64]) -> None:
        offsets = records - stamps
        self._low = min(self._low, int(offsets.min()))
        self._high = max(self._high, int(offsets.max()))
        self._offsets.add(offsets)
        if self._before is not None:
            stamps = np.append(self._before[0], stamps)
            records = np.append(self._before[1], records)
        self._before = int(stamps[-1]), int(records[-1])
        steps = np.diff(stamps)
        self._backward += int((steps < 0).sum())
        self._back = max(self._back, -int(steps.min(initial=0)))
        self._ahead += int((steps - np.diff(records) > AHEAD_S * 1e9).sum())


class _Sample:
    """Some of many numbers, evenly spread, for a median in flat memory."""

    def __init__(self) -> None:
        self._numbers: NDArray[np.int64] = np.zeros(0, np.int64)
        self._stride = 1

    def __bool__(self) -> bool:
        return bool(len(self._numbers))

    def add(self, numbers: NDArray[np.int64]) -> None:
        self._numbers = np.concatenate([self._numbers, numbers[:: self._stride]])
        while len(self._numbers) > _SAMPLE:
            self._numbers = self._numbers[::2]
            self._stride *= 2

    def median(self) -> float:
        return float(np.median(self._numbers)) if len(self._numbers) else 0.0


def _begins_with_stamp(kind: MessageType) -> bool:
    """Whether seconds and nanoseconds are the first eight bytes of a message."""
    for name in ('header', 'stamp'):
        first = kind.fields[0] if kind.fields else None
        if first is None or first.name != name or not isinstance(first.type, MessageType):
            continue
        if [field.type for field in first.type.fields] == [INT32, UINT32]:
            return True
        kind = first.type
    return False


def _stamps_at_begin(
    heads: list[bytes],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Read stamps of messages that begin with one.

    Returns:
        int64 [n] nanoseconds; bool [n] whether it is a time; bool [n] whether it is unset.
    """
    orders = [_ORDERS.get(head[1], '') if len(head) == 12 else '' for head in heads]
    whole = np.array([bool(order) for order in orders])
    fields = b''.join(
        head[_STAMP] if order else bytes(8) for head, order in zip(heads, orders, strict=True)
    )
    little = np.frombuffer(fields, '<u4').reshape(-1, 2)
    big = np.frombuffer(fields, '>u4').reshape(-1, 2)
    swapped = np.array([order == '>' for order in orders])[:, np.newaxis]
    numbers = np.where(swapped, big, little).astype(np.int64)
    seconds = numbers[:, 0].astype(np.uint32).astype(np.int32).astype(np.int64)
    nanoseconds = numbers[:, 1]
    unset = whole & (numbers == 0).all(axis=1)
    usable = whole & ~unset & (seconds >= 0) & (nanoseconds < 1_000_000_000)
    return seconds * 1_000_000_000 + nanoseconds, usable, unset
