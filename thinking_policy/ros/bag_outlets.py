# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The publishers of a bag player: which recorded topic goes out where, and what is left out."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from thinking_policy.bags import Bag, BagTopic
from thinking_policy.bags.lockstep import CLOCK_TOPIC
from thinking_policy.bags.topics import match_topics
from thinking_policy.ros.conversions import message_class, message_type_of, time_message
from thinking_policy.ros.middleware_events import SILENT_PUBLISHER
from thinking_policy.situation import SituationConfig, SituationError
from thinking_policy.situation.requests import topic_requests
from thinking_policy.situation.robot_file import NODE_NAME

MOST_UNACKNOWLEDGED = 50  # messages of a topic on their way, in lockstep
ACKNOWLEDGED_S = 5.0
POLL_S = 0.05


class BagOutlets:
    """Publishes recorded messages. Used by one thread, the player's, after construction."""

    def __init__(self, node: Node, bag: Bag, clock: Publisher) -> None:
        """Prepare for one bag.

        Args:
            node: Node that holds the publishers.
            bag: An opened bag.
            clock: What `create_clock` made.
        """
        self._node, self._bag = node, bag
        self._publishers: dict[str, list[Publisher]] = {}
        self._heard_by_policy: list[Publisher] = []
        self._unacknowledged: Counter[Publisher] = Counter()
        self._left_out: dict[str, str] = {}
        self.played: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self._clock = clock

    def open(
        self,
        topics: Collection[str],
        config: SituationConfig | None,
        *,
        only_requested: bool = False,
    ) -> tuple[str, ...]:
        """Create the publishers.

        What the policy node asks for goes where it listens; the rest keeps its recorded name,
        within the player's namespace.

        Args:
            topics: Recorded names to play; empty: all.
            config: What the policy node perceives, where there is one.
            only_requested: Leave out what the policy node doesn't ask for.

        Returns:
            Recorded names that are played.

        Raises:
            SituationError: There is nothing to play.
        """
        namespace = self._node.get_namespace().rstrip('/')
        targets: dict[str, list[str]] = {}
        requests = [] if config is None else topic_requests(config)
        for feed in match_topics(self._bag, [(r.topic, r.type) for r in requests], namespace):
            if feed.source is not None and not feed.problem:
                name = feed.topic if feed.topic[:1] == '/' else f'{namespace}/{feed.topic}'
                targets.setdefault(feed.source.name, []).append(name)
        for topic in self._bag.topics:
            if topic.name == CLOCK_TOPIC or (topics and topic.name not in topics):
                continue
            if topic.name not in targets and only_requested:
                continue
            why_not = _why_not(topic)
            if why_not:
                self._left_out[topic.name] = why_not
                continue
            names = targets.get(topic.name, [f'{namespace}/{topic.name.lstrip("/")}'])
            self._publishers[topic.name] = [
                _create(self._node, message_class(topic.type), name, 200) for name in names
            ]
            if topic.name in targets:
                self._heard_by_policy += self._publishers[topic.name]
        if not self._publishers:
            raise SituationError(f'{self._bag.path}: nothing to play: {self._reasons()}')
        return tuple(self._publishers)

    def wait_for_match(self, stopping: threading.Event, timeout_s: float) -> bool:
        """Wait until the policy node is matched on all that it asks for, and on the clock."""
        deadline = time.monotonic() + timeout_s
        waiting = [self._clock, *self._heard_by_policy]
        while waiting and time.monotonic() < deadline and not stopping.wait(POLL_S):
            waiting = [p for p in waiting if not self._matched(p)]
        return not waiting

    def unreliable(self) -> list[str]:
        """Return the topics that the policy node hears only as best effort."""
        return [
            publisher.topic_name
            for publisher in self._heard_by_policy
            for info in self._policy_endpoints(publisher)
            if info.qos_profile.reliability != ReliabilityPolicy.RELIABLE
        ]

    def publish(self, topic: str, raw: bytes, *, acknowledged: bool = False) -> None:
        """Publish a recorded message.

        Args:
            topic: Recorded name.
            raw: CDR bytes.
            acknowledged: Never have many on their way: reliable listeners then lose none.
        """
        publishers = self._publishers.get(topic)
        if publishers is None:
            self.skipped[topic] += 1
            return
        self.played[topic] += 1
        for publisher in publishers:
            publisher.publish(raw)
            if acknowledged:
                self._unacknowledged[publisher] += 1
                if self._unacknowledged[publisher] >= MOST_UNACKNOWLEDGED:
                    self._wait_for(publisher)

    def wait_until_acknowledged(self) -> None:
        """Wait until reliable listeners have all that was published."""
        for publisher in list(self._unacknowledged):
            self._wait_for(publisher)

    def clock(self, now_ns: int) -> None:
        """Publish the time."""
        self._clock.publish(Clock(clock=time_message(now_ns)))

    def recorded_clock(self, raw: bytes) -> None:
        """Publish a recorded clock message."""
        self._clock.publish(raw)

    def summary(self) -> list[str]:
        """Return what was played and what was left out, line by line."""
        lines = [
            f'played {self.played.total()} messages on {len(self.played)} topics of '
            f'{self._bag.path}'
        ]
        reasons: dict[str, list[str]] = {}
        for name, reason in self._left_out.items():
            if self.skipped[name]:
                reasons.setdefault(reason, []).append(f'{self.skipped[name]} of {name}')
        lines += [f'left out {", ".join(names)}: {reason}' for reason, names in reasons.items()]
        lines += [f'{count} times: {problem}' for problem, count in self._bag.problems.items()]
        return lines

    def _reasons(self) -> str:
        return '; '.join(f'{name}: {why}' for name, why in self._left_out.items()) or (
            f'topics are {", ".join(topic.name for topic in self._bag.topics) or "none"}'
        )

    def _wait_for(self, publisher: Publisher) -> None:
        del self._unacknowledged[publisher]
        if not publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGED_S)):
            self._node.get_logger().warning(
                f'{publisher.topic_name}: not acknowledged within {ACKNOWLEDGED_S:.0f} s'
            )

    def _matched(self, publisher: Publisher) -> bool:
        return bool(publisher.get_subscription_count() and self._policy_endpoints(publisher))

    def _policy_endpoints(self, publisher: Publisher) -> list[object]:
        return [
            info
            for info in self._node.get_subscriptions_info_by_topic(publisher.topic_name)
            if (info.node_name, info.node_namespace) == (NODE_NAME, self._node.get_namespace())
        ]


def create_clock(node: Node) -> Publisher:
    """Return a publisher for /clock."""
    return _create(node, Clock, CLOCK_TOPIC, 10)


def _create(node: Node, kind: type, topic: str, depth: int) -> Publisher:
    return node.create_publisher(
        kind,
        topic,
        QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE),
        event_callbacks=SILENT_PUBLISHER,
    )


def _why_not(topic: BagTopic) -> str:
    """Return why a topic can't be played here; empty where it can."""
    try:
        installed = message_type_of(topic.type)
    except SituationError:
        return f'{topic.type} is not installed'
    if topic.message_type is not None and topic.message_type != installed:
        return f'the installed {topic.type} is not the one that was recorded'
    return ''
