# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Hears a running policy over ROS and keeps what the live view and `--json` need."""

# rclpy and generated messages carry no usable types.
# mypy: disable-error-code="no-untyped-call,attr-defined"

from __future__ import annotations

import collections
import math
import os
import time
from collections.abc import Callable
from typing import Any

import rclpy
from rcl_interfaces.srv import GetParameters
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

from thinking_policy.cli.picture import (
    ActivityPicture,
    EventPicture,
    Picture,
    SignalPicture,
    Silence,
)
from thinking_policy.msg import Situation, ThinkingActivations, ThinkingTaxonomy

# Deep enough for a bag that is replayed faster than it is shown.
RELIABLE = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
SHOWN_EVENTS = 8
RUN_PREFIX = 'thinking_policy_run_'  # before the time when a run began, in its node's name


class Listener:
    """Subscriptions in a context of their own; one thread calls everything.

    Args:
        namespace: Of the policy to hear, such as `/robot1`; `/` or empty: none.
        details: Also hear the situation, the taxonomy and the simulation's phase.
        started_here: Whether the caller starts the nodes itself; shown while nothing is heard.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        namespace: str = '',
        *,
        details: bool = True,
        started_here: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._started = clock()
        self._started_here = started_here
        self._fresh: collections.deque[Any] = collections.deque()
        self._latest: Any = None
        self._latest_at = self._started
        self._situation: Any = None
        self._taxonomy: dict[str, tuple[str, str]] = {}
        self._units: dict[str, str] = {}
        self._asked: Any = None
        self.phase = ''
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._name = f'{RUN_PREFIX}{time.time_ns():020d}_{os.getpid()}'
        self._node = Node(
            self._name if started_here else f'thinking_policy_cli_{os.getpid()}',
            namespace=namespace.strip('/'),
            context=self._context,
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.topic = self._node.resolve_topic_name('thinking/activations')
        self._subscribe(ThinkingActivations, 'thinking/activations', self._hear, RELIABLE)
        if details:
            self._subscribe(Situation, 'thinking/situation', self._see, RELIABLE)
            self._subscribe(ThinkingTaxonomy, 'thinking/taxonomy', self._learn_names, LATCHED)
            self._subscribe(String, 'simulation/phase', self._enter_phase, LATCHED)
            self._parameters = self._node.create_client(
                GetParameters, 'thinking_policy/get_parameters'
            )

    def spin(self, timeout_s: float) -> list[Any]:
        """Wait up to `timeout_s` for messages and return the new ThinkingActivations in order."""
        deadline = self._clock() + timeout_s
        try:
            while True:
                self._executor.spin_once(timeout_sec=max(0.0, deadline - self._clock()))
                if self._clock() >= deadline:
                    break
        except ExternalShutdownException:
            pass
        fresh = list(self._fresh)
        self._fresh.clear()
        return fresh

    @property
    def publishers(self) -> int:
        """How many nodes offer the activations; more than one means that two runs mix."""
        return self.count(self.topic)

    def other_runs(self) -> tuple[bool, bool]:
        """Return whether there is a run that began earlier, and one that began later."""
        runs = [name for name in self._node.get_node_names() if name.startswith(RUN_PREFIX)]
        return any(name < self._name for name in runs), any(name > self._name for name in runs)

    def matched(self) -> bool:
        """Return whether messages of a policy would arrive by now."""
        return self.publishers > 0

    def resolve(self, topic: str) -> str:
        """Return the full name of a topic; relative ones are in the namespace."""
        return str(self._node.resolve_topic_name(topic))

    def count(self, topic: str) -> int:
        """Return how many publishers a topic has."""
        return int(self._node.count_publishers(topic))

    def picture(self) -> Picture | Silence:
        """Return the newest moment, or what is known while nothing was heard."""
        if self._latest is not None:
            return self.picture_of(self._latest)
        return Silence(
            self.topic,
            self._clock() - self._started,
            os.environ.get('ROS_DOMAIN_ID') or '0',
            self.publishers,
            self._elsewhere(),
            self._started_here,
        )

    def picture_of(self, message: Any) -> Picture:
        """Return the moment that a ThinkingActivations tells of."""
        stamp_s = seconds(message.header.stamp)
        return Picture(
            topic=self.topic,
            stamp_s=stamp_s,
            tick=message.tick,
            episode=message.episode,
            policy_version=message.policy_version,
            inference_time_s=message.inference_time,
            novelty=message.novelty,
            novelty_threshold=message.novelty_threshold,
            valid_fraction=message.valid_fraction,
            silent_s=self._clock() - self._latest_at,
            signals=self._signals(message),
            activities=self._activities(message),
            events=self._events(stamp_s),
            phase=self.phase,
        )

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def _subscribe(
        self, kind: Any, topic: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> None:
        self._node.create_subscription(kind, topic, callback, qos)

    def _hear(self, message: Any) -> None:
        self._fresh.append(message)
        self._latest, self._latest_at = message, self._clock()
        self._ask_for_units([signal.name for signal in message.signals])

    def _see(self, message: Any) -> None:
        self._situation = message

    def _enter_phase(self, message: Any) -> None:
        self.phase = message.data

    def _learn_names(self, message: Any) -> None:
        self._taxonomy = {
            id: (title, directive)
            for id, title, directive in zip(
                message.id, message.title, message.directive, strict=False
            )
        }

    def _ask_for_units(self, names: list[str]) -> None:
        """Ask the node once for what the messages do not carry."""
        if self._units or self._asked is not None or not hasattr(self, '_parameters'):
            return
        if self._parameters.service_is_ready():
            request = GetParameters.Request(names=[f'signals.{name}.unit' for name in names])
            self._asked = self._parameters.call_async(request)
            self._asked.add_done_callback(lambda future: self._learn_units(names, future.result()))

    def _learn_units(self, names: list[str], response: Any) -> None:
        if response is not None and len(response.values) == len(names):
            self._units = {
                name: value.string_value
                for name, value in zip(names, response.values, strict=True)
            }

    def _signals(self, message: Any) -> tuple[SignalPicture, ...]:
        return tuple(
            SignalPicture(
                signal.name,
                signal.state,
                signal.value,
                signal.age,
                self._units.get(signal.name, ''),
                self._history(signal.name),
            )
            for signal in message.signals
        )

    def _history(self, name: str) -> tuple[float, ...]:
        situation = self._situation
        if situation is None or name not in situation.signals:
            return ()
        step, column = len(situation.signals), list(situation.signals).index(name)
        return tuple(
            value if valid else math.nan
            for value, valid in zip(
                situation.window[column::step], situation.valid[column::step], strict=True
            )
        )

    def _activities(self, message: Any) -> tuple[ActivityPicture, ...]:
        return tuple(
            ActivityPicture(
                activity.id,
                activity.probability,
                activity.threshold,
                activity.active,
                *self._taxonomy.get(activity.id, ('', '')),
            )
            for activity in message.activations
        )

    def _events(self, stamp_s: float) -> tuple[EventPicture, ...]:
        events = [] if self._situation is None else self._situation.events
        return tuple(
            EventPicture(event.code, event.value, max(0.0, stamp_s - seconds(event.header.stamp)))
            for event in events[-SHOWN_EVENTS:]
        )

    def _elsewhere(self) -> tuple[str, ...]:
        return tuple(
            sorted(
                name
                for name, types in self._node.get_topic_names_and_types()
                if 'thinking_policy/msg/ThinkingActivations' in types and name != self.topic
            )
        )


def topics_in_graph(listen_s: float) -> dict[str, list[str]]:
    """Return topic → types of all topics that have a publisher, after listening so long."""
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = Node(
            f'thinking_policy_cli_{os.getpid()}',
            context=context,
            enable_rosout=False,
            use_global_arguments=False,
            start_parameter_services=False,
        )
        time.sleep(listen_s)  # the middleware discovers in its own threads
        topics = {
            name: list(types)
            for name, types in node.get_topic_names_and_types()
            if any(
                info.node_name != node.get_name()
                for info in node.get_publishers_info_by_topic(name)
            )
        }
        node.destroy_node()
        return topics
    finally:
        rclpy.try_shutdown(context=context)


def seconds(stamp: Any) -> float:
    """Return a builtin_interfaces/Time as seconds."""
    return float(stamp.sec + stamp.nanosec * 1e-9)
