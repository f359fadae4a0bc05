# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Actions, outcomes and feedback that are in a bag, at the times at which a node hears them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from thinking_policy.bags import Bag, lockstep
from thinking_policy.bags.lockstep import Advance, ReplayGrid
from thinking_policy.bags.topics import match_topics
from thinking_policy.experience import observing
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.observing import FEEDBACK_TYPE, KINDS
from thinking_policy.experience.record import Observation, ObservationKind
from thinking_policy.situation.decode import compile_decoder
from thinking_policy.situation.requests import TEXT_TYPE

DEFAULT_FEEDBACK = 'thinking/feedback'  # as the experience node has it


@dataclass(frozen=True)
class Topics:
    """Topics of ThinkingFeedback, which says its kind itself, or of texts of these kinds."""

    action: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    feedback: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that no topic has two meanings.

        Raises:
            ExperienceError: One has.
        """
        names = [*self.action, *self.outcome, *self.feedback]
        for name in names:
            if names.count(name) > 1:
                raise ExperienceError(f'{name}: expected each topic once, found it twice')


@dataclass(frozen=True)
class Heard:
    """An observation, when it was heard, and what it says that it belongs to.

    Attributes:
        names_experience: It names a record and no time: a bag doesn't know that record.
    """

    observation: Observation
    received_ns: int
    episode: str = ''
    names_experience: bool = False

    @property
    def stamp_ns(self) -> int:
        """Return the time that it refers to."""
        return self.observation.stamp_ns


class Hearing:
    """The observations of one bag in order of the replay's clock.

    Attributes:
        broken: Messages that couldn't be used.
        notes: Topics that can't be heard, and why the first broken message was.
    """

    def __init__(
        self, bag: Bag, topics: Topics, namespace: str, grid: ReplayGrid, clock: str
    ) -> None:
        """Find the topics; a bag that lacks some is none the worse.

        Args:
            bag: Opened for this alone.
            topics: Which ones.
            namespace: The robot's in the bag, for relative names.
            grid: Where the clock stops.
            clock: `record` or `clock`, as in the replay beside.
        """
        self.broken = 0
        self.notes: list[str] = []
        self._readers: dict[str, Callable[[bytes, int], Heard]] = {}
        for kind, names in zip(
            KINDS, (topics.action, topics.outcome, topics.feedback), strict=True
        ):
            for name in names:
                self._find(bag, name, kind, namespace)
        if not topics.feedback and DEFAULT_FEEDBACK not in (*topics.action, *topics.outcome):
            self._find(bag, DEFAULT_FEEDBACK, ObservationKind.FEEDBACK, namespace, asked=False)
        self._heard = self._run(bag, grid, clock)
        self._next: Heard | None = None

    def until(self, clock_ns: int | None) -> Iterator[Heard]:
        """Yield what is heard until the clock shows this; None: all that is left."""
        while True:
            if self._next is None:
                self._next = next(self._heard, None)
            if self._next is None or (clock_ns is not None and self._next.received_ns >= clock_ns):
                return
            heard, self._next = self._next, None
            yield heard

    def _run(self, bag: Bag, grid: ReplayGrid, clock: str) -> Iterator[Heard]:
        if not self._readers:
            return
        now_ns = 0
        for step in lockstep(bag, self._readers.keys(), grid, clock):
            if isinstance(step, Advance):
                now_ns = step.clock_ns
                continue
            # What a node's clock shows when the message comes: the last tick's end.
            received_ns = now_ns or max(0, step.received_ns - grid.tick_period_ns)
            try:
                yield self._readers[step.topic](step.raw, received_ns)
            except ExperienceError as error:
                self.broken += 1
                if self.broken == 1:
                    self.notes.append(f'  cannot be used: {error}')

    def _find(
        self, bag: Bag, name: str, kind: ObservationKind, namespace: str, *, asked: bool = True
    ) -> None:
        feeds = match_topics(bag, [(name, FEEDBACK_TYPE), (name, TEXT_TYPE)], namespace)
        for feed in feeds:
            if feed.source is not None and not feed.problem:
                assert feed.source.message_type is not None
                decode = compile_decoder(feed.source.message_type)
                reader = _feedback(decode, name) if feed is feeds[0] else _text(decode, name, kind)
                self._readers[feed.source.name] = reader
                return
        if asked:
            source = feeds[0].source
            problem = feeds[0].problem
            if source is not None and source.type not in (FEEDBACK_TYPE, TEXT_TYPE):
                problem = f'expected {FEEDBACK_TYPE} or {TEXT_TYPE}, the bag has {source.type}'
            elif source is not None and source.type == TEXT_TYPE:
                problem = feeds[1].problem
            self.notes.append(f'  not heard: {name}: {problem}')


Decode = Callable[[bytes], dict[str, Any] | None]


def _feedback(decode: Decode, topic: str) -> Callable[[bytes, int], Heard]:
    def read(raw: bytes, received_ns: int) -> Heard:
        message = decode(raw)
        if message is None:
            raise ExperienceError(f'{topic}: the bytes are no {FEEDBACK_TYPE}')
        stamp = message['header']['stamp']
        stamp_ns = int(stamp['sec']) * 10**9 + int(stamp['nanosec'])
        observation = observing.from_feedback(
            topic,
            received_ns,
            kind=int(message['kind']),
            stamp_ns=stamp_ns,
            code=message['code'],
            reward=float(message['reward']),
            expected=message['expected'],
            verified=bool(message['verified']),
            source=message['source'],
            text=message['text'],
        )
        named = bool(message['experience_id']) and not stamp_ns
        return Heard(observation, received_ns, message['episode'], named)

    return read


def _text(decode: Decode, topic: str, kind: ObservationKind) -> Callable[[bytes, int], Heard]:
    def read(raw: bytes, received_ns: int) -> Heard:
        message = decode(raw)
        if message is None:
            raise ExperienceError(f'{topic}: the bytes are no {TEXT_TYPE}')
        observation = observing.from_text(topic, received_ns, kind, str(message['data']))
        return Heard(observation, received_ns)

    return read
