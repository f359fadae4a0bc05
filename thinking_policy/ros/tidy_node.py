# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the lifecycle nodes share: how they start, say what failed, and let go of everything."""

from __future__ import annotations

from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from thinking_policy import ThinkingPolicyError
from thinking_policy.ros.complaints import Complaints
from thinking_policy.ros.transitions import answer_impossible_transitions

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class TidyNode(LifecycleNode):
    """Lets go of all it holds, by `close`, in cleanup and shutdown and after an error.

    Attributes:
        finished: Whether it has nothing to do any more; `run_node` ends then.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Be unconfigured, and answer transitions that this state doesn't have."""
        super().__init__(name, **options)
        self.finished = False
        self.complaints = Complaints(self.get_logger())
        answer_impossible_transitions(self)

    def close(self) -> None:
        """Flush and let go of everything, whatever the state is."""
        raise NotImplementedError

    def begin(self) -> None:
        """Configure and activate."""
        if self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def report(self, where: str, error: Exception) -> None:
        """Count and say what a callback let through; the node goes on."""
        self.complaints.error(where, error)

    def refuse(self, what: str, error: Exception) -> TransitionCallbackReturn:
        """Say why a transition fails."""
        if isinstance(error, ThinkingPolicyError):
            self.get_logger().error(f'{what}: {error}')
        else:
            self.complaints.error(what, error)
        return FAILURE

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of everything."""
        self.close()
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Flush and let go of everything, from any state."""
        self.close()
        return SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After an error in a transition: back to unconfigured."""
        self.close()
        return SUCCESS
