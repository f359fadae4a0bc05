# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Between ROS messages and this package's own types."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from std_msgs.msg import Header

from thinking_policy import msg as messages
from thinking_policy.ros.wire_messages import float32_or_nan
from thinking_policy.situation import (
    Event,
    EventKind,
    MessageType,
    Recalled,
    Situation,
    SituationError,
    message_type_from_fields,
)

_SECOND = 1_000_000_000


def message_class(type_name: str) -> Any:
    """Return the rclpy class of `pkg/msg/Name` or `pkg/Name`.

    Raises:
        SituationError: No such type is installed here; the message says how to get it.
    """
    package, _, name = type_name.replace('/msg/', '/').partition('/')
    if not package.isidentifier() or not name.isidentifier():
        raise SituationError(
            f'type {type_name!r}: expected package/msg/Name, such as sensor_msgs/msg/Imu'
        )
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except ModuleNotFoundError as error:
        raise SituationError(
            f'type {type_name}: package {package} is not installed for this Python; install it '
            f'(apt install ros-$ROS_DISTRO-{package.replace("_", "-")}, or source the workspace '
            'that builds it)'
        ) from error
    except AttributeError as error:
        raise SituationError(
            f'type {type_name}: the installed package {package} has no message {name}'
        ) from error


def message_type_of(type_name: str) -> MessageType:
    """Return the neutral description of an installed message type, nested types included.

    Raises:
        SituationError: As `message_class`.
    """
    return message_type_from_fields(
        type_name, lambda name: message_class(name).get_fields_and_field_types()
    )


def time_message(stamp_ns: int) -> Time:
    """Return nanoseconds since 1970 as a ROS time."""
    seconds, nanoseconds = divmod(stamp_ns, _SECOND)
    return Time(sec=seconds, nanosec=nanoseconds)


def event_message(event: Event) -> messages.SituationEvent:
    """Return an event as its message."""
    return messages.SituationEvent(
        header=Header(stamp=time_message(event.stamp_ns)),
        kind=int(event.kind),
        code=event.code,
        source=event.source,
        value=float32_or_nan(event.value),
    )


def situation_from_message(message: messages.Situation) -> Situation:
    """Return the situation that a message holds.

    What the message doesn't carry is empty: `readings` and `new_events`.

    Raises:
        SituationError: The message's arrays don't fit its length and signals.
    """
    shape = (message.length, len(message.signals))
    cells = shape[0] * shape[1]
    if (len(message.window), len(message.valid)) != (cells, cells):
        raise SituationError(
            f'Situation message of tick {message.tick}: expected {cells} values for '
            f'{shape[0]} x {shape[1]}, found {len(message.window)} and {len(message.valid)}'
        )
    recalled = zip(message.recalled, message.recalled_count, strict=True)
    return Situation(
        stamp_ns=stamp_ns(message.header),
        tick=message.tick,
        episode=message.episode,
        period_s=message.period,
        signals=tuple(message.signals),
        window=np.array(message.window, np.float32).reshape(shape),
        valid=np.array(message.valid, np.uint8).astype(np.bool_).reshape(shape),
        readings=(),
        new_events=(),
        events=tuple(event_from_message(event) for event in message.events),
        recalled=tuple(
            Recalled(event_from_message(event), int(count)) for event, count in recalled
        ),
    )


def event_from_message(message: messages.SituationEvent) -> Event:
    """Return the event that a message holds; its value has float32 precision."""
    return Event(
        stamp_ns=stamp_ns(message.header),
        kind=EventKind(message.kind),
        code=message.code,
        source=message.source,
        value=float(message.value),
    )


def stamp_ns(header: Header) -> int:
    """Return a header's stamp in nanoseconds since 1970."""
    return int(header.stamp.sec) * _SECOND + int(header.stamp.nanosec)
