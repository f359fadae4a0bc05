# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which moments become experiences, and to which one an outcome belongs.

The same rules serve the live node and a bag.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import (
    Activation,
    Amendment,
    Experience,
    Observation,
    Reason,
    Record,
    checked,
    is_label,
    stored,
    time_ordered_id,
)
from thinking_policy.experience.record import ObservationKind as Kind
from thinking_policy.situation.situation import Event, EventKind, Situation

MOST_REMEMBERED = 600  # moments; an outcome that comes later finds only what was recorded
MOST_REMEMBERED_BYTES = 16 << 20  # of their windows
MOST_OBSERVED = 64  # actions and traces of one moment; a fast topic must not fill the buffer
MINUTE_S = 60.0


@dataclass(frozen=True)
class RecordingRules:
    """What is recorded, and at most how much.

    Attributes:
        change: When the active set changes.
        novelty: When the novelty rises above its threshold.
        event: When a tick brings events.
        sample_s: And one moment in so many seconds, whatever it is; 0: none.
        most_per_minute: Of changes, novelties and events together; more are counted as thinned.
            Outcomes and feedback are always recorded.
    """

    change: bool = True
    novelty: bool = True
    event: bool = True
    sample_s: float = 60.0
    most_per_minute: float = 60.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ExperienceError: One is out of range.
        """
        for name, least in (('sample_s', 0.0), ('most_per_minute', 1.0)):
            found = getattr(self, name)
            if not found >= least:
                raise ExperienceError(f'{name}: expected at least {least:g}, found {found!r}')


@dataclass
class Moment:
    """One tick: the situation, and what the policy said of it.

    Attributes:
        known: What is known of it beyond that so far.
        id: Of the experience that it has become; empty: none.
        observed: How many actions and traces belong to it.
    """

    situation: Situation
    policy_version: str
    activations: tuple[Activation, ...]
    novelty: float | None = None
    novelty_threshold: float | None = None
    known: list[Observation] = field(default_factory=list)
    id: str = ''
    observed: int = 0

    @property
    def is_novel(self) -> bool:
        """Whether the novelty is above its threshold."""
        return (
            self.novelty is not None
            and self.novelty_threshold is not None
            and self.novelty > self.novelty_threshold
        )


class Recorder:
    """Decides what is recorded of one robot. One thread uses it.

    Attributes:
        counts: How many experiences were recorded by reason, moments `thinned`, observations
            `unplaced` (no moment of theirs is remembered), actions and traces `crowded` out (their
            moment has `MOST_OBSERVED`).
    """

    def __init__(
        self,
        robot: str,
        rules: RecordingRules,
        *,
        random: Callable[[int], bytes] = os.urandom,
        identify: Callable[[Moment], str] | None = None,
        first_revision: int = 1,
    ) -> None:
        """Begin with nothing remembered.

        Args:
            robot: In every record.
            rules: What is recorded.
            random: Gives n random bytes, for ids.
            identify: Gives the id of what a moment becomes, instead of time and random bytes.
            first_revision: Larger than every revision that this robot has given before.
        """
        self.rules = rules
        self.counts: Counter[str] = Counter()
        self._robot = robot
        self._random = random
        self._identify = identify
        self._revision = first_revision - 1
        self._moments: deque[Moment] = deque()
        self._bytes = 0
        self._sampled_ns: int | None = None
        self._tokens, self._filled_ns = rules.most_per_minute, 0

    def see(self, moment: Moment) -> list[Record]:
        """Take a tick; return what is to be recorded of it.

        A situation that came as a message lacks its new events; they are found by comparison.

        Raises:
            ExperienceError: The situation doesn't fit into a record.
        """
        before = self._moments[-1] if self._moments else None
        if not moment.situation.new_events and moment.situation.events:
            new_events = _new_events(moment.situation, before)
            moment.situation = replace(moment.situation, new_events=new_events)
        self._remember(moment)
        reasons = self._reasons(moment, before)
        return [self._experience(moment, reasons)] if reasons else []

    def _remember(self, moment: Moment) -> None:
        self._moments.append(moment)
        self._bytes += moment.situation.window.nbytes
        while len(self._moments) > 1 and (
            len(self._moments) > MOST_REMEMBERED or self._bytes > MOST_REMEMBERED_BYTES
        ):
            self._bytes -= self._moments.popleft().situation.window.nbytes

    def observe(
        self, observation: Observation, now_ns: int, *, experience: str = '', episode: str = ''
    ) -> list[Record] | None:
        """Take an action, a trace, an outcome or a feedback.

        It belongs to the experience that is named, else to the newest moment of its episode that
        is not later than it. A moment that was not recorded becomes an experience by an outcome
        or a feedback; by an action or a trace it does not, it only keeps them.

        Args:
            observation: What was observed.
            now_ns: When it was taken in; nanoseconds since 1970.
            experience: Id of the experience, if known.
            episode: If known; else whatever episode was then.

        Returns:
            What is to be recorded; None where no such moment is remembered any more.

        Raises:
            ExperienceError: `experience` is no id of an experience.
        """
        if experience:
            return [self.amendment(experience, observation, now_ns)]
        moment = self._moment_of(observation, episode)
        if moment is None:
            self.counts['unplaced'] += 1
            return None
        if not is_label(observation):
            if moment.observed >= MOST_OBSERVED:
                self.counts['crowded'] += 1
                return []
            moment.observed += 1
        if moment.id:
            return [self.amendment(moment.id, observation, now_ns)]
        moment.known.append(observation)
        if not is_label(observation):
            return []
        reason = Reason.OUTCOME if observation.kind is Kind.OUTCOME else Reason.FEEDBACK
        return [self._experience(moment, (reason,))]

    def amendment(self, experience: str, observation: Observation, now_ns: int) -> Amendment:
        """Return an observation as an amendment of a recorded experience."""
        revision = max(self._revision + 1, now_ns // 1_000_000)
        amendment = checked(
            Amendment,
            'amendment',
            id=experience,
            robot=self._robot,
            revision=revision,
            observation=observation,
        )
        self._revision = revision
        return amendment

    def _reasons(self, moment: Moment, before: Moment | None) -> tuple[Reason, ...]:
        rules, situation = self.rules, moment.situation
        same_episode = before is not None and before.situation.episode == situation.episode
        found = []
        if rules.change and _active(moment) != (_active(before) if same_episode else frozenset()):
            found.append(Reason.CHANGE)
        if (
            rules.novelty
            and moment.is_novel
            and not (same_episode and before is not None and before.is_novel)
        ):
            found.append(Reason.NOVELTY)
        if rules.event and situation.new_events:
            found.append(Reason.EVENT)
        if self._sample_is_due(situation.stamp_ns):
            found.append(Reason.SAMPLE)  # recorded anyway, and for all its reasons
        elif found and not self._allowed(situation.stamp_ns):
            self.counts['thinned'] += 1
            found = []
        if found:
            self._sampled_ns = situation.stamp_ns
        return tuple(found)

    def _sample_is_due(self, stamp_ns: int) -> bool:
        if not self.rules.sample_s:
            return False
        if self._sampled_ns is None:
            return True
        passed_ns = stamp_ns - self._sampled_ns
        return passed_ns < 0 or passed_ns >= self.rules.sample_s * 1e9

    def _allowed(self, stamp_ns: int) -> bool:
        """Take one from a store that fills up with time and holds a minute's worth."""
        most = self.rules.most_per_minute
        passed_s = max(0, stamp_ns - self._filled_ns) / 1e9
        self._tokens = min(most, self._tokens + passed_s * most / MINUTE_S)
        self._filled_ns = stamp_ns
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def _moment_of(self, observation: Observation, episode: str) -> Moment | None:
        for moment in reversed(self._moments):
            situation = moment.situation
            if episode and situation.episode != episode:
                continue
            if situation.stamp_ns <= observation.stamp_ns:
                return moment
        return None

    def _experience(self, moment: Moment, reasons: tuple[Reason, ...]) -> Experience:
        experience = checked(
            Experience,
            'experience',
            id=self._id_of(moment),
            robot=self._robot,
            reasons=reasons,
            policy_version=moment.policy_version,
            situation=stored(moment.situation),
            activations=moment.activations,
            novelty=moment.novelty,
            novelty_threshold=moment.novelty_threshold,
            observations=tuple(moment.known),
        )
        moment.id = experience.id
        self.counts.update(reason.value for reason in reasons)
        return experience

    def _id_of(self, moment: Moment) -> str:
        if self._identify is not None:
            return self._identify(moment)
        return time_ordered_id(moment.situation.stamp_ns, self._random(10))


def _active(moment: Moment | None) -> frozenset[str]:
    return frozenset(a.id for a in moment.activations if a.active) if moment else frozenset()


def _new_events(situation: Situation, before: Moment | None) -> tuple[Event, ...]:
    """Return the events that the moment before did not have yet."""
    if before is not None and before.situation.episode == situation.episode:
        known = {_key(event) for event in before.situation.events}
        return tuple(event for event in situation.events if _key(event) not in known)
    began_ns = situation.stamp_ns - round(situation.period_s * 1e9)
    return tuple(event for event in situation.events if event.stamp_ns > began_ns)


def _key(event: Event) -> tuple[int, EventKind, str, str]:
    return event.stamp_ns, event.kind, event.code, event.source  # a value may be NaN
