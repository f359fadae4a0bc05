# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What runs while the node is active: drain, close the due ticks, infer, publish.

The tick's timer is set anew after each tick, to the next end of a tick on the node's clock, so
that ticks stay on the grid whether that clock is the wall's, a simulator's or a bag's.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType, JumpThreshold
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.timer import Timer

from thinking_policy.ros.calibration_file import BASELINE
from thinking_policy.ros.calibration_keeper import CalibrationKeeper
from thinking_policy.ros.complaints import Complaints
from thinking_policy.ros.health import Health
from thinking_policy.ros.live_calibration import LiveCalibration
from thinking_policy.ros.outputs import Outputs
from thinking_policy.ros.parameters import NodeParameters
from thinking_policy.ros.recalled_file import RecalledFile, default_path, read_table, set_aside
from thinking_policy.ros.receiver import SMALLEST_DEPTH, Receiver
from thinking_policy.ros.running_policy import RunningPolicy
from thinking_policy.situation import Situation, SituationError, SituationTracker

LONGEST_DRAIN_NS = 1_000_000_000  # a slow tick doesn't let queues wait longer than this
LATEST_NS = 1_000_000  # a timer that fires so late is not set anew
RECALLED_PERIOD_S = 5.0  # what a power cut may cost of the table of last occurrences


