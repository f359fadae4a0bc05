# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the messages of event topics say: levels of diagnostics, and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thinking_policy.situation.decode import compile_decoder
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.message_types import (
    TEXT,
    Array,
    MessageType,
    Primitive,
    Sequence,
)
from thinking_policy.situation.requests import TopicRequest


def payload_reader(
    request: TopicRequest, message_type: MessageType
) -> Callable[[bytes], Any] | None:
    """Return what reads a raw message of an event topic, None for a topic of signals only.

    It gives [(name, level)] for diagnostics, a str for texts, and None for a broken message.

    Raises:
        SituationError: The type bears the right name, but lacks the members.
    """
    if request.diagnostics:
        return _levels(message_type)
    if request.events or request.mission:
        return _text(message_type)
    return None


def _levels(message_type: MessageType) -> Callable[[bytes], list[tuple[str, int]] | None]:
    status = message_type.field('status')
    item = status.type.item if status and isinstance(status.type, (Array, Sequence)) else None
    members = (
        {field.name: field.type for field in item.fields} if isinstance(item, MessageType) else {}
    )
    if members.get('name') != TEXT or not isinstance(members.get('level'), Primitive):
        raise SituationError(
            f'{message_type.name}: expected an array status with name and level, as '
            f'diagnostic_msgs/msg/DiagnosticArray has it; this one is described otherwise'
        )
    decode = compile_decoder(message_type, only=('status.level', 'status.name'))

    def read(raw: bytes) -> list[tuple[str, int]] | None:
        message = decode(raw)
        return (
            None
            if message is None
            else [(entry['name'], int(entry['level'])) for entry in message['status']]
        )

    return read


def _text(message_type: MessageType) -> Callable[[bytes], str | None]:
    data = message_type.field('data')
    if data is None or data.type != TEXT:
        raise SituationError(
            f'{message_type.name}: expected a text named data, as std_msgs/msg/String has it; '
            f'this one is described otherwise'
        )
    decode = compile_decoder(message_type, only=('data',))

    def read(raw: bytes) -> str | None:
        message = decode(raw)
        return None if message is None else str(message['data'])

    return read
