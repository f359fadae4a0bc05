# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The policy node as a bag player sees it: its configuration, its state, its ticks."""

from __future__ import annotations

import threading
import time

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

from thinking_policy.msg import Situation
from thinking_policy.ros import qos
from thinking_policy.ros.conversions import stamp_ns
from thinking_policy.ros.parameters import nested
from thinking_policy.ros.service_calls import POLL_S, ServiceCalls
from thinking_policy.situation import (
    SituationConfig,
    configuration_from_mapping,
    situation_keys,
)
from thinking_policy.situation.robot_file import NODE_NAME


class PolicyPartner:
    """Asks the policy node of the same namespace; its methods may wait, in a thread of theirs.

    The node's executor must spin meanwhile in another thread.
    """

    def __init__(self, node: Node, stopping: threading.Event) -> None:
        """Create clients and the subscription to the situation.

        Args:
            node: The player.
            stopping: Ends every wait.
        """
        self._node, self._calls = node, ServiceCalls(stopping)
        self.wait_for = self._calls.wait_for
        self._list = node.create_client(ListParameters, f'{NODE_NAME}/list_parameters')
        self._get = node.create_client(GetParameters, f'{NODE_NAME}/get_parameters')
        self._state = node.create_client(GetState, f'{NODE_NAME}/get_state')
        self._ticked = threading.Condition()
        self._tick_end_ns = 0
        self.ticks = 0
        node.create_subscription(
            Situation, 'thinking/situation', self._hear, qos.activations_output()
        )

    def configuration(self, timeout_s: float) -> SituationConfig | None:
        """Return what the policy node perceives, or None where there is no such node.

        Raises:
            SituationError: It answers with something else.
        """
        deadline = time.monotonic() + timeout_s
        listed = self._calls.call(self._list, ListParameters.Request(), deadline)
        if listed is None:
            return None
        names = [
            name for name in listed.result.names if name.partition('.')[0] in situation_keys()
        ]
        got = self._calls.call(self._get, GetParameters.Request(names=names), deadline)
        if got is None:
            return None
        values = {
            name: parameter_value_to_python(value)
            for name, value in zip(names, got.values, strict=True)
        }
        return configuration_from_mapping(nested(values), f'{self._node.get_namespace()}')

    def wait_until_active(self, timeout_s: float) -> bool:
        """Wait for the state in which it hears its topics."""
        deadline = time.monotonic() + timeout_s

        def active() -> bool:
            answer = self._calls.call(self._state, GetState.Request(), deadline)
            return answer is not None and answer.current_state.id == State.PRIMARY_STATE_ACTIVE

        return self.wait_for(active, timeout_s)

    def wait_for_tick(self, end_ns: int, timeout_s: float) -> bool:
        """Wait for the situation of the tick that ends at `end_ns`."""
        deadline = time.monotonic() + timeout_s
        with self._ticked:
            while self._tick_end_ns != end_ns and not self._calls.stopping.is_set():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._ticked.wait(min(left, POLL_S * 4))
            return self._tick_end_ns == end_ns

    def _hear(self, message: Situation) -> None:
        with self._ticked:
            self._tick_end_ns = stamp_ns(message.header)
            self.ticks += 1
            self._ticked.notify_all()
