# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A node in the test's own process: hears, speaks, calls, and waits for events, not for seconds.

Everything runs in the test's thread, while it waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy

RELIABLE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
BEST_EFFORT = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Observer:
    """Ears and hands of a test."""

    def __init__(self, context: Context, name: str) -> None:
        """Join the domain."""
        self.node = Node(name, context=context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}

    def close(self) -> None:
        """Leave the domain."""
        self._executor.shutdown()
        self.node.destroy_node()

    def wait_for(self, condition: Callable[[], Any], what: str, timeout_s: float = 10.0) -> Any:
        """Return what the condition returns, as soon as that is true.

        Raises:
            AssertionError: It stayed false; says `what` was waited for.
        """
        deadline = time.monotonic() + timeout_s
        while not (result := condition()):
            assert time.monotonic() < deadline, f'not within {timeout_s:g} s: {what}'
            self._executor.spin_once(0.02)
        return result

    def listen(self, duration_s: float) -> None:
        """Hear what comes within a time: where something must not happen."""
        deadline = time.monotonic() + duration_s
        while (left := deadline - time.monotonic()) > 0:
            self._executor.spin_once(min(left, 0.02))

    def hear(self, kind: Any, topic: str, profile: Any = RELIABLE) -> list[Any]:
        """Return a list to which every message on a topic is appended."""
        heard: list[Any] = []
        self.node.create_subscription(kind, topic, heard.append, profile)
        return heard

    def speak(self, kind: Any, topic: str, profile: Any = RELIABLE) -> Publisher:
        """Return a publisher."""
        return self.node.create_publisher(kind, topic, profile)

    def wait_until_heard(self, *publishers: Publisher) -> None:
        """Wait until each publisher has a subscriber that would hear it."""
        for publisher in publishers:
            self.wait_for(
                publisher.get_subscription_count, f'a subscriber on {publisher.topic_name}'
            )

    def repeat(self, period_s: float, callback: Callable[[], None]) -> Any:
        """Return a timer that calls while the test waits; cancel it to end."""
        return self.node.create_timer(period_s, callback)

    def call(self, kind: Any, service: str, request: Any, timeout_s: float = 10.0) -> Any:
        """Call a service and return its answer."""
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self.node.create_client(kind, service)
        self.wait_for(client.service_is_ready, f'the service {service}', timeout_s)
        future = client.call_async(request)
        self.wait_for(future.done, f'an answer of {service}', timeout_s)
        return future.result()
