# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The experience buffer B_t: durable, bounded, and never in the way of who records.

Who records only appends to a queue. One thread owns the file: it stores what is in the queue in
one transaction and only then acknowledges. While the file is locked, full or read-only the
queue grows up to its bound and the thread tries again; a broken file is set aside.
"""

from __future__ import annotations

import functools
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from thinking_policy.experience.buffer_options import BufferOptions, BufferStatus
from thinking_policy.experience.entry import entry_of
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.receipt import Receipt, settle
from thinking_policy.experience.record import MAX_LINE, Record, to_line
from thinking_policy.experience.schema import open_database
from thinking_policy.experience.sqlite_faults import (
    ITS_OWN,
    is_broken,
    is_the_files_fault,
    refuses_for_now,
)
from thinking_policy.experience.store import ExperienceStore
from thinking_policy.experience.transaction import transaction
from thinking_policy.experience.upkeep import Upkeep
from thinking_policy.experience.waiting import BYTES_AT_ONCE, Waiter, Waiting, answer

Result = TypeVar('Result')

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0  # between two attempts on a file that refuses


class ExperienceBuffer:
    """Keeps records; a context manager. `put`, `ask` and `status` may be called by any thread."""

    def __init__(
        self,
        path: Path,
        options: BufferOptions | None = None,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the thread; the file is opened there.

        Args:
            path: The SQLite file; made where it is missing.
            options: How it is kept.
            clock_ns: When records are stored, nanoseconds since 1970.
            monotonic: For intervals, seconds.
        """
        self.path = path
        self.options = options or BufferOptions()
        self._clock_ns = clock_ns
        self._waiting = Waiting(
            self.options.queue_records,
            self.options.queue_bytes,
            bytes_at_once=min(BYTES_AT_ONCE, self.options.most_bytes // 8),
        )
        self._upkeep = Upkeep(path, self.options, clock_ns, monotonic)
        self._status, self._status_lock = BufferStatus(), threading.Lock()
        self._store: ExperienceStore | None = None
        self._inode = (0, 0)
        self._broken_before = False  # and nothing has been stored since
        self._distrust = ''  # why the file is not to be used again
        # One that takes up most of the file would have everything else evicted.
        self._most_line = min(MAX_LINE, self.options.most_bytes // 8)
        self._ends: float | None = None  # when closing has to be done, by the real clock
        self._thread = threading.Thread(target=self._run, name='experience_buffer', daemon=True)
        self._thread.start()

    def put(self, record: Record) -> Receipt:
        """Take a record, at once.

        Returns:
            Done when the record is stored as `BufferOptions.sync` says; with an `ExperienceError`
            where it was dropped or refused.
        """
        line = to_line(record)
        if len(line) > self._most_line:
            receipt = Receipt()
            bound = f'expected at most {self._most_line:,} bytes, found {len(line):,}'
            self._refuse([receipt], f'{record.id}: {bound}')
            return receipt
        return self._waiting.put(entry_of(record, line))

    def ask(self, question: Callable[[ExperienceStore], Result]) -> Future[Result]:
        """Run something on the store, in its thread and in a transaction of its own.

        While the file refuses, the question waits. Its own errors are the future's.
        """
        return self._waiting.ask(question)

    def status(self) -> BufferStatus:
        """Return how it stands."""
        queued, queued_bytes = self._waiting.size()
        with self._status_lock:
            return replace(
                self._status,
                queued=queued,
                queued_bytes=queued_bytes,
                dropped=self._waiting.dropped,
            )

    def close(self, within_s: float = 4.0) -> int:
        """Store what is in the queue and close the file.

        Args:
            within_s: How long it may take; seconds.

        Returns:
            How many records could not be stored.
        """
        if self._ends is None:
            self._ends = time.monotonic() + within_s
        self._waiting.close()
        self._thread.join(max(0.0, self._ends - time.monotonic()))
        return self._waiting.give_up()

    def __enter__(self) -> ExperienceBuffer:
        """Return the buffer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    # What the thread does.

    def _run(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            try:
                if self._store is None:
                    self._open()
                    self._note(problem='')
                while self._waiting.wait_for_work(self._upkeep.wait_s(), self.options.gather_s):
                    self._work()
                    self._note(problem='')
                    pause = FIRST_PAUSE_S
                self._upkeep.sync_if_due(now=True)
                break
            except sqlite3.Error as error:
                self._suffer(error)
            except Exception as error:  # whatever it is, it is said, and recording goes on
                self._note(problem=str(error) or repr(error))
            self._waiting.pause(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
            if self._ends is not None:
                pause = FIRST_PAUSE_S
                if time.monotonic() + pause >= self._ends:
                    break
        self._let_go()

    def _open(self) -> None:
        opened = open_database(
            self.path,
            sync=self.options.sync,
            busy_s=self.options.busy_s,
            now_ns=self._clock_ns(),
            distrust=self._distrust,
        )
        if opened.database.table('token').exists():
            opened.database.conn.close()
            raise ExperienceError(
                f"{self.path}: expected a robot's file of experiences, found a server's "
                'database; name another file'
            )
        self._store = ExperienceStore(opened.database)
        self._inode = self._found_inode()
        self._distrust = ''
        if opened.set_aside is not None:
            self._broken_before = False
            self._set_aside(f'{opened.set_aside.name}: {opened.reason}')

    def _work(self) -> None:
        store = self._store
        assert store is not None
        batch = self._waiting.take()
        try:
            more = sum([len(entry.body) for entry, _ in batch])
            self._upkeep.make_room(store, self._transaction, more)
            self._note_upkeep()
            if batch and not self._upkeep.full:
                self._store_batch(store, batch)
            self._waiting.put_back() if self._upkeep.full else self._waiting.settled()
        except BaseException as error:
            self._waiting.put_back()
            if 'full' in str(error):
                self._answer(store)  # what was uploaded can go, which needs no more room
            raise
        self._answer(store)
        self._upkeep.let_old_go(store, self._transaction)
        self._upkeep.sync_if_due()
        self._note_upkeep()
        if batch and self._upkeep.full:
            raise ExperienceError(f'{self.path}: there is no room and nothing may be deleted')

    def _store_batch(self, store: ExperienceStore, batch: Sequence[Waiter]) -> None:
        entries = [entry for entry, _ in batch]
        try:
            added = self._transaction(lambda: store.add(entries, self._clock_ns()))
        except Exception as error:
            if not isinstance(error, ITS_OWN):
                raise
            if len(batch) > 1:  # find the one that it was; the others have their right
                for waiter in batch:
                    self._store_batch(store, [waiter])
            else:
                self._refuse([batch[0][1]], str(error))
            return
        self._check_file_is_there()
        self._upkeep.committed()
        self._broken_before = False
        status = self._status
        self._note(
            stored=status.stored + len(added.new),
            known=status.known + len(added.known),
            conflicting=status.conflicting + len(added.conflicting),
        )
        conflicting = set(added.conflicting)
        for entry, receipt in batch if conflicting else ():
            if entry.line in conflicting:
                reason = f'{entry.id}: another record of that id is there already'
                settle([receipt], ExperienceError(reason))
        settle([receipt for _, receipt in batch])

    def _answer(self, store: ExperienceStore) -> None:
        while (asked := self._waiting.next_ask()) is not None:
            question, future = asked
            try:
                result = self._transaction(functools.partial(question, store))
            except Exception as error:
                if is_the_files_fault(error):
                    raise
                answer(future, error=error)  # the question's own: who asked hears of it
            else:
                self._check_file_is_there()
                self._upkeep.committed()
                answer(future, result)
            self._waiting.answered()

    def _transaction(self, work: Callable[[], Result]) -> Result:
        assert self._store is not None
        with transaction(self._store.database):
            return work()

    def _check_file_is_there(self) -> None:
        """Raise if what was committed went into a file that someone has deleted or replaced.

        Before it is acknowledged, that is: the records are still in hand and go into a new one.
        """
        if self._found_inode() != self._inode:
            self._let_go()
            reason = 'was deleted or replaced by someone; what was in it is gone'
            self._set_aside(f'{self.path.name}: {reason}')
            raise ExperienceError(f'{self.path}: {reason}')

    def _found_inode(self) -> tuple[int, int]:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return (0, 0)
        return found.st_dev, found.st_ino

    def _suffer(self, error: sqlite3.Error) -> None:
        """Say what is wrong; let go of a file that won't do, so that it is opened anew."""
        text = str(error)
        self._note(problem=f'{self.path}: {text}')
        if refuses_for_now(error):
            return
        if is_broken(error) and self._store is not None:
            # A look through the whole file does not find everything: the second time it goes.
            if self._broken_before:
                self._distrust = text
            self._broken_before = True
        self._let_go()

    def _let_go(self) -> None:
        if self._store is not None:
            try:
                self._store.database.conn.close()
            except sqlite3.Error as error:
                self._note(problem=f'{self.path}: {error}')
            self._store = None

    def _refuse(self, receipts: Sequence[Receipt], why: str) -> None:
        with self._status_lock:
            self._status = replace(self._status, refused=self._status.refused + len(receipts))
        settle(receipts, ExperienceError(f'refused: {why}'))

    def _set_aside(self, what: str) -> None:
        self._note(set_aside=(*self._status.set_aside, what))

    def _note_upkeep(self) -> None:
        upkeep = self._upkeep
        self._note(
            evicted=dict(upkeep.evicted),
            full=upkeep.full,
            file_bytes=upkeep.file_bytes,
            log_bytes=upkeep.log_bytes,
        )

    def _note(self, **changes: Any) -> None:
        with self._status_lock:
            self._status = replace(self._status, **changes)


__all__ = ['BufferOptions', 'BufferStatus', 'ExperienceBuffer']
