# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Publishes how a node stands on /diagnostics, and says in the log what has changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from thinking_policy.ros.complaints import Complaints
from thinking_policy.ros.conversions import time_message
from thinking_policy.ros.middleware_events import SILENT_PUBLISHER

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

_NUMBER = re.compile(r'\d+(?:\.\d+)?')


@dataclass(frozen=True)
class Finding:
    """How something stands: a level and a line for people."""

    level: bytes
    message: str


class StatusBoard:
    """The statuses of one node: written one by one, published together."""

    def __init__(self, node: Node, prefix: str, robot_id: str, complaints: Complaints) -> None:
        """Create the publisher.

        Args:
            node: Its namespace follows the prefix in the names.
            prefix: What names begin with, such as `thinking_policy: `.
            robot_id: Hardware id; empty: the namespace.
            complaints: Says changes.
        """
        namespace = node.get_namespace()
        self._writer = StatusWriter(
            prefix + ('' if namespace == '/' else f'{namespace} '),
            robot_id or namespace.strip('/'),
        )
        self._node, self._complaints = node, complaints
        self._kinds: dict[str, str] = {}
        self._statuses: list[DiagnosticStatus] = []
        self._publisher = node.create_publisher(
            DiagnosticArray, '/diagnostics', 10, event_callbacks=SILENT_PUBLISHER
        )

    def write(self, subject: str, finding: Finding, values: Mapping[str, Any]) -> None:
        """Take a status; say it in the log when it is of another kind than before."""
        kind = '' if finding.level == OK else _NUMBER.sub('#', finding.message)
        before, self._kinds[subject] = self._kinds.get(subject, ''), kind
        if kind and kind != before:
            self._complaints.warn(f'{subject}: {kind}', f'{subject}: {finding.message}')
        elif before and not kind:
            self._complaints.inform(f'{subject}: ok', f'{subject}: ok again')
        self._statuses.append(self._writer.write(subject, finding, values))

    def publish(self, now_ns: int) -> None:
        """Publish what was written since the last time; `now_ns` is on the node's clock."""
        message = DiagnosticArray(status=self._statuses)
        message.header.stamp = time_message(now_ns)
        self._publisher.publish(message)
        self._statuses = []

    def close(self) -> None:
        """Destroy the publisher."""
        self._node.destroy_publisher(self._publisher)


class StatusWriter:
    """Fills the same DiagnosticStatus messages over and over: publishing copies them."""

    def __init__(self, prefix: str, hardware_id: str) -> None:
        """Begin with none; names are `prefix` and the subject."""
        self._prefix, self._hardware_id = prefix, hardware_id
        self._made: dict[str, DiagnosticStatus] = {}

    def write(self, subject: str, finding: Finding, values: Mapping[str, Any]) -> DiagnosticStatus:
        """Return the status of a subject; floats are written with six digits."""
        status = self._made.get(subject)
        if status is None or len(status.values) != len(values):
            status = self._made[subject] = DiagnosticStatus(
                name=self._prefix + subject,
                hardware_id=self._hardware_id,
                values=[KeyValue(key=key) for key in values],
            )
        status.level, status.message = finding.level, finding.message
        for pair, value in zip(status.values, values.values(), strict=True):
            pair.value = f'{value:.6g}' if type(value) is float else str(value)
        return status
