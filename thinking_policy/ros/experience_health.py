# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Watches recording, buffer, topics and clocks; says changes, publishes diagnostics."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from rclpy.node import Node

from thinking_policy.experience.buffer import ExperienceBuffer
from thinking_policy.ros import experience_diagnostics as diagnostics
from thinking_policy.ros import fleet_diagnostics
from thinking_policy.ros.complaints import Complaints
from thinking_policy.ros.experience_loop import ExperienceLoop
from thinking_policy.ros.experience_options import NodeSettings
from thinking_policy.ros.status_board import OK, Finding, StatusBoard

if TYPE_CHECKING:
    from thinking_policy.ros.fleet_link import FleetLink

_WATCHED = ('unjoined_situations', 'unjoined_activations', 'unplaced', 'broken')
SLOW_TICKS = 3  # silence of so many tick periods is nothing to mention


class ExperienceHealth:
    """What is known of a configured node, in the executor's thread."""

    def __init__(
        self,
        node: Node,
        robot: str,
        complaints: Complaints,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Begin to watch.

        Args:
            node: For its clock.
            robot: Hardware id.
            complaints: For its errors; says changes.
            clock: Steady seconds.
            wall_ns: Nanoseconds since 1970.
        """
        self._node, self._robot, self._complaints = node, robot, complaints
        self._clock, self._wall_ns = clock, wall_ns
        self._board = StatusBoard(node, diagnostics.PREFIX, robot, complaints)
        self._seen: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._moved_at, self._moved_ns = clock(), -1
        self._came_at, self._joined = clock(), 0

    def activated(self) -> None:
        """Count anew: an activation begins."""
        self._seen = Counter(
            {
                name: count
                for name, count in self._seen.items()
                if name in ('errors', 'records', 'quarantined')
            }
        )
        self._lost = Counter()
        self._came_at = self._moved_at = self._clock()
        self._joined = 0

    def poll(
        self,
        settings: NodeSettings,
        loop: ExperienceLoop | None,
        buffer: ExperienceBuffer | None,
        fleet: FleetLink | None,
        off: str,
    ) -> None:
        """Look at everything, say what changed, publish /diagnostics.

        Args:
            settings: For the grace time.
            loop: None: inactive, or nothing is recorded.
            buffer: None where nothing is recorded.
            fleet: None where no server is named.
            off: Why nothing is.
        """
        now = self._clock()
        if loop is not None:
            loop.poll(now)
            self._write_recording(now, settings, loop)
        else:
            self._board.write('recording', Finding(OK, off or 'inactive'), {'robot': self._robot})
        if buffer is not None:
            self._write_buffer(buffer)
        if fleet is not None:
            self._write_fleet(fleet)
        if loop is not None:
            for name, topic in loop.topics.items():
                lost, self._lost[name] = topic.lost - self._lost[name], topic.lost
                finding = diagnostics.topic_finding(topic, lost)
                self._board.write(f'topic {name}', finding, diagnostics.topic_values(topic))
        self._write_clock(now, settings, loop)
        self._board.publish(self._node.get_clock().now().nanoseconds)

    def close(self) -> None:
        """Say that the node is inactive and end."""
        self._board.write('recording', Finding(OK, 'inactive'), {'robot': self._robot})
        self._board.publish(self._node.get_clock().now().nanoseconds)
        self._board.close()

    def _write_recording(self, now: float, settings: NodeSettings, loop: ExperienceLoop) -> None:
        counts = loop.counts
        counts['errors'] = self._complaints.errors
        if counts['joined'] != self._joined:
            self._came_at, self._joined = now, counts['joined']
        period_s = 0.0 if loop.newest is None else loop.newest.situation.period_s
        last_error = loop.last_broken or self._complaints.last_error
        facts = diagnostics.RecordingFacts(
            silent_s=now - self._came_at,
            grace_s=max(settings.grace_period_s, SLOW_TICKS * period_s),
            new={name: self._newly(name, counts[name]) for name in (*_WATCHED, 'errors')},
            last_error=last_error,
            experiences=counts['experiences'],
            amendments=counts['amendments'],
        )
        self._board.write(
            'recording',
            diagnostics.recording_finding(facts),
            diagnostics.recording_values(
                self._robot, counts, loop.recording.reasons, loop.recording.waiting, last_error
            ),
        )

    def _write_buffer(self, buffer: ExperienceBuffer) -> None:
        status = buffer.status()
        lost = self._newly('records', status.dropped + status.refused)
        self._board.write(
            'buffer',
            diagnostics.buffer_finding(status, buffer.options, lost),
            diagnostics.buffer_values(str(buffer.path), status, buffer.options),
        )

    def _write_fleet(self, fleet: FleetLink) -> None:
        uplink, downlink = fleet.uplink_status(), fleet.downlink_status()
        if uplink is not None:
            quarantined = self._newly('quarantined', uplink.quarantined)
            finding = fleet_diagnostics.uplink_finding(uplink, quarantined)
            self._board.write('uplink', finding, fleet_diagnostics.uplink_values(uplink))
        if downlink is not None:
            finding = fleet_diagnostics.downlink_finding(downlink)
            self._board.write('downlink', finding, fleet_diagnostics.downlink_values(downlink))

    def _write_clock(
        self, now: float, settings: NodeSettings, loop: ExperienceLoop | None
    ) -> None:
        clock = self._node.get_clock()
        now_ns = clock.now().nanoseconds
        if now_ns != self._moved_ns:
            self._moved_ns, self._moved_at = now_ns, now
        newest = None if loop is None else loop.newest
        facts = diagnostics.ClockFacts(
            simulated=clock.ros_time_is_active,
            now_ns=now_ns,
            wall_ns=self._wall_ns(),
            standing_still_s=now - self._moved_at,
            newest_ns=None if newest is None else newest.situation.stamp_ns,
            fresh=now - self._came_at <= settings.grace_period_s,
            grace_s=settings.grace_period_s,
        )
        self._board.write(
            'clock', diagnostics.clock_finding(facts), diagnostics.clock_values(facts)
        )

    def _newly(self, name: str, count: int) -> int:
        before, self._seen[name] = self._seen[name], count
        return max(0, count - before)
