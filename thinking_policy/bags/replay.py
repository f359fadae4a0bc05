# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From a bag to situations, with the tensors that a live node makes of it in lockstep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.lockstep import (
    Advance,
    Play,
    ReplayGrid,
    Step,
    clock_of,
    lockstep,
    replay_grid,
)
from thinking_policy.bags.reader import Bag
from thinking_policy.bags.topics import ABSENT, Feed, match_topics
from thinking_policy.situation import Counters, Situation, SituationConfig, SituationTracker
from thinking_policy.situation.intake import Rows

_BATCH = 1024  # steps that are read ahead
_BATCH_BYTES = 4 << 20

__all__ = [
    'Advance',
    'Play',
    'Replay',
    'ReplayGrid',
    'Step',
    'clock_of',
    'lockstep',
    'replay_grid',
    'situations_of',
]


class Replay(Iterator[Situation]):
    """The situations of one bag, made while they are asked for.

    Attributes:
        namespace: The robot's in the bag, as given.
        robot_id: As given.
        feeds: Which topic of the bag feeds which topic of the configuration, or why none.
        clock: `record` or `clock`: whose time the ticks follow.
        counters: What the tracker took and left out so far.
        played: Messages handed to the tracker so far.
        clock_ns: The replay's clock.
    """

    def __init__(
        self, bag: Bag, config: SituationConfig, robot_id: str, clock: str, namespace: str
    ) -> None:
        """Match topics and types; use `situations_of`."""
        self.namespace, self.robot_id = namespace, robot_id
        tracker = SituationTracker(config, robot_id=robot_id)
        requests = tracker.requests
        self.feeds = match_topics(bag, [(r.topic, r.type) for r in requests], namespace)
        self.clock = clock_of(bag, clock)
        self.counters: Counters = tracker.counters
        self.played = 0
        self.clock_ns = 0
        usable = [feed for feed in self.feeds if not feed.problem]
        if not usable:
            raise BagError(f'{bag.path}: {_nothing_to_feed(bag, self.feeds)}')
        names: dict[str, list[str]] = {}
        for feed in usable:
            assert feed.source is not None
            assert feed.source.message_type is not None
            tracker.bind(feed.topic, feed.source.message_type)
            names.setdefault(feed.source.name, []).append(feed.topic)
        steps = lockstep(bag, names.keys(), replay_grid(config), clock)
        self._situations = self._run(tracker, steps, names)

    def _run(
        self, tracker: SituationTracker, steps: Iterator[Step], names: dict[str, list[str]]
    ) -> Iterator[Situation]:
        for batch in _batches(steps):
            waiting = {
                name: _Waiting(tracker, names[name], plays) for name, plays in batch.plays.items()
            }
            for step in batch.steps:
                if isinstance(step, str):
                    waiting[step].played += 1
                    continue
                for messages in waiting.values():
                    self.played += messages.hand_over()
                self.clock_ns = step.clock_ns
                yield from tracker.advance(step.clock_ns)
            for messages in waiting.values():
                self.played += messages.hand_over()

    def __next__(self) -> Situation:
        """Return the situation of the next tick."""
        return next(self._situations)


class _Waiting:
    """Messages of one topic of a bag, read ahead, that wait for the clock to move on.

    Attributes:
        played: How many the replay has come to.
    """

    def __init__(
        self, tracker: SituationTracker, topics: Sequence[str], plays: Sequence[Play]
    ) -> None:
        _, raws, recorded, received = zip(*plays, strict=True)
        self._tracker = tracker
        self._rows: list[tuple[str, Rows]] = [
            (topic, tracker.read(topic, raws, received, recorded)) for topic in topics
        ]
        self._sizes = list(map(len, raws))
        self._handed = self.played = 0

    def hand_over(self) -> int:
        """Give the tracker what was played since the last time; return how many."""
        count = self.played - self._handed
        if count:
            some = slice(self._handed, self.played)
            for topic, rows in self._rows:
                self._tracker.receive_rows(topic, rows.where(some), self._sizes[some])
            self._handed = self.played
        return count


@dataclass
class _Batch:
    """A stretch of the replay.

    Attributes:
        steps: In order; for a message its topic stands.
        plays: The messages by topic.
    """

    steps: list[str | Advance] = field(default_factory=list)
    plays: dict[str, list[Play]] = field(default_factory=dict)


def _batches(steps: Iterator[Step]) -> Iterator[_Batch]:
    """Yield all steps, in stretches that are long enough for reading ahead to be worth it."""
    batch, size = _Batch(), 0
    for step in steps:
        if isinstance(step, Play):
            topic = step.topic
            batch.steps.append(topic)
            if topic not in batch.plays:
                batch.plays[topic] = []
            batch.plays[topic].append(step)
            size += len(step.raw)
        else:
            batch.steps.append(step)
        if len(batch.steps) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = _Batch(), 0
    if batch.steps:
        yield batch


def situations_of(
    bag: Bag, config: SituationConfig, robot_id: str = '', clock: str = 'auto', namespace: str = ''
) -> Replay:
    """Replay a bag without ROS.

    Args:
        bag: An opened bag.
        config: What the robot perceives.
        robot_id: Begins the names of episodes.
        clock: `record`, `clock` (the recorded /clock) or `auto`, see `lockstep`.
        namespace: The robot's namespace in the bag, for relative topics.

    Returns:
        An iterator over situations, one per tick from the bag's first message to its last.

    Raises:
        BagError: Nothing that the configuration names is in the bag; the message lists what is.
        SituationError: A signal's field does not exist in its message type.
    """
    return Replay(bag, config, robot_id, clock, namespace)


def _nothing_to_feed(bag: Bag, feeds: tuple[Feed, ...]) -> str:
    if not bag.message_count:
        why = ', '.join(bag.problems)
        return f'the bag holds no messages that can be read{f": {why}" if why else ""}'
    if not feeds:
        return 'the configuration names no topic'
    absent = [feed for feed in feeds if feed.source is None and ABSENT in feed.problem]
    reasons = [f'{feed.topic}: {feed.problem}' for feed in feeds if feed not in absent]
    if absent:
        names = ', '.join(f'{feed.topic} ({feed.type})' for feed in absent[:6])
        more = f' and {len(absent) - 6} more' if absent[6:] else ''
        reasons.append(f'{names}{more}: not in the bag{ABSENT} of that type')
    more = f' (and {len(reasons) - 6} more)' if reasons[6:] else ''
    return (
        f'nothing to feed: {"; ".join(reasons[:6])}{more}; correct `topic`, or let '
        '`thinking-policy bag info BAG --propose robot.yaml` write a robot file for this bag'
    )
