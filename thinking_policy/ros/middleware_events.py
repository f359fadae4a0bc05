# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Events of the middleware, asked for once in a while instead of being waited for.

Each event handler that rclpy waits for makes every round of the executor slower, two for each
endpoint. What they tell is a matter of seconds: lost messages, incompatible quality of service.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation

_ON_SUBSCRIPTION = rclpy_implementation.rcl_subscription_event_type_t
_ON_PUBLISHER = rclpy_implementation.rcl_publisher_event_type_t

# What endpoints are created with, so that rclpy waits for none of theirs.
SILENT_SUBSCRIPTION = SubscriptionEventCallbacks(use_default_callbacks=False)
SILENT_PUBLISHER = PublisherEventCallbacks(use_default_callbacks=False)


@dataclass
class EndpointNews:
    """What happened to an endpoint since the last time.

    Attributes:
        lost: Messages that the middleware says it lost on the way in.
        incompatible: Endpoints of others that don't fit, in all; 0 where no new one came.
        policy: The quality that didn't fit last, such as `reliability`.
    """

    lost: int = 0
    incompatible: int = 0
    policy: str = ''


class EndpointEvents:
    """The event queues of one subscription or publisher, as far as the middleware has them."""

    def __init__(self, endpoint: Any, *, publisher: bool) -> None:
        """Open them; the endpoint must outlive this."""
        self._queues: list[Any] = []
        kinds = (
            [_ON_PUBLISHER.RCL_PUBLISHER_OFFERED_INCOMPATIBLE_QOS]
            if publisher
            else [
                _ON_SUBSCRIPTION.RCL_SUBSCRIPTION_MESSAGE_LOST,
                _ON_SUBSCRIPTION.RCL_SUBSCRIPTION_REQUESTED_INCOMPATIBLE_QOS,
            ]
        )
        for kind in kinds:
            try:
                with endpoint.handle:
                    self._queues.append(rclpy_implementation.EventHandle(endpoint.handle, kind))
            except rclpy_implementation.UnsupportedEventTypeError:
                continue

    def take(self) -> EndpointNews:
        """Return what happened since the last time."""
        news = EndpointNews()
        for queue in self._queues:
            with queue:
                event = queue.take_event()
            if event is None or not event.total_count_change:
                continue
            if hasattr(event, 'last_policy_kind'):
                news.incompatible = event.total_count
                news.policy = event.last_policy_kind.name.removeprefix('RMW_QOS_POLICY_').lower()
            else:
                news.lost = event.total_count_change
        return news
