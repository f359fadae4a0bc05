# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What every kind of storage offers, and how several are read as one, in order of time."""

from __future__ import annotations

import bisect
import functools
import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

LATEST_NS = 9_214_646_400_000_000_000
"""2262-01-01 UTC. What is later, or as long before 1970, leaves no room to add a tick in int64."""

Item = tuple[str, int, bytes]
"""Topic, record time in nanoseconds, raw CDR."""


@dataclass(frozen=True)
class Definition:
    """The text that says what a message type looks like, as stored in a bag.

    `format` is ros2msg, ros2idl or ros1msg.
    """

    type: str
    format: str
    text: str


@dataclass(frozen=True)
class Channel:
    """One topic in one storage file."""

    topic: str
    type: str
    count: int
    serialization: str = 'cdr'


class Storage(Protocol):
    """One opened storage file.

    `start_ns` is None where the file holds no message. `problems` grows while it is read.
    """

    channels: tuple[Channel, ...]
    definitions: tuple[Definition, ...]
    start_ns: int | None
    end_ns: int | None
    problems: Counter[str]

    def messages(self, channels: Collection[Channel]) -> Iterator[Item]:
        """Yield the messages of some of `channels` in order of record time."""
        ...

    def record_times(self) -> Iterator[int]:
        """Yield the record times of all messages in the order in which they were written."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def printable(text: str) -> str:
    """Return a name from a bag with what cannot be printed escaped: a damaged one stays a line."""
    return text if text.isprintable() else text.encode('unicode_escape').decode('ascii')


def reason(error: Exception) -> str:
    """Return why something failed, also where the error has no words of its own."""
    if isinstance(error, MemoryError):
        return 'not enough memory'
    return printable(str(error)) or type(error).__name__


@dataclass(frozen=True)
class Source:
    """Something that yields messages from a time on: a chunk or a whole split.

    `again`: it may be opened twice, so a large message need not wait in memory for its turn.
    """

    start_ns: int
    open: Callable[[], Iterable[Item]]
    again: bool = False


def in_order_of_time(sources: Iterable[Source]) -> Iterator[Item]:
    """Merge sources that each are in order, and may overlap.

    A source is opened when its time has come, so memory holds only those that overlap, and of
    each of them one message; where these are large, sources that can be opened again are let go
    until their message's turn. Equal times keep the order of the sources.
    """
    waiting = deque(sorted(sources, key=lambda source: source.start_ns))
    active: list[_Active] = []
    opened = held = 0
    while waiting or active:
        # Not at an equal time: that source's turn comes after those that are open.
        while waiting and (not active or waiting[0].start_ns < active[0].item[1]):
            source = waiting.popleft()
            iterator = iter(source.open())
            for item in iterator:
                held = _hold(_Active(item, opened, iterator, source, 1), active, waiting, held)
                break
            opened += 1
        if not active:
            continue
        one = heapq.heappop(active)
        held -= len(one.item[2])
        yield one.item
        if not active and not waiting:  # the last, or the only one
            yield from one.rest
            return
        # The usual case, nothing overlaps, passes through here without the heap.
        barrier = min(
            active[0].item[1] if active else _NEVER, waiting[0].start_ns if waiting else _NEVER
        )
        for item in one.rest:
            one.done += 1
            if item[1] >= barrier:
                one.item = item
                held = _hold(one, active, waiting, held)
                break
            yield item


@dataclass
class _Active:
    """An opened source: its next message, and how many it has given with that one."""

    item: Item
    order: int
    rest: Iterator[Item]
    source: Source
    done: int

    def __lt__(self, other: _Active) -> bool:
        return (self.item[1], self.order) < (other.item[1], other.order)


def _hold(one: _Active, active: list[_Active], waiting: deque[Source], held: int) -> int:
    """Let a message wait for its turn, in memory or in its file; return what memory holds then."""
    item, source = one.item, one.source
    # At its source's own beginning it is its turn now.
    if source.again and item[1] > source.start_ns and held + len(item[2]) > _MOST_HELD:
        rest = functools.partial(_behind, source.open, one.done - 1)
        bisect.insort(waiting, Source(item[1], rest, again=True), key=lambda w: w.start_ns)
        return held
    heapq.heappush(active, one)
    return held + len(item[2])


def _behind(open_source: Callable[[], Iterable[Item]], count: int) -> Iterator[Item]:
    return itertools.islice(open_source(), count, None)


_NEVER = 2**63
_MOST_HELD = 2**25  # bytes of messages that wait for their turn


class Room:
    """How much memory the messages of all opened chunks of a file may take.

    Chunks follow each other in time and few are open at once. Damaged or odd times can make
    hundreds overlap; then those that wait longest are forgotten and unpacked again in their turn.
    """

    def __init__(self, size: int = 2**25) -> None:
        """Make room for `size` bytes; one chunk is held, however large it is."""
        self._size = size
        self._held: dict[int, tuple[list[Item], int]] = {}
        self._next = 0

    def messages(self, load: Callable[[], list[Item]]) -> Iterator[Item]:
        """Yield what `load` returns, which is always the same."""
        done = count = 0
        while done < count or not count:
            items = load()
            count = len(items)
            ticket = self._hold(items)
            try:
                # Forgetting empties the list, which ends a loop over it.
                for item in itertools.islice(items, done, None):
                    done += 1
                    yield item
            finally:
                self._held.pop(ticket, None)
            if not count:
                return

    def _hold(self, items: list[Item]) -> int:
        size = sum([len(raw) for _, _, raw in items])
        left = self._size - size - sum(held for _, held in self._held.values())
        while left < 0 and self._held:
            forgotten, held = self._held.pop(next(iter(self._held)))
            forgotten.clear()
            left += held
        self._next += 1
        self._held[self._next] = items, size
        return self._next
