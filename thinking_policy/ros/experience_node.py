# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The lifecycle node `thinking_experience`: what the robot lives through, kept on its disk.

The executor's thread joins, decides and hands over; the file belongs to the buffer's thread, and
nothing here waits for it. It is a process of its own: whatever happens to the disk, the policy
node does not notice.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer

from thinking_policy.experience.buffer import ExperienceBuffer
from thinking_policy.experience.default_database import default_database
from thinking_policy.ros.experience_health import ExperienceHealth
from thinking_policy.ros.experience_loop import ExperienceLoop
from thinking_policy.ros.experience_options import NODE_NAME, ExperienceSettings
from thinking_policy.ros.option_parameters import OptionParameters
from thinking_policy.ros.spinning import run_node
from thinking_policy.ros.tidy_node import TidyNode

if TYPE_CHECKING:
    from thinking_policy.ros.fleet_link import FleetLink

LAST_WRITES_S = 2.5  # how long the end waits for the disk


class ExperienceNode(TidyNode):
    """Unconfigured: parameters only. Inactive: file and link are open. Active: it records."""

    def __init__(self, **options: Any) -> None:
        """Declare and check the parameters.

        Raises:
            ThinkingPolicyError: A parameter is refused; the message names it and what is allowed.
        """
        super().__init__(NODE_NAME, **options)
        self._buffer: ExperienceBuffer | None = None
        self._fleet: FleetLink | None = None
        self._opened: tuple[object, ...] = ()  # what buffer and link were opened with
        self._health: ExperienceHealth | None = None
        self._loop: ExperienceLoop | None = None
        self._active = False
        self._timer: Timer | None = None
        self._parameters_of_ours = OptionParameters(
            self,
            ExperienceSettings,
            is_active=lambda: self._active,
            changed=self._parameters_changed,
            read_only=('autostart',),
        )
        for line in self._parameters_of_ours.warnings:
            self.get_logger().warning(line)

    @property
    def settings(self) -> ExperienceSettings:
        """The parameters as they stand."""
        return self._parameters_of_ours.settings

    @property
    def robot(self) -> str:
        """What this robot is called in records."""
        named = self.settings.node.robot_id or self.get_namespace().strip('/')
        return named or socket.gethostname()

    def start(self) -> None:
        """Configure and activate, if the node shall do that itself."""
        if self.settings.node.autostart:
            self.begin()

    def close(self) -> None:
        """Flush and let go of everything, whatever the state is."""
        self._deactivate()
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
        self._close_storage()
        if self._health is not None:
            self._health.close()
            self._health = None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the file, in the buffer's thread, and begin to say how it stands."""
        try:
            self._open_storage()
            self._health = ExperienceHealth(self, self.robot, self.complaints)
            self._timer = self.create_timer(
                self.settings.node.diagnostics_period_s,
                self.complaints.guarded(self._poll),
                clock=Clock(clock_type=ClockType.STEADY_TIME),
            )
        except Exception as error:
            self.close()
            return self.refuse('not configured', error)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Subscribe and begin to record."""
        try:
            self._open_storage()  # parameters may have changed while inactive
            if self._buffer is not None:
                self._loop = ExperienceLoop(
                    self,
                    self.settings,
                    self.robot,
                    self._buffer,
                    self.complaints,
                    self._parameters_of_ours.overridden,
                )
        except Exception as error:
            return self.refuse('not activated', error)
        self._active = True
        self._health.activated()
        where = self._off() or f'experiences of {self.robot} are kept in {self._buffer.path}'
        self.get_logger().info(f'active: {where}')
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the subscriptions; the file stays open."""
        self._deactivate()
        self.get_logger().info('inactive')
        return super().on_deactivate(state)

    def _off(self) -> str:
        """Return why nothing is recorded; empty where it is."""
        path = self.settings.node.database_path
        if path == 'none':
            return 'nothing is recorded: database_path is none'
        if not path and self.get_clock().ros_time_is_active:
            return 'nothing is recorded under sim time: no database_path is given'
        return ''

    def _database(self) -> Path:
        given = self.settings.node.database_path
        if given:
            return Path(given).expanduser()
        return default_database(os.environ, self.get_fully_qualified_name())

    def _open_storage(self) -> None:
        """Open the file and the link that the parameters name, unless they are open."""
        settings = self.settings
        path = None if self._off() else self._database()
        wanted = (path, settings.buffer, settings.server, self.robot)
        if self._opened == wanted:
            return
        self._close_storage()
        if path is not None:
            self._buffer = ExperienceBuffer(path, settings.buffer.options())
        if settings.server.url:
            # It brings httpx and tenacity along, which a robot without a server does not have.
            from thinking_policy.ros.fleet_link import FleetLink

            self._fleet = FleetLink(self, settings.server, self.robot, self._buffer)
        self._opened = wanted

    def _close_storage(self) -> None:
        self._opened = ()
        if self._fleet is not None:
            self._fleet.close()
            self._fleet = None
        if self._buffer is not None:
            lost = self._buffer.close(LAST_WRITES_S)
            if lost:
                problem = self._buffer.status().problem
                self.get_logger().warning(f'{lost} experiences are lost: {problem}')
            self._buffer = None

    def _deactivate(self) -> None:
        self._active = False
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def _poll(self) -> None:
        if self._health is not None:
            off = self._off() if self._active else ''
            self._health.poll(self.settings.node, self._loop, self._buffer, self._fleet, off)

    def _parameters_changed(self, names: frozenset[str]) -> None:
        settings = self.settings
        if self._timer is not None and 'diagnostics_period_s' in names:
            self._timer.timer_period_ns = round(settings.node.diagnostics_period_s * 1e9)
        if self._loop is not None:
            self._loop.recording.set_rules(settings.recording.rules())
            if 'drain_period_s' in names:
                self._loop.set_drain_period(settings.node.drain_period_s)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM and return the exit code.

    Args:
        arguments: Command line with `--ros-args`; `sys.argv` where None.
    """
    return run_node(ExperienceNode, arguments)


if __name__ == '__main__':
    raise SystemExit(main())
