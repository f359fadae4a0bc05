# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Has the policy node of the same namespace run another policy file."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import Trigger

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.ros.service_calls import ServiceCalls
from thinking_policy.situation.robot_file import NODE_NAME

PATH = 'policy_path'
ANSWER_S = 10.0  # to load a policy and try it takes a fraction of a second
_NOT_YET = 'not configured'  # begins what the node answers before it has a policy at all


class PolicySwap:
    """Calls from a thread that may wait; made and destroyed in the executor's."""

    def __init__(self, node: Node) -> None:
        """Create the clients."""
        self._node = node
        self._calls = ServiceCalls(threading.Event())
        self._get = node.create_client(GetParameters, f'{NODE_NAME}/get_parameters')
        self._set = node.create_client(SetParameters, f'{NODE_NAME}/set_parameters')
        self._reload = node.create_client(Trigger, f'{NODE_NAME}/reload_policy')

    def swap(self, path: Path) -> str:
        """Have a file run in place of what runs.

        Returns:
            Why the node refuses it, empty where it runs. What ran before runs on then, and its
            path is set again.

        Raises:
            ExperienceError: The node doesn't answer, or has no policy yet.
        """
        got = self._call(self._get, GetParameters.Request(names=[PATH]))
        before = str(parameter_value_to_python(got.values[0]) or '')
        refused = self._set_path(str(path))
        if refused:
            return refused
        try:
            answer = self._call(self._reload, Trigger.Request())
        except ExperienceError:
            self._set_path(before)
            raise
        if answer.success:
            self._node.get_logger().info(f'fetched: {answer.message}')
            return ''
        self._set_path(before)
        if answer.message.startswith(_NOT_YET):
            raise ExperienceError(f'{self._reload.srv_name}: {answer.message}')
        self._node.get_logger().warning(f'fetched, and refused: {answer.message}')
        return str(answer.message)

    def stop(self) -> None:
        """End a call that waits."""
        self._calls.stopping.set()

    def close(self) -> None:
        """Destroy the clients."""
        self.stop()
        for client in (self._get, self._set, self._reload):
            self._node.destroy_client(client)

    def _set_path(self, path: str) -> str:
        parameter = Parameter(PATH, value=path).to_parameter_msg()
        answer = self._call(self._set, SetParameters.Request(parameters=[parameter]))
        (result,) = answer.results
        return '' if result.successful else str(result.reason or f'{PATH} cannot be set')

    def _call(self, client: Any, request: Any) -> Any:
        answer = self._calls.call(client, request, time.monotonic() + ANSWER_S)
        if answer is None:
            raise ExperienceError(
                f'{client.srv_name}: no answer within {ANSWER_S:g} s: is the policy node there?'
            )
        return answer
