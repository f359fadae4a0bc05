# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that are drained on the tick instead of waking the executor per message.

An rclpy callback per message costs some 500 microseconds; taking serialized messages from a
queue in one go costs a tenth. So the subscriptions belong to a callback group that never lets
the executor wait for them, and their queues are made large enough for what comes in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.subscription import Subscription

from thinking_policy.ros import qos
from thinking_policy.ros.conversions import message_class, message_type_of
from thinking_policy.ros.middleware_events import SILENT_SUBSCRIPTION, EndpointEvents
from thinking_policy.ros.sequence_gaps import SequenceGaps
from thinking_policy.situation import MessageType, SituationError, TopicRequest

# topic, serialized messages, receive times, times of arrival
Deliver = Callable[[str, Sequence[bytes], Sequence[int], Sequence[int]], None]
Taken = tuple[bytes, dict[str, Any]]
Bind = Callable[[str, MessageType], None]

SMALLEST_DEPTH = 32
LARGEST_DEPTH = 65_536


class DrainedGroup(CallbackGroup):
    """A callback group whose members the executor never waits for."""

    def can_execute(self, entity: Any) -> bool:
        """Keep every member out of the wait set."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Refuse, should an executor ask nevertheless."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing: nothing began."""


@dataclass
class TopicStatus:
    """How one subscribed topic stands; counts are since activation.

    `problem` is why nothing can come, empty where all is well; `rate_hz` is over the last poll.
    """

    topic: str
    resolved: str
    type: str
    depth: int = 0
    received: int = 0
    lost: int = 0
    lost_reported: int = 0
    publishers: int = 0
    rate_hz: float = 0.0
    problem: str = ''
    incompatible: str = ''
    grown: int = 0


@dataclass
class _Link:
    """One topic: its status, its subscription, and while its queue grows, the one before."""

    request: TopicRequest
    status: TopicStatus
    gaps: SequenceGaps = field(init=False)
    subscription: Subscription | None = None
    previous: Subscription | None = None
    events: EndpointEvents | None = None
    taken: frozenset[tuple[int, int]] = frozenset()
    fixed_depth: bool = False
    polled_at: float = 0.0
    polled_received: int = 0
    drains_alone: int = 0

    def __post_init__(self) -> None:
        """Let the gaps be counted against the publishers that there are."""
        self.gaps = SequenceGaps(
            lambda: 0 if self.subscription is None else self.subscription.get_publisher_count()
        )


