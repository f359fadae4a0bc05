# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A bag into experiences: what a node records that hears it, without ROS."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from thinking_policy.bags import open_bag, replay_grid, situations_of
from thinking_policy.bags.lockstep import clock_of
from thinking_policy.cli import bag_lines
from thinking_policy.cli.experience_hearing import Heard, Hearing, Topics
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.replaying import Asking
from thinking_policy.experience.record import (
    Activation,
    Experience,
    Observation,
    Record,
    time_ordered_id,
)
from thinking_policy.experience.recorder import Moment, Recorder, RecordingRules
from thinking_policy.policy import Thinker
from thinking_policy.situation import Event, Recalled, Situation

SETTLE_NS = 1_000_000_000  # an observation waits so long for the moment that it may belong to

Put = Callable[[list[Record]], None]


@dataclass(frozen=True)
class BagRecording:
    """How bags become experiences.

    Attributes:
        ask: Policy, configuration and settings, as a node has them.
        rules: What is recorded.
        topics: Where actions, outcomes and feedback are.
        robot: In every record.
        robot_id: Begins the names of episodes, as for the node of the policy.
    """

    ask: Asking
    rules: RecordingRules
    topics: Topics
    robot: str
    robot_id: str = ''


@dataclass
class Recorded:
    """What became of one bag.

    Attributes:
        ticks: Situations.
        reasons: Experiences by reason, and moments `thinned`.
        counts: `experiences`, `amendments`, observations `heard`, and of these `broken`,
            `unplaced`, and `named`: they name a record of the robot's own file.
        notes: Lines about what of the bag was left out or odd.
    """

    ticks: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def record_bag(name: str, path: Path, how: BagRecording, put: Put) -> Recorded:
    """Replay a bag and hand over what a node would record of it.

    Args:
        name: For the progress bar.
        path: The bag.
        how: See there.
        put: Takes records, in order.

    Raises:
        ThinkingPolicyError: The bag cannot be read or feeds nothing, or the policy fails.
    """
    ask = how.ask
    thinker = Thinker(ask.runtime, ask.config.window_length)
    thinker.set_thresholds(ask.settings.thresholds, ask.settings.minimum_hold_s)
    with open_bag(path) as bag, open_bag(path) as beside:
        replay = situations_of(bag, ask.config, how.robot_id, ask.clock, ask.namespace)
        clock = clock_of(bag, ask.clock)
        heard = Hearing(beside, how.topics, ask.namespace, replay_grid(ask.config), clock)
        placing = _Placing(how, put)
        feeds = {f.source.name: f.source.count for f in replay.feeds if f.source and not f.problem}
        with showing_progress(f'replaying {name}', sum(feeds.values())) as progress:
            for situation in replay:
                placing.hear(heard.until(replay.clock_ns))
                placing.see(_moment(situation, thinker, ask))
                progress(replay.played)
        placing.end(heard.until(None))
        recorded = placing.recorded
        recorded.counts['broken'] = heard.broken
        recorded.notes = [*bag_lines.not_taken(replay), *heard.notes]
        recorded.notes += bag_lines.problems(bag.problems)
        return recorded


class _Placing:
    """Finds the moment of each observation, as the experience node does, and counts."""

    def __init__(self, how: BagRecording, put: Put) -> None:
        self.recorded = Recorded()
        self._put = put
        self._robot = how.robot
        self._recorder = Recorder(how.robot, how.rules, identify=self._identify)
        self._newest_ns = -1
        self._waiting: list[Heard] = []
        self._experiences: list[tuple[int, str, str]] = []  # stamp, episode, id

    def see(self, moment: Moment) -> None:
        self.recorded.ticks += 1
        self._newest_ns = moment.situation.stamp_ns
        self._take(self._recorder.see(moment))
        self._place(self._newest_ns)

    def hear(self, heard: Iterable[Heard]) -> None:
        for one in heard:
            self.recorded.counts['heard'] += 1
            self._waiting.append(one)

    def end(self, heard: Iterable[Heard]) -> None:
        self.hear(heard)
        self._place(None)
        self.recorded.reasons = Counter(self._recorder.counts)
        del self.recorded.reasons['unplaced']  # some were found after all

    def _place(self, now_ns: int | None) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if now_ns is None or min(one.stamp_ns, one.received_ns + SETTLE_NS) <= now_ns:
                self._place_one(one)
            else:
                self._waiting.append(one)

    def _place_one(self, one: Heard) -> None:
        if one.names_experience:
            self.recorded.counts['named'] += 1
            return
        observation = one.observation
        records = self._recorder.observe(observation, one.received_ns, episode=one.episode)
        if records is None:
            records = self._amended(observation, one)
        if records is None:
            self.recorded.counts['unplaced'] += 1
        else:
            self._take(records)

    def _amended(self, observation: Observation, one: Heard) -> list[Record] | None:
        """Look among all experiences of the bag, as the node does in its file."""
        for stamp_ns, episode, name in reversed(self._experiences):
            if one.episode == episode and stamp_ns <= observation.stamp_ns:
                return [self._recorder.amendment(name, observation, one.received_ns)]
        return None

    def _take(self, records: list[Record]) -> None:
        for record in records:
            if isinstance(record, Experience):
                situation = record.situation
                self._experiences.append((situation.stamp_ns, situation.episode, record.id))
                self.recorded.counts['experiences'] += 1
            else:
                self.recorded.counts['amendments'] += 1
        if records:
            self._put(records)

    def _identify(self, moment: Moment) -> str:
        """Return an id that the same bag gives again, and no other moment has."""
        situation = moment.situation
        content = [self._robot, situation.episode, situation.tick, moment.policy_version]
        hashed = hashlib.sha256(json.dumps(content).encode())
        hashed.update(np.ascontiguousarray(situation.window, '<f4').tobytes())
        hashed.update(np.packbits(situation.valid).tobytes())
        return time_ordered_id(situation.stamp_ns, hashed.digest()[:10])


def _moment(situation: Situation, thinker: Thinker, ask: Asking) -> Moment:
    """Return a tick as the experience node gets it: numbers with the precision of messages."""
    inference, active = thinker.think(situation)
    thresholds = ask.settings.thresholds
    return Moment(
        situation=_as_published(situation),
        policy_version=ask.runtime.version,
        activations=tuple(
            Activation(
                id=name,
                probability=_single(float(inference.probability[i])),
                threshold=_single(thresholds[name][0]),
                active=bool(active[i]),
            )
            for i, name in enumerate(thinker.ids)
        ),
        novelty=_or_none(_single(float(inference.novelty))),
        novelty_threshold=_or_none(_single(ask.settings.novelty_threshold)),
    )


def _as_published(situation: Situation) -> Situation:
    return dataclasses.replace(
        situation,
        readings=tuple(
            dataclasses.replace(one, value=_single(one.value), age_s=_single(one.age_s))
            for one in situation.readings
        ),
        new_events=(),  # messages don't say them; the recorder finds them by comparison
        events=tuple(_event(event) for event in situation.events),
        recalled=tuple(Recalled(_event(entry.event), entry.count) for entry in situation.recalled),
    )


def _event(event: Event) -> Event:
    return dataclasses.replace(event, value=_single(event.value))


def _single(value: float) -> float:
    with np.errstate(over='ignore'):
        return np.float32(value).item()


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
