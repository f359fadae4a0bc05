# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which policy each robot of one tenant runs, as the robots said last."""

from __future__ import annotations

from dataclasses import dataclass

from sqlite_utils import Database


@dataclass(frozen=True)
class RobotReport:
    """What a robot said.

    Attributes:
        robot: Its name.
        policy_version: Which one it runs, or refused.
        state: `running` or `refused`.
        reason: Why it was refused.
        reported_ns: When the server heard it; nanoseconds since 1970.
    """

    robot: str
    policy_version: str
    state: str
    reason: str
    reported_ns: int


class RobotReports:
    """The reports of one tenant's robots. Every query names the tenant; nothing here commits."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._execute = database.conn.execute
        self._tenant = tenant

    def keep(self, report: RobotReport) -> None:
        """Keep a report in place of the robot's last one."""
        self._execute(
            'INSERT OR REPLACE INTO robot VALUES (?, ?, ?, ?, ?, ?)',
            (
                self._tenant,
                report.robot,
                report.policy_version,
                report.state,
                report.reason,
                report.reported_ns,
            ),
        )

    def all(self) -> list[RobotReport]:
        """Return the last report of each robot, by name."""
        rows = self._execute(
            'SELECT name, policy_version, state, reason, reported_ns FROM robot '
            'WHERE tenant = ? ORDER BY name',
            (self._tenant,),
        )
        return [RobotReport(*row) for row in rows]