class ThinkingLoop:
    """One activation of the node, from the first subscription to the last flush."""

    def __init__(
        self,
        node: LifecycleNode,
        parameters: NodeParameters,
        policy: RunningPolicy,
        outputs: Outputs,
        complaints: Complaints,
        keeper: CalibrationKeeper,
    ) -> None:
        """Subscribe and set the timers; the executor does the rest.

        Args:
            node: For endpoints, timers and the clock.
            parameters: Signals and options.
            policy: What thinks.
            outputs: The publishers.
            complaints: Takes errors.
            keeper: Takes what a calibration learned.

        Raises:
            SituationError: A signal's field doesn't fit its message type.
        """
        self._node, self._parameters, self._complaints = node, parameters, complaints
        self._policy, self._outputs = policy, outputs
        self.calibration = LiveCalibration(parameters.situation)
        self._keeper = keeper
        self._recalled = self._open_recalled()
        self._tracker = self._make_tracker()
        self._receiver = self._make_receiver()
        self._health = Health(
            node,
            parameters,
            self._receiver,
            self._tracker,
            complaints,
            self._recalled,
            self.calibration,
        )
        self._events_unsaved = False
        self._saved_at = 0.0
        self._last_ns = self._drained_ns = 0
        period_ns = parameters.situation.tick_period_ns
        self._step_ns = period_ns // math.ceil(period_ns / LONGEST_DRAIN_NS)
        self._timers: list[Timer] = []
        self._jumps: Any = None
        try:
            self._receiver.open()
        except SituationError:
            self.close()
            raise
        self._tick_timer = self._timer(1.0, self._tick, node.get_clock())
        self._health_timer = self._timer(
            parameters.options.diagnostics_period_s,
            self._poll,
            Clock(clock_type=ClockType.STEADY_TIME),
        )
        # A timer of ROS time doesn't fire when its clock goes back.
        self._jumps = node.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1)),
            post_callback=lambda _: self._soon(),
        )
        self._arm(node.get_clock().now().nanoseconds)

    def announce(self) -> None:
        """Publish the taxonomy, with the thresholds in force."""
        thresholds = self._parameters.thresholds.in_force()
        self._policy.set_thresholds(thresholds, self._parameters.options.minimum_hold_s)
        self._outputs.announce(
            self._policy,
            self._parameters.situation.names,
            thresholds,
            self._parameters.options,
            self._node.get_clock().now().nanoseconds,
        )

    def replace_policy(self, policy: RunningPolicy) -> None:
        """Let another policy run from the next tick on."""
        self._policy = policy
        self.announce()

    def parameters_changed(self, names: frozenset[str]) -> None:
        """Take over what may change while active."""
        if 'diagnostics_period_s' in names:
            self._health_timer.timer_period_ns = round(
                self._parameters.options.diagnostics_period_s * 1e9
            )
        if any(name.endswith(BASELINE) for name in names):
            self._policy.set_baseline(self._parameters.situation)
        self.announce()

    def close(self) -> None:
        """End subscriptions and timers, write what isn't written; safe after a failed start."""
        if self.calibration.is_running:
            ended = self.calibration.cancel('the node was deactivated')
            self._node.get_logger().warning(f'calibration: {ended}')
        if self._jumps is not None:
            self._jumps.unregister()
            self._jumps = None
        for timer in self._timers:
            self._node.destroy_timer(timer)
        self._timers = []
        self._receiver.close()
        self._health.close()
        if self._recalled is not None:
            if self._events_unsaved:
                self._recalled.offer(self._tracker.recalled_table())
            if not self._recalled.close():
                self._complaints.warn('state', f'{self._recalled.path}: not written in time')
            self._recalled = None

    def _tick(self) -> None:
        now_ns = self._node.get_clock().now().nanoseconds
        if now_ns and (now_ns < self._last_ns or self._due(now_ns)):
            # Under sim time a message is received when the node takes it, as in a replay.
            simulated = self._node.get_clock().ros_time_is_active
            self._receiver.drain(self._tracker.receive_all, now_ns if simulated else None)
            self._drained_ns = self._last_ns = now_ns
            for situation in self._tracker.advance(now_ns):
                self._think(situation)
        self._arm(now_ns)

    def _due(self, now_ns: int) -> bool:
        """Whether a tick has ended, or the queues have waited long enough.

        Not before: what is drained early under sim time would get an earlier receive time.
        """
        return (
            now_ns >= self._tracker.next_due_ns(now_ns)
            or now_ns - self._drained_ns >= LONGEST_DRAIN_NS
        )

    def _think(self, situation: Situation) -> None:
        self._events_unsaved |= bool(situation.new_events)
        active, novelty = None, 0.0
        try:
            inference, active = self._policy.think(situation)
            novelty = inference.novelty
            self._outputs.publish_activations(situation, inference, active)
        except Exception as error:
            self._complaints.error('inference', error)
        # Last: a bag player in lockstep takes it for the end of the tick.
        self._outputs.publish_situation(situation)
        self._health.see(situation, active, novelty)
        self._calibrate(situation)

    def _calibrate(self, situation: Situation) -> None:
        try:
            learned = self.calibration.see(situation)
            if learned is not None:
                self._keeper.take(learned)
        except Exception as error:
            self._complaints.error('calibration', error)

    def _poll(self) -> None:
        self.calibration.unkept = self._keeper.failure
        if self.calibration.unkept:
            self._complaints.warn('calibration', self.calibration.unkept)
        self._health.poll(self._policy)
        for line in self._outputs.poll():
            self._node.get_logger().warning(line)
        now = self._health.now()
        if (
            self._recalled is not None
            and self._events_unsaved
            and now - self._saved_at >= RECALLED_PERIOD_S
        ):
            self._recalled.offer(self._tracker.recalled_table())
            self._events_unsaved, self._saved_at = False, now
        if self._recalled is not None and self._recalled.failures:
            self._complaints.warn('state', self._recalled.last_failure)

    def _arm(self, now_ns: int) -> None:
        """Let the timer fire at the next due time, and then on in steps that stay on the grid.

        Mostly it stands right already: setting it wakes the executor once more.
        """
        next_ns = now_ns + self._tick_timer.time_until_next_call()
        due_ns = self._tracker.next_due_ns(now_ns)
        if due_ns - now_ns > self._step_ns:  # a queue is drained before
            due_ns -= (due_ns - now_ns - 1) // self._step_ns * self._step_ns
        if 0 <= next_ns - due_ns <= LATEST_NS:
            return
        self._tick_timer.timer_period_ns = max(due_ns - now_ns, 1)
        self._tick_timer.reset()
        self._tick_timer.timer_period_ns = self._step_ns

    def _soon(self) -> None:
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._complaints.guarded(self._tick))

    def _timer(self, period_s: float, callback: Callable[[], None], clock: Clock) -> Timer:
        timer = self._node.create_timer(period_s, self._complaints.guarded(callback), clock=clock)
        self._timers.append(timer)
        return timer

    def _make_receiver(self) -> Receiver:
        config, options = self._parameters.situation, self._parameters.options
        drain_s = min(config.tick_period_ns, LONGEST_DRAIN_NS) * 1e-9
        return Receiver(
            self._node,
            self._tracker.requests,
            self._tracker.bind,
            depth=options.qos_depth
            or max(SMALLEST_DEPTH, math.ceil(2 * options.qos_rate_hz * drain_s)),
            fixed_depth=options.qos_depth > 0,
            reliability=options.qos_reliability,
            overridden=self._parameters.overridden,
        )

    def _open_recalled(self) -> RecalledFile | None:
        options, clock = self._parameters.options, self._node.get_clock()
        if options.state_path == 'none' or (not options.state_path and clock.ros_time_is_active):
            return None
        return RecalledFile(
            Path(options.state_path).expanduser()
            if options.state_path
            else default_path(self._node.get_fully_qualified_name(), os.environ)
        )

    def _make_tracker(self) -> SituationTracker:
        config, robot_id = self._parameters.situation, self._parameters.options.robot_id
        table, problem = None, ''
        if self._recalled is not None:
            table, problem = read_table(self._recalled.path)
        try:
            tracker = SituationTracker(config, robot_id=robot_id, recalled=table)
        except SituationError as error:
            if table is None:
                raise
            problem = set_aside(self._recalled.path, str(error))
            tracker = SituationTracker(config, robot_id=robot_id)
        if problem:
            self._node.get_logger().warning(problem)
        return tracker