class Receiver:
    """The subscriptions of an active node; everything runs in the executor's thread.

    `open`, then `drain` at every tick and `poll` once in a while, then `close`. A topic that
    can't be subscribed doesn't raise: its status says why, and `poll` tries again.
    """

    def __init__(
        self,
        node: Node,
        requests: Iterable[TopicRequest],
        bind: Bind,
        *,
        depth: int,
        fixed_depth: bool,
        reliability: str,
        overridden: frozenset[str],
    ) -> None:
        """Prepare, without subscribing.

        Args:
            node: Node that holds the subscriptions.
            requests: Topics and types to receive.
            bind: Told the type of each topic before its first message.
            depth: First length of each queue, in messages.
            fixed_depth: Whether queues must keep that length.
            reliability: `best_effort` or `reliable`.
            overridden: Parameter names that the user has set, for `qos_overrides`.
        """
        self._node = node
        self._bind = bind
        self._depth = min(max(depth, 1), LARGEST_DEPTH)
        self._fixed_depth = fixed_depth
        self._reliability = reliability
        self._overridden = overridden
        self._group = DrainedGroup()
        self._links = [
            _Link(
                request,
                TopicStatus(request.topic, node.resolve_topic_name(request.topic), request.type),
            )
            for request in requests
        ]
        self._said: set[str] = set()

    @property
    def topics(self) -> dict[str, TopicStatus]:
        """Status per topic, by the name that the configuration uses."""
        return {link.request.topic: link.status for link in self._links}

    def open(self) -> None:
        """Subscribe to everything that can be subscribed.

        Raises:
            SituationError: A field path doesn't fit the topic's type. A type that isn't
                installed is no error here.
        """
        for link in self._links:
            self._try_open(link)

    def close(self) -> None:
        """End all subscriptions; what is still queued is dropped."""
        for link in self._links:
            for subscription in (link.subscription, link.previous):
                if subscription is not None:
                    self._node.destroy_subscription(subscription)
            link.subscription = link.previous = None
            link.events = None

    def drain(self, deliver: Deliver, stamp_ns: int | None) -> None:
        """Hand over all queued messages.

        Args:
            deliver: Called with a topic's serialized messages, their receive times and times
                of arrival.
            stamp_ns: Receive time under sim time; None: the middleware's wall time.
        """
        for link in self._links:
            if link.subscription is None:
                continue
            if link.previous is not None:
                self._drain_growing(link, deliver, stamp_ns)
                continue
            queued = _queued(link.subscription)
            _hand_over(link, queued, deliver, stamp_ns)
            if 2 * len(queued) >= link.status.depth and not link.fixed_depth:
                self._grow(link, 4 * len(queued))

    def poll(self, now_s: float | None = None) -> list[str]:
        """Look at what is not a message: rates, events of the middleware, missing types.

        Args:
            now_s: Steady time in seconds; None: now.

        Returns:
            Lines worth a warning that weren't returned before.
        """
        now = time.monotonic() if now_s is None else now_s
        lines: list[str] = []
        for link in self._links:
            status = link.status
            if link.subscription is None:
                self._retry(link)
            else:
                status.publishers = link.subscription.get_publisher_count()
                _take_events(link)
            elapsed = now - link.polled_at
            if link.polled_at and elapsed > 0:
                status.rate_hz = (status.received - link.polled_received) / elapsed
            link.polled_at, link.polled_received = now, status.received
            status.lost = link.gaps.lost
            lines += self._news(status)
        return lines

    def _news(self, status: TopicStatus) -> Iterator[str]:
        for line in (
            status.problem,
            status.incompatible,
            f'{status.resolved}: queue grown to {status.depth} messages' if status.grown else '',
        ):
            if line and line not in self._said:
                self._said.add(line)
                yield line

    def _retry(self, link: _Link) -> None:
        try:
            self._try_open(link)
        except SituationError as error:  # installed meanwhile, and the field path doesn't fit
            link.status.problem = str(error)

    def _try_open(self, link: _Link) -> None:
        try:
            message_type = message_type_of(link.request.type)
        except SituationError as error:
            link.status.problem = f'{link.status.resolved}: {error}'
            return
        self._bind(link.request.topic, message_type)
        try:
            link.subscription = self._subscribe(link, self._depth)
        except Exception as error:  # type support missing or broken, name in use with another type
            link.status.problem = (
                f'{link.status.resolved}: cannot subscribe as {link.request.type}: '
                f'{str(error).splitlines()[0]}'
            )
            return
        link.status.problem = ''
        link.status.depth = link.subscription.qos_profile.depth
        link.fixed_depth = (
            self._fixed_depth or qos.depth_parameter(link.status.resolved) in self._overridden
        )
        link.events = EndpointEvents(link.subscription, publisher=False)

    def _subscribe(self, link: _Link, depth: int) -> Subscription:
        return self._node.create_subscription(
            message_class(link.request.type),
            link.request.topic,
            _never_called,
            qos.sensor_input(depth, self._reliability),
            callback_group=self._group,
            event_callbacks=SILENT_SUBSCRIPTION,
            qos_overriding_options=qos.input_overrides(link.status.resolved, self._overridden),
            raw=True,
        )

    def _grow(self, link: _Link, wanted: int) -> None:
        """Add a subscription with a longer queue; the old one stays until it is matched too."""
        depth = min(LARGEST_DEPTH, 1 << max(wanted - 1, 1).bit_length())
        if depth <= link.status.depth:
            return
        link.previous, link.subscription = link.subscription, self._subscribe(link, depth)
        link.taken, link.drains_alone = frozenset(), 0
        link.events = EndpointEvents(link.subscription, publisher=False)

    def _drain_growing(self, link: _Link, deliver: Deliver, stamp_ns: int | None) -> None:
        """Drain both queues without handing over a message twice; end the old one when due."""
        matched = link.subscription.get_publisher_count() >= link.previous.get_publisher_count()
        fresh: dict[tuple[int, int], tuple[bytes, dict[str, Any]]] = {}
        keys: set[tuple[int, int]] = set()
        for subscription in (link.previous, link.subscription):
            queued = _queued(subscription)
            for raw, info in queued:
                key = (info['source_timestamp'], info['publication_sequence_number'] or 0)
                keys.add(key)
                if key not in link.taken:  # what came between the two was taken from the new one
                    fresh.setdefault(key, (raw, info))
        # In order: the old queue may have lost what the new one has.
        _hand_over(link, [fresh[key] for key in sorted(fresh)], deliver, stamp_ns)
        link.taken = frozenset(keys)
        if not matched:
            link.drains_alone = 0
        elif queued:
            link.drains_alone += 1
        if link.drains_alone >= 2:  # it has held everything of a whole interval
            self._node.destroy_subscription(link.previous)
            link.previous = None
            link.status.depth = link.subscription.qos_profile.depth
            link.status.grown += 1


def _queued(subscription: Subscription) -> list[Taken]:
    """Take what is queued, serialized and with its info: at most twice the queue's length."""
    kind, queued = subscription.msg_type, []
    with subscription.handle:
        take = subscription.handle.take_message
        for _ in range(2 * subscription.qos_profile.depth):
            taken = take(kind, True)
            if taken is None:
                break
            queued.append(taken)
    return queued


def _hand_over(
    link: _Link, queued: Sequence[Taken], deliver: Deliver, stamp_ns: int | None
) -> None:
    if not queued:
        return
    link.gaps.see([info['publication_sequence_number'] for _, info in queued])
    arrivals = [info['received_timestamp'] or time.time_ns() for _, info in queued]
    received = arrivals if stamp_ns is None else [stamp_ns] * len(queued)
    deliver(link.request.topic, [raw for raw, _ in queued], received, arrivals)
    link.status.received += len(queued)


def _take_events(link: _Link) -> None:
    assert link.events is not None
    status, news = link.status, link.events.take()
    status.lost_reported += news.lost
    if news.incompatible:
        status.incompatible = (
            f'{status.resolved}: {news.incompatible} publisher(s) offer another {news.policy}; '
            'nothing is received from them. Set qos_reliability, or '
            f'qos_overrides.{status.resolved}.subscription.{news.policy}, to what they offer'
        )


def _never_called(message: Any) -> None:
    raise AssertionError('a drained subscription has no callback')
