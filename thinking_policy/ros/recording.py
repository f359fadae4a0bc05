# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From moments and observations to records in the buffer; it never waits for the disk."""

from __future__ import annotations

import concurrent.futures
import functools
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from thinking_policy.experience.buffer import ExperienceBuffer
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import Observation, ObservationKind, Record
from thinking_policy.experience.recorder import Moment, Recorder, RecordingRules
from thinking_policy.experience.store import ExperienceStore
from thinking_policy.ros.observations import Heard

SETTLE_S = 1.0  # an observation waits so long for the moment that it may belong to
MOST_WAITING = 1000  # observations that wait for a moment, and as many for the file's answer
LAST_ANSWERS_S = 0.5  # what the end waits for

_MS = 1_000_000


class Recording:
    """Records one robot into a buffer. One thread uses it.

    Attributes:
        counts: Of records `experiences` and `amendments`; of observations `actions`, `traces`,
            `outcomes`, `feedback`, those that were `late` (their moment is looked for in the
            file) and those that are `unplaced` for good.
    """

    def __init__(
        self,
        robot: str,
        rules: RecordingRules,
        buffer: ExperienceBuffer,
        *,
        refuse: Callable[[str, Exception], None],
        stored: Callable[[Record], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Begin with nothing remembered.

        Args:
            robot: In every record.
            rules: What is recorded.
            buffer: Where it is kept; stays the caller's.
            refuse: Told the source and the reason of an observation that can't be recorded.
            stored: Called from the buffer's thread for every record that is stored.
            clock: Steady seconds.
            wall_ns: Nanoseconds since 1970.
        """
        self.counts: Counter[str] = Counter()
        self._robot, self._buffer = robot, buffer
        self._refuse, self._stored = refuse, stored
        self._clock, self._wall_ns = clock, wall_ns
        self._recorder = Recorder(robot, rules)
        self._newest_ns = -1
        self._waiting: deque[tuple[float, Heard]] = deque()
        self._looked_for: list[tuple[Future[str | None], Observation]] = []
        # A wall clock that went back must not give a revision twice.
        self._not_before_ns = 0
        self._last_revision: Future[int | None] | None = buffer.ask(ExperienceStore.last_revision)

    @property
    def reasons(self) -> Counter[str]:
        """How many experiences were recorded by reason, and moments `thinned`."""
        return self._recorder.counts

    @property
    def waiting(self) -> int:
        """How many observations wait for their moment, or for the file's answer."""
        return len(self._waiting) + len(self._looked_for)

    def set_rules(self, rules: RecordingRules) -> None:
        """Record by other rules from now on."""
        self._recorder.rules = rules

    def see(self, moment: Moment) -> None:
        """Take a tick."""
        self._newest_ns = moment.situation.stamp_ns
        self._put(self._recorder.see(moment))

    def hear(self, heard: Heard) -> None:
        """Take an observation; it is placed once its moment must have come."""
        self.counts[_PLURAL[heard.observation.kind]] += 1
        self._waiting.append((self._clock(), heard))

    def place(self) -> None:
        """Record the observations whose moment must have come by now."""
        self._take_answers()
        now_s = self._clock()
        waiting, self._waiting = self._waiting, deque()
        while waiting:
            came_s, heard = waiting.popleft()
            if (
                heard.experience
                or heard.observation.stamp_ns <= self._newest_ns
                or now_s - came_s >= SETTLE_S
                or len(waiting) >= MOST_WAITING
            ):
                self._place(heard)
            else:
                self._waiting.append((came_s, heard))

    def close(self) -> None:
        """Record what waits; the buffer stays open."""
        while self._waiting:
            self._place(self._waiting.popleft()[1])
        concurrent.futures.wait([future for future, _ in self._looked_for], LAST_ANSWERS_S)
        self._take_answers()
        self.counts['unplaced'] += len(self._looked_for)
        self._looked_for = []

    def _place(self, heard: Heard) -> None:
        observation = heard.observation
        try:
            records = self._recorder.observe(
                observation, self._now_ns(), experience=heard.experience, episode=heard.episode
            )
        except ExperienceError as error:
            self._refuse(observation.source, error)
            return
        if records is not None:
            self._put(records)
            return
        # Without an episode, the newest record may be of another day: not guessed.
        if not heard.episode or len(self._looked_for) >= MOST_WAITING:
            self.counts['unplaced'] += 1
            return
        self.counts['late'] += 1
        where = (self._robot, heard.episode, observation.stamp_ns)
        question = functools.partial(_experience_at, where)
        self._looked_for.append((self._buffer.ask(question), observation))

    def _take_answers(self) -> None:
        answer = self._last_revision
        if answer is not None and answer.done():
            self._last_revision = None
            if answer.exception() is None:
                self._not_before_ns = ((answer.result() or 0) + 1) * _MS
        open_questions = []
        for future, observation in self._looked_for:
            if not future.done():
                open_questions.append((future, observation))
                continue
            experience = None if future.exception() else future.result()
            if experience is None:
                self.counts['unplaced'] += 1
            else:
                amendment = self._recorder.amendment(experience, observation, self._now_ns())
                self._put([amendment])
        self._looked_for = open_questions

    def _put(self, records: Iterable[Record]) -> None:
        for record in records:
            future = self._buffer.put(record)
            self.counts['experiences' if record.kind == 'experience' else 'amendments'] += 1
            if self._stored is not None:
                future.add_done_callback(functools.partial(_tell, self._stored, record))

    def _now_ns(self) -> int:
        return max(self._wall_ns(), self._not_before_ns)


_PLURAL = {
    ObservationKind.ACTION: 'actions',
    ObservationKind.TRACE: 'traces',
    ObservationKind.OUTCOME: 'outcomes',
    ObservationKind.FEEDBACK: 'feedback',
}


def _experience_at(where: tuple[str, str, int], store: ExperienceStore) -> str | None:
    return store.at(*where)


def _tell(stored: Callable[[Record], None], record: Record, future: Future[None]) -> None:
    if not future.cancelled() and future.exception() is None:
        stored(record)
