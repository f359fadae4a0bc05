# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the policy node publishes, and when."""

from __future__ import annotations

from typing import Any

from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import Header

from thinking_policy import msg as messages
from thinking_policy.policy import Inference
from thinking_policy.ros import qos
from thinking_policy.ros.conversions import event_message, time_message
from thinking_policy.ros.middleware_events import SILENT_PUBLISHER, EndpointEvents
from thinking_policy.ros.node_options import NodeOptions
from thinking_policy.ros.running_policy import RunningPolicy, Thresholds
from thinking_policy.ros.wire_messages import ActivationsWriter, situation_bytes
from thinking_policy.situation import Situation


class Outputs:
    """The publishers of a configured node; they are silent unless the node is active."""

    def __init__(self, node: LifecycleNode) -> None:
        """Create the publishers."""
        self._node = node
        self._activations = self._publisher(
            messages.ThinkingActivations, 'thinking/activations', qos.activations_output()
        )
        self._situation = self._publisher(
            messages.Situation, 'thinking/situation', qos.activations_output()
        )
        self._taxonomy = self._publisher(
            messages.ThinkingTaxonomy, 'thinking/taxonomy', qos.taxonomy_output()
        )
        self._events = self._publisher(
            messages.SituationEvent, 'thinking/events', qos.events_output()
        )
        self._publishers = (self._activations, self._situation, self._taxonomy, self._events)
        self._happenings = [EndpointEvents(p, publisher=True) for p in self._publishers]
        self._writer: ActivationsWriter | None = None
        self._options = NodeOptions()
        self._last: tuple[str, bytes] | None = None
        self._last_stamp_ns = 0

    def announce(
        self,
        policy: RunningPolicy,
        signals: tuple[str, ...],
        thresholds: Thresholds,
        options: NodeOptions,
        stamp_ns: int,
    ) -> None:
        """Publish which kinds of thinking there are, and take over how they are published.

        Args:
            policy: The policy that runs from now on.
            signals: Signal names in window order.
            thresholds: On- and off-threshold in force per activity.
            options: The node's options.
            stamp_ns: Now, on the node's clock.
        """
        on = [thresholds[name][0] for name in policy.ids]
        self._writer = ActivationsWriter(
            policy.version, policy.ids, on, signals, options.novelty_threshold
        )
        self._options = options
        self._last = None
        self._taxonomy.publish(
            messages.ThinkingTaxonomy(
                header=Header(stamp=time_message(stamp_ns)),
                policy_version=policy.version,
                id=list(policy.ids),
                title=[a.title for a in policy.activities],
                directive=[a.directive for a in policy.activities],
                threshold=on,
            )
        )

    def publish_situation(self, situation: Situation) -> None:
        """Publish a situation and its new events."""
        for event in situation.new_events:
            self._events.publish(event_message(event))
        # the largest message, and often nobody listens
        if self._situation.get_subscription_count():
            self._situation.publish(situation_bytes(situation))

    def publish_activations(self, situation: Situation, inference: Inference, active: Any) -> None:
        """Publish what the policy said, if it is due.

        Args:
            situation: What the policy saw.
            inference: What it said.
            active: bool [G], what is active after hysteresis and hold.
        """
        if self._writer is None or not self._due(situation, active):
            return
        self._activations.publish(
            self._writer.write(
                situation,
                inference.probability,
                active,
                novelty=inference.novelty,
                inference_time_s=inference.inference_time_s,
            )
        )

    def poll(self) -> list[str]:
        """Return a line for each publisher that somebody can't hear, if that is new."""
        lines = []
        for publisher, happenings in zip(self._publishers, self._happenings, strict=True):
            news = happenings.take()
            if news.incompatible:
                lines.append(
                    f'{publisher.topic_name}: {news.incompatible} subscriber(s) ask for another '
                    f'{news.policy} and hear nothing; change it there, or here by '
                    f'qos_overrides.{publisher.topic_name}.publisher.{news.policy}'
                )
        return lines

    def close(self) -> None:
        """Destroy the publishers."""
        self._happenings = []  # each keeps its publisher alive
        for publisher in self._publishers:
            self._node.destroy_lifecycle_publisher(publisher)

    def _due(self, situation: Situation, active: Any) -> bool:
        if self._options.publish == 'every_tick':
            return True
        state = (situation.episode, active.tobytes())
        waited_s = (situation.stamp_ns - self._last_stamp_ns) * 1e-9
        if state == self._last and 0 <= waited_s < self._options.heartbeat_s:
            return False
        self._last, self._last_stamp_ns = state, situation.stamp_ns
        return True

    def _publisher(self, kind: Any, topic: str, profile: Any) -> Any:
        return self._node.create_lifecycle_publisher(
            kind,
            topic,
            profile,
            event_callbacks=SILENT_PUBLISHER,
            qos_overriding_options=qos.output_overrides(),
        )
