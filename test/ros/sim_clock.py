# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The clock of a simulator, in the hands of a test."""

from __future__ import annotations

from observer import Observer
from robot import Robot, stamp_ns
from rosgraph_msgs.msg import Clock

from thinking_policy.msg import Situation
from thinking_policy.ros.conversions import time_message

SECOND = 1_000_000_000
RESEND_S = 0.2  # clocks are heard as best effort


class SimClock:
    """Publishes /clock when it is told to."""

    def __init__(self, observer: Observer) -> None:
        """Stand still, without a time."""
        self._observer = observer
        self._publisher = observer.speak(Clock, '/clock')

    def wait_until_heard(self) -> None:
        """Wait for a node under simulated time."""
        self._observer.wait_until_heard(self._publisher)

    def set(self, now_ns: int) -> None:
        """Publish a time, once."""
        self._publisher.publish(Clock(clock=time_message(now_ns)))

    def set_until_tick(self, robot: Robot, now_ns: int, end_ns: int) -> Situation:
        """Publish a time until the robot has closed the tick that ends at `end_ns`."""
        before = len(robot.situations)

        def closed() -> Situation | None:
            found = [s for s in robot.situations[before:] if stamp_ns(s) == end_ns]
            return found[0] if found else None

        self.set(now_ns)
        timer = self._observer.repeat(RESEND_S, lambda: self.set(now_ns))
        try:
            return robot.wait_for(closed, f'the tick that ends at {end_ns}')
        finally:
            self._observer.node.destroy_timer(timer)
