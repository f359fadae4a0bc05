# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The lifecycle node `thinking_policy`: topics in, thinking activations out.

One thread, the executor's, runs everything here. Only the table of last occurrences is written
by another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_srvs.srv import SetBool, Trigger

from thinking_policy.policy import PolicyError
from thinking_policy.ros.calibration_keeper import CalibrationKeeper
from thinking_policy.ros.outputs import Outputs
from thinking_policy.ros.parameters import NodeParameters
from thinking_policy.ros.running_policy import RunningPolicy
from thinking_policy.ros.spinning import run_node
from thinking_policy.ros.thinking_loop import ThinkingLoop
from thinking_policy.ros.tidy_node import TidyNode
from thinking_policy.shipped import config_folder
from thinking_policy.situation.robot_file import NODE_NAME


class PolicyNode(TidyNode):
    """Unconfigured: parameters only. Inactive: policy loaded, nothing heard. Active: it thinks."""

    def __init__(self, **options: Any) -> None:
        """Declare and check the parameters.

        Raises:
            SituationError: A parameter is refused; the message names it and what is allowed.
        """
        super().__init__(NODE_NAME, **options)
        self._policy: RunningPolicy | None = None
        self._outputs: Outputs | None = None
        self._loop: ThinkingLoop | None = None
        self._loading = False
        self._parameters_of_ours = NodeParameters(
            self,
            is_active=lambda: self._loop is not None,
            changed=self._parameters_changed,
            defaults_path=config_folder() / 'policy.yaml',
        )
        for line in self._parameters_of_ours.warnings:
            self.get_logger().warning(line)
        self._keeper = CalibrationKeeper(self, self._parameters_of_ours)
        self.create_service(Trigger, '~/reload_policy', self._reload_policy)
        self.create_service(SetBool, '~/calibrate', self._calibrate)

    def start(self) -> None:
        """Configure and activate, if the node shall do that itself."""
        if self._parameters_of_ours.options.autostart:
            self.begin()

    def close(self) -> None:
        """Flush and let go of everything, whatever the state is."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None
        self._keeper.close()
        if self._outputs is not None:
            self._outputs.close()
            self._outputs = None
        self._policy = None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the policy and create the publishers."""
        try:
            self._keeper.restore()
            self._policy = self._load_policy()
            self._outputs = Outputs(self)
        except Exception as error:
            self.close()
            return self.refuse('not configured', error)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Subscribe and begin to tick."""
        config = self._parameters_of_ours.situation
        try:
            if self._policy.config != config:  # parameters changed while inactive
                self._policy = self._load_policy()
            loop = ThinkingLoop(
                self,
                self._parameters_of_ours,
                self._policy,
                self._outputs,
                self.complaints,
                self._keeper,
            )
        except Exception as error:
            return self.refuse('not activated', error)
        result = super().on_activate(state)
        self._loop = loop
        loop.announce()
        self.get_logger().info(
            f'active: {len(config.signals)} signals, {len(self._policy.ids)} activities, '
            f'a tick every {config.tick_period_s:g} s'
        )
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the ticks and the subscriptions."""
        self._loop.close()
        self._loop = None
        self.get_logger().info('inactive')
        return super().on_deactivate(state)

    def _load_policy(self) -> RunningPolicy:
        parameters = self._parameters_of_ours
        policy = RunningPolicy(parameters.options, parameters.situation)
        self._loading = True
        try:
            lines = parameters.thresholds.follow(policy.own_thresholds())
        finally:
            self._loading = False
        for line in (*lines, *(f'policy: {warning}' for warning in policy.remarks)):
            self.get_logger().warning(line)
        self.get_logger().info(f'policy {policy.version} from {policy.runtime.path}')
        return policy

    def _reload_policy(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        if self._policy is None:
            response.message = 'not configured: configure the node, which loads the policy'
            return response
        before = self._policy.version
        try:
            policy = self._load_policy()
            if self._loop is not None:
                self._loop.replace_policy(policy)
        except Exception as error:
            self.refuse(f'policy {before} stays', error)
            response.message = f'policy {before} stays: {error}'
            return response
        self._policy = policy
        response.success = True
        response.message = f'policy {policy.version} from {policy.runtime.path}, was {before}'
        return response

    def _calibrate(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Begin a calibration, or cancel the one that runs."""
        options = self._parameters_of_ours.options
        try:
            if self._loop is None:
                raise PolicyError('not active: activate the node, which hears the robot')
            if request.data:
                response.message = self._loop.calibration.begin(
                    options.calibration_s, options.calibration_false_alarms
                )
            else:
                response.message = self._loop.calibration.cancel('cancelled')
            response.success = True
            self.get_logger().info(f'calibration: {response.message}')
        except PolicyError as error:
            response.message = str(error)
        return response

    def _parameters_changed(self, names: frozenset[str]) -> None:
        if self._loop is not None and not self._loading:
            self._loop.parameters_changed(names)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM and return the exit code.

    Args:
        arguments: Command line with `--ros-args`; `sys.argv` where None.
    """
    return run_node(PolicyNode, arguments)


if __name__ == '__main__':
    raise SystemExit(main())
