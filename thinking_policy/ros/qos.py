# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The four quality-of-service profiles of this package, by name.

Every endpoint can be overridden in the parameter file the ROS way, under the full topic name:

    qos_overrides:
      /robot/imu/data:
        subscription: {reliability: reliable, depth: 500}
      /thinking/activations:
        publisher: {depth: 1}

An overridden depth of a subscription is kept: the node then doesn't let it follow the rate.
"""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

_OUTPUT_KINDS = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
)
_INPUT_KINDS = (QoSPolicyKind.HISTORY, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DURABILITY)


def sensor_input(depth: int, reliability: str) -> QoSProfile:
    """Return the profile of subscriptions to sensor topics.

    Best effort hears every publisher, reliable ones too; `reliable` hears only reliable ones.

    Args:
        depth: Messages kept between two drains.
        reliability: `best_effort` or `reliable`.
    """
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy[reliability.upper()],
        durability=DurabilityPolicy.VOLATILE,
    )


def events_output() -> QoSProfile:
    """Return the profile of `thinking/events`: none is lost by a listener that keeps up."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=100,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.VOLATILE,
    )


def taxonomy_output() -> QoSProfile:
    """Return the profile of `thinking/taxonomy`: latched, late joiners get the last one."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=1,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
    )


def activations_output() -> QoSProfile:
    """Return the profile of `thinking/activations` and `thinking/situation`: the newest count."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=10,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.VOLATILE,
    )


def output_overrides() -> QoSOverridingOptions:
    """Return which policies of a publisher `qos_overrides` may set."""
    return QoSOverridingOptions(_OUTPUT_KINDS)


def input_overrides(topic: str, overridden: Iterable[str]) -> QoSOverridingOptions:
    """Return which policies of a subscription `qos_overrides` may set.

    The depth is among them only where the user has set it: rclpy would otherwise freeze it at
    its first value, and it has to follow the rate of the messages.

    Args:
        topic: Resolved topic name.
        overridden: Names of all parameters that the user has set.
    """
    if depth_parameter(topic) in overridden:
        return QoSOverridingOptions((*_INPUT_KINDS, QoSPolicyKind.DEPTH))
    return QoSOverridingOptions(_INPUT_KINDS)


def depth_parameter(topic: str) -> str:
    """Return the name of the parameter that overrides the depth of a subscription."""
    return f'qos_overrides.{topic}.subscription.depth'
