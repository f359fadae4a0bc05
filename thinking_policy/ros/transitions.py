# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Answers to lifecycle transitions that a state doesn't have."""

from __future__ import annotations

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode


def answer_impossible_transitions(node: LifecycleNode) -> None:
    """Refuse a transition that the state doesn't have; rclpy raises and never answers."""
    service = next(s for s in node.services if s.srv_type is ChangeState)
    change_state = service.callback

    def answer(
        request: ChangeState.Request, response: ChangeState.Response
    ) -> ChangeState.Response:
        try:
            return change_state(request, response)
        except RuntimeError:  # rclpy.RCLError, which has no public name
            wanted = request.transition.label or f'number {request.transition.id}'
            node.get_logger().warning(f'refused: no transition {wanted} from this state')
            response.success = False
            return response

    service.callback = answer
