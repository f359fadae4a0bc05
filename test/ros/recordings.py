# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of messages that are made with rclpy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rclpy.serialization import serialize_message
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from rosgraph_msgs.msg import Clock

from thinking_policy.ros.conversions import time_message

Row = tuple[str, Any, int]  # topic, message, time of recording


def write_bag(path: Path, rows: Iterable[Row]) -> Path:
    """Write messages as an mcap bag and return its path."""
    store = get_typestore(Stores.ROS2_JAZZY)
    connections: dict[str, Any] = {}
    with Writer(path, version=8, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, message, record_ns in rows:
            if topic not in connections:
                kind = type(message)
                name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
                connections[topic] = writer.add_connection(topic, name, typestore=store)
            writer.write(connections[topic], record_ns, serialize_message(message))
    return path


def clock(now_ns: int) -> Clock:
    """Return a message for /clock."""
    return Clock(clock=time_message(now_ns))
