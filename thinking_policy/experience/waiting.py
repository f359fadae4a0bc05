# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What waits for the thread that owns the file: records, up to a bound, and questions."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any

from thinking_policy.experience.entry import Entry
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.receipt import Receipt, settle
from thinking_policy.experience.store import ExperienceStore

AT_ONCE = 2048  # records in one transaction; one statement takes as many
BYTES_AT_ONCE = 8 << 20  # and their bytes, unless one alone has more

Waiter = tuple[Entry, Receipt]
Asked = tuple[Callable[[ExperienceStore], Any], Future[Any]]

CLOSED = 'the buffer is closed'
DROPPED = 'dropped: the queue was full while the file could not be written'


class Waiting:
    """Records and questions in the order in which they came. Any thread may use it.

    Attributes:
        dropped: Records that had to go because there were too many.
    """

    def __init__(
        self, most_records: int, most_bytes: int, bytes_at_once: int = BYTES_AT_ONCE
    ) -> None:
        self.dropped = 0
        self._most_records, self._most_bytes = most_records, most_bytes
        self._bytes_at_once = bytes_at_once
        self._records: deque[Waiter] = deque()
        self._asks: deque[Asked] = deque()
        self._bytes = 0
        self._taken: Sequence[Waiter] = ()  # by the thread; neither stored nor put back yet
        self._closed = False
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def put(self, entry: Entry) -> Receipt:
        """Take a record; the oldest ones are dropped if there are too many."""
        receipt = Receipt()
        surplus: Sequence[Receipt] = ()
        records = self._records
        with self._lock:
            if self._closed:
                settle([receipt], ExperienceError(CLOSED))
                return receipt
            before, after = self._bytes, self._bytes + len(entry.body)
            records.append((entry, receipt))
            self._bytes = after
            if after > self._most_bytes or len(records) > self._most_records:
                surplus = self._surplus()
            # Who waits is woken when there is something, and when there is enough; not each time.
            if len(records) in (1, AT_ONCE) or before < self._bytes_at_once <= after:
                self._changed.notify()
        if surplus:
            settle(surplus, ExperienceError(DROPPED))
        return receipt

    def ask(self, question: Callable[[ExperienceStore], Any]) -> Future[Any]:
        """Take a question."""
        future: Future[Any] = Future()
        with self._changed:
            if self._closed:
                answer(future, error=ExperienceError(CLOSED))
                return future
            self._asks.append((question, future))
            self._changed.notify()
        return future

    def size(self) -> tuple[int, int]:
        """Return how many records are not stored yet, and their bytes."""
        with self._changed:
            taken = sum(len(entry.body) for entry, _ in self._taken)
            return len(self._records) + len(self._taken), self._bytes + taken

    def close(self) -> None:
        """Take nothing any more."""
        with self._lock:
            self._closed = True
            self._changed.notify()

    def give_up(self) -> int:
        """Fail whatever is still waiting; return how many records that were."""
        with self._changed:
            left = [*self._taken, *self._records]
            asks = list(self._asks)
            self._records.clear()
            self._asks.clear()
            self._bytes = 0
        too_late = ExperienceError('the buffer was closed before it could be stored')
        settle([receipt for _, receipt in left], too_late)
        for _, future in asks:
            answer(future, error=ExperienceError(CLOSED))
        return len(left)

    # What the thread calls.

    def wait_for_work(self, longest_s: float, gather_s: float) -> bool:
        """Wait until there is something to do, or so long.

        Args:
            longest_s: For anything to come; seconds.
            gather_s: And then for more records to come; seconds.

        Returns:
            False when it is closed and everything is done.
        """
        with self._changed:
            if not (self._records or self._asks or self._closed):
                self._changed.wait(longest_s)
            if not (self._records or self._asks):
                return not self._closed
            if not self._is_enough():
                self._changed.wait_for(self._is_enough, gather_s)
        return True

    def pause(self, seconds: float) -> None:
        """Wait so long, or until it is closed."""
        with self._changed:
            if self._closed:
                self._changed.wait(seconds)
            else:
                self._changed.wait_for(lambda: self._closed, seconds)

    def take(self) -> Sequence[Waiter]:
        """Take the records of one transaction; `settled` or `put_back` has to follow."""
        batch: list[Waiter] = []
        size = 0
        with self._changed:
            while self._records and len(batch) < AT_ONCE:
                size += len(self._records[0][0].body)
                if batch and size > self._bytes_at_once:
                    break
                batch.append(self._records.popleft())
            self._bytes -= sum([len(entry.body) for entry, _ in batch])
            self._taken = batch
        return batch

    def settled(self) -> None:
        """Note that what was taken needs nothing more."""
        with self._changed:
            self._taken = ()

    def put_back(self) -> None:
        """Put what was taken and is not done back at the front."""
        with self._changed:
            batch = [waiter for waiter in self._taken if not waiter[1].done()]
            self._taken = ()
            self._records.extendleft(reversed(batch))
            self._bytes += sum(len(entry.body) for entry, _ in batch)
            surplus = self._surplus()
        settle(surplus, ExperienceError(DROPPED))

    def next_ask(self) -> Asked | None:
        """Return the oldest question; it stays until `answered`."""
        with self._changed:
            return self._asks[0] if self._asks else None

    def answered(self) -> None:
        """Take the oldest question away."""
        with self._changed:
            if self._asks:
                self._asks.popleft()

    def _is_enough(self) -> bool:
        return (
            self._closed
            or bool(self._asks)
            or len(self._records) >= AT_ONCE
            or self._bytes >= self._bytes_at_once
        )

    def _surplus(self) -> list[Receipt]:
        """Take the oldest records out of a queue that is too long."""
        out = []
        while len(self._records) > 1 and (
            len(self._records) > self._most_records or self._bytes > self._most_bytes
        ):
            entry, receipt = self._records.popleft()
            self._bytes -= len(entry.body)
            out.append(receipt)
        self.dropped += len(out)
        return out


def answer(future: Future[Any], result: Any = None, error: Exception | None = None) -> None:
    """Give a question its answer, unless who asked has cancelled it."""
    try:
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
    except InvalidStateError:
        pass
