# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Watches signals, policy and clock on the steady clock; says changes, publishes diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from thinking_policy.ros import diagnostics
from thinking_policy.ros.complaints import Complaints
from thinking_policy.ros.diagnostics import ClockFacts
from thinking_policy.ros.live_calibration import LiveCalibration
from thinking_policy.ros.parameters import NodeParameters
from thinking_policy.ros.recalled_file import RecalledFile
from thinking_policy.ros.receiver import Receiver
from thinking_policy.ros.running_policy import RunningPolicy
from thinking_policy.ros.status_board import OK, Finding, StatusBoard
from thinking_policy.situation import Situation, SituationTracker

GRAPH_PERIOD_S = 5.0  # asking the graph for all topics is not for every period


class Health:
    """What is known of an active node; one per activation, in the executor's thread."""

    def __init__(
        self,
        node: Node,
        parameters: NodeParameters,
        receiver: Receiver,
        tracker: SituationTracker,
        complaints: Complaints,
        recalled: RecalledFile | None,
        calibration: LiveCalibration,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to watch.

        Args:
            node: For the graph, the clock and the log.
            parameters: Signals and periods.
            receiver: Its topics are polled here.
            tracker: For its counters.
            complaints: For its errors.
            recalled: The file of last occurrences, if it is kept.
            calibration: For its progress.
            clock: Steady seconds.
        """
        self._node, self._parameters, self._receiver = node, parameters, receiver
        self._tracker, self._complaints, self._recalled = tracker, complaints, recalled
        self._calibration, self._clock = calibration, clock
        self._began = self._moved_at = clock()
        self._moved_ns = -1
        self._asked_graph = -GRAPH_PERIOD_S
        self._elsewhere: dict[str, str] = {}
        self._lost: dict[str, int] = {}
        self._errors = complaints.errors
        self._latest: Situation | None = None
        self._active: Any = None
        self._novelty = 0.0
        self._board = StatusBoard(
            node, diagnostics.PREFIX, parameters.options.robot_id, complaints
        )

    def now(self) -> float:
        """Return steady seconds."""
        return self._clock()

    def see(self, situation: Situation, active: Any, novelty: float) -> None:
        """Take what the last tick brought; `active` is bool [G], None where it failed."""
        self._latest, self._active, self._novelty = situation, active, novelty

    def poll(self, policy: RunningPolicy) -> None:
        """Look at everything, say what changed, publish /diagnostics."""
        now = self._clock()
        for line in self._receiver.poll(now):
            self._node.get_logger().warning(line)
        clock = self._clock_facts(now)
        self._write_signals(now, clock)
        self._write_policy(policy)
        progress = self._calibration.progress
        self._board.write(
            'calibration',
            diagnostics.calibration_finding(progress, self._parameters.situation),
            diagnostics.calibration_values(progress, self._parameters.situation),
        )
        self._board.write(
            'clock',
            diagnostics.clock_finding(clock),
            diagnostics.clock_values(clock, self._tracker.counters),
        )
        self._board.publish(clock.now_ns)

    def close(self) -> None:
        """Say that the node is inactive and end."""
        self._board.write('policy', Finding(OK, 'inactive'), {})
        self._board.publish(self._node.get_clock().now().nanoseconds)
        self._board.close()

    def _write_signals(self, now: float, clock: ClockFacts) -> None:
        config, topics = self._parameters.situation, self._receiver.topics
        readings = {} if self._latest is None else {r.name: r for r in self._latest.readings}
        waited_s = now - self._began if clock.now_ns else 0.0
        grace_s = self._parameters.options.grace_period_s
        self._look_around(now, waited_s > grace_s)
        newly_lost = {}
        for name, topic in topics.items():
            newly_lost[name] = topic.lost - self._lost.get(name, 0)
            self._lost[name] = topic.lost
        for signal in config.signals:
            topic = topics.get(signal.topic) if signal.topic else None
            reading = readings.get(signal.name)
            finding = diagnostics.signal_finding(
                signal,
                reading,
                topic,
                waited_s=waited_s,
                grace_s=grace_s,
                elsewhere=self._elsewhere.get(signal.topic, ''),
                newly_lost=newly_lost.get(signal.topic, 0),
            )
            self._board.write(
                f'signal {signal.name}',
                finding,
                diagnostics.signal_values(signal, reading, topic, self._tracker.counters),
            )

    def _write_policy(self, policy: RunningPolicy) -> None:
        errors, self._errors = self._complaints.errors - self._errors, self._complaints.errors
        p50, p99 = policy.times_ms()
        active = (
            []
            if self._active is None
            else [
                name for name, is_active in zip(policy.ids, self._active, strict=True) if is_active
            ]
        )
        counters, file = self._tracker.counters, self._recalled
        self._board.write(
            'policy',
            diagnostics.policy_finding(policy, active, errors, self._complaints.last_error),
            {
                'version': policy.version,
                'path': policy.runtime.path,
                'active': ' '.join(active),
                'ticks': counters.ticks,
                'inferences': policy.inferences,
                'inference_p50_ms': p50,
                'inference_p99_ms': p99,
                'novelty': float(self._novelty),
                'valid_fraction': float(self._latest.valid.mean())
                if self._latest is not None
                else 0.0,
                'warnings': '; '.join(policy.remarks),
                'errors': self._complaints.errors,
                'last_error': self._complaints.last_error,
                'events_forgotten': counters.codes_forgotten,
                'state_file': file.path if file else '',
                'state_failures': file.failures if file else 0,
            },
        )

    def _clock_facts(self, now: float) -> ClockFacts:
        ros_clock, config = self._node.get_clock(), self._parameters.situation
        now_ns = ros_clock.now().nanoseconds
        if now_ns != self._moved_ns:
            self._moved_ns, self._moved_at = now_ns, now
        latest = self._latest
        lateness_ns = round(config.lateness_s * 1e9) if config.time_source == 'header' else 0
        behind = (
            0
            if latest is None
            else (now_ns - lateness_ns - latest.stamp_ns) // config.tick_period_ns
        )
        return ClockFacts(
            simulated=ros_clock.ros_time_is_active,
            now_ns=now_ns,
            standing_still_s=now - self._moved_at,
            silent_after_s=self._parameters.options.grace_period_s,
            tick=0 if latest is None else latest.tick,
            behind_ticks=max(0, behind),
            episode='' if latest is None else latest.episode,
        )

    def _look_around(self, now: float, due: bool) -> None:
        """Find what the graph offers for topics that nobody publishes."""
        silent = [t for t in self._receiver.topics.values() if not t.publishers and not t.problem]
        if not (due and silent) or now - self._asked_graph < GRAPH_PERIOD_S:
            return
        self._asked_graph = now
        offered = {
            name: types
            for name, types in self._node.get_topic_names_and_types()
            if self._node.count_publishers(name)
        }
        for topic in silent:
            others = [t for t in offered.get(topic.resolved, []) if t != topic.type]
            same = sorted(
                name
                for name, types in offered.items()
                if topic.type in types and name != topic.resolved
            )
            if others:
                self._elsewhere[topic.topic] = f'it is published as {", ".join(others)}'
            elif same:
                self._elsewhere[topic.topic] = (
                    f'{topic.type} is published on {", ".join(same[:5])}'
                )
            else:
                self._elsewhere.pop(topic.topic, None)
