# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which topics a configuration asks for, and what each of them is used for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.message_types import full_name

if TYPE_CHECKING:
    from thinking_policy.situation.configuration import SituationConfig

DIAGNOSTICS_TYPE = 'diagnostic_msgs/msg/DiagnosticArray'
TEXT_TYPE = 'std_msgs/msg/String'


@dataclass(frozen=True)
class TopicRequest:
    """A topic to be fed to the tracker.

    Attributes:
        topic: As configured.
        type: Such as `sensor_msgs/msg/Imu`.
        by_header: Whether the header's time counts, not the receive time.
        signals: Columns of the window that read it.
        diagnostics: Whether its level changes are events.
        events: Whether its texts are events.
        mission: Whether its texts are missions.
    """

    topic: str
    type: str
    by_header: bool
    signals: tuple[int, ...] = ()
    diagnostics: bool = False
    events: bool = False
    mission: bool = False


def topic_requests(config: SituationConfig) -> tuple[TopicRequest, ...]:
    """Return the topics of a configuration, each once, signals first.

    Raises:
        SituationError: Two uses of a topic disagree about its type or time source.
    """
    found: dict[str, TopicRequest] = {}
    users: dict[str, str] = {}

    def ask(topic: str, user: str, kind: str, time_source: str = '', **use: Any) -> None:
        by_header = (time_source or config.time_source) == 'header'
        wanted = TopicRequest(topic, full_name(kind), by_header)
        before = found.setdefault(topic, wanted)
        first = users.setdefault(topic, user)
        if (before.type, before.by_header) != (wanted.type, wanted.by_header):
            raise SituationError(
                f'{topic}: expected one type and one time source, but {first} reads it as '
                f'{_shown(before)}, {user} as {_shown(wanted)}'
            )
        found[topic] = dataclasses.replace(before, **use)

    for index, signal in enumerate(config.signals):
        if signal.topic:
            user = f'signals.{signal.name}'
            ask(signal.topic, user, signal.type, signal.time_source)
            request = found[signal.topic]
            found[signal.topic] = dataclasses.replace(request, signals=(*request.signals, index))
    if config.events.diagnostics_topic:
        ask(
            config.events.diagnostics_topic,
            'events.diagnostics_topic',
            DIAGNOSTICS_TYPE,
            diagnostics=True,
        )
    for topic in config.events.topics:
        ask(topic, 'events.topics', TEXT_TYPE, events=True)
    if config.episode.mission_topic:
        ask(config.episode.mission_topic, 'episode.mission_topic', TEXT_TYPE, mission=True)
    return tuple(found.values())


def _shown(request: TopicRequest) -> str:
    return f'{request.type} by {"header" if request.by_header else "receive"} time'
