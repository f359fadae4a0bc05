# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What runs while the experience node is active: drain, join, record, place what is observed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.logging import LoggingSeverity
from rclpy.serialization import deserialize_message
from rclpy.timer import Timer

from thinking_policy import msg as messages
from thinking_policy.experience.buffer import ExperienceBuffer
from thinking_policy.experience.record import Record
from thinking_policy.experience.recorder import Moment
from thinking_policy.ros.complaints import Complaints
from thinking_policy.ros.experience_options import ExperienceSettings
from thinking_policy.ros.moments import MomentJoin
from thinking_policy.ros.observations import sources
from thinking_policy.ros.receiver import Receiver, TopicStatus
from thinking_policy.ros.recording import Recording
from thinking_policy.situation import MessageType
from thinking_policy.situation.requests import TopicRequest

ACTIVATIONS, SITUATION = 'thinking/activations', 'thinking/situation'
DEPTH = 256  # of the first queues; they grow with what comes


class ExperienceLoop:
    """One activation of the node, from the first subscription to the last record.

    Attributes:
        join: For its counts.
        recording: For its counts.
        broken: Messages that couldn't be used.
        last_broken: Why the last one couldn't.
        newest: The last moment.
    """

    def __init__(
        self,
        node: LifecycleNode,
        settings: ExperienceSettings,
        robot: str,
        buffer: ExperienceBuffer,
        complaints: Complaints,
        overridden: frozenset[str],
    ) -> None:
        """Subscribe and set the timer; the executor does the rest.

        Args:
            node: For endpoints, timers and clocks.
            settings: Its parameters.
            robot: In every record.
            buffer: Keeps them; stays the caller's.
            complaints: Takes errors.
            overridden: Parameter names that the user has set.
        """
        self._node, self._complaints = node, complaints
        self.join = MomentJoin()
        self.recording = Recording(
            robot,
            settings.recording.rules(),
            buffer,
            refuse=self._refuse,
            stored=self._acknowledge,
        )
        self.broken, self.last_broken = 0, ''
        self.newest: Moment | None = None
        self._sources = {source.topic: source for source in sources(settings.topics)}
        self._observed = self._receiver(
            [(source.topic, source.type) for source in self._sources.values()],
            settings.topics.qos_reliability,
            overridden,
        )
        self._thought = self._receiver(
            [
                (SITUATION, 'thinking_policy/msg/Situation'),
                (ACTIVATIONS, 'thinking_policy/msg/ThinkingActivations'),
            ],
            'reliable',
            overridden,
        )
        self._observed.open()
        self._thought.open()
        self._timer: Timer = node.create_timer(
            settings.node.drain_period_s,
            complaints.guarded(self._drain),
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )

    @property
    def topics(self) -> dict[str, TopicStatus]:
        """How the subscribed topics stand."""
        return {**self._thought.topics, **self._observed.topics}

    @property
    def counts(self) -> Counter[str]:
        """Counts since activation, by name."""
        return self.join.counts + self.recording.counts + Counter(broken=self.broken)

    def poll(self, now_s: float) -> None:
        """Look at the subscriptions; say what is new of them."""
        for receiver in (self._thought, self._observed):
            for line in receiver.poll(now_s):
                self._node.get_logger().warning(line)

    def set_drain_period(self, period_s: float) -> None:
        """Drain so often from now on."""
        self._timer.timer_period_ns = round(period_s * 1e9)

    def close(self) -> None:
        """Take what has come, record it, end the subscriptions."""
        self._complaints.guarded(self._drain)()
        self._node.destroy_timer(self._timer)
        self._thought.close()
        self._observed.close()
        self.recording.close()

    def _drain(self) -> None:
        # A message in reply to a tick comes after that tick's: taken first, placed last.
        simulated = self._node.get_clock().ros_time_is_active
        now_ns = self._node.get_clock().now().nanoseconds if simulated else None
        heard: list[tuple[str, bytes, int]] = []
        self._observed.drain(
            lambda topic, raws, received, _: heard.extend(
                (topic, raw, at) for raw, at in zip(raws, received, strict=True)
            ),
            now_ns,
        )
        self._thought.drain(self._take, now_ns)
        for topic, raw, received_ns in heard:
            source = self._sources[topic]
            try:
                self.recording.hear(source.read(raw, received_ns))
            except Exception as error:  # whatever a message holds, the next one counts
                self._refuse(topic, error)
        self.recording.place()

    def _take(
        self, topic: str, raws: Sequence[bytes], received: Sequence[int], arrivals: Sequence[int]
    ) -> None:
        kind: Any
        take: Callable[[Any], Moment | None]
        if topic == ACTIVATIONS:
            kind, take = messages.ThinkingActivations, self.join.take_activations
        else:
            kind, take = messages.Situation, self.join.take_situation
        for raw in raws:
            try:
                moment = take(deserialize_message(raw, kind))
                if moment is not None:
                    self.newest = moment
                    self.recording.see(moment)
            except Exception as error:
                self._refuse(topic, error)

    def _refuse(self, topic: str, error: Exception) -> None:
        self.broken += 1
        self.last_broken = ' '.join(f'{topic}: {error}'.split())
        self._complaints.warn(f'{topic}: broken', f'cannot be used: {self.last_broken}')

    def _receiver(
        self, topics: list[tuple[str, str]], reliability: str, overridden: frozenset[str]
    ) -> Receiver:
        return Receiver(
            self._node,
            [TopicRequest(topic, kind, by_header=False) for topic, kind in topics],
            _all_fields,
            depth=DEPTH,
            fixed_depth=False,
            reliability=reliability,
            overridden=overridden,
        )

    def _acknowledge(self, record: Record) -> None:
        logger = self._node.get_logger()
        if logger.is_enabled_for(LoggingSeverity.DEBUG):
            revision = 0 if record.kind == 'experience' else record.revision
            logger.debug(f'stored {record.id} {revision}')


def _all_fields(topic: str, message_type: MessageType) -> None:
    """Take a topic's type as it is: messages are read whole."""
