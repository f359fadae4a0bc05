# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Where one stretch of experience ends and the next begins."""

from __future__ import annotations

import enum
from datetime import datetime, timezone

from thinking_policy.situation.configuration import EpisodeConfig, nanoseconds


class EpisodeStart(enum.Enum):
    """Why an episode began."""

    FIRST = 'first tick'
    CLOCK_BACK = 'clock jumped back'
    CLOCK_FORWARD = 'clock jumped forward'
    MISSION = 'mission changed'
    IDLE = 'usable values came back after an idle gap'
    LENGTH = 'longest episode reached'


class EpisodeRule:
    """Decides tick by tick whether a new episode begins, and names it.

    An idle gap ends an episode; the next begins with the first usable value after it.
    """

    def __init__(self, config: EpisodeConfig, robot_id: str) -> None:
        self._robot = robot_id or 'robot'
        self._idle_ns = nanoseconds(config.idle_gap_s)
        self._length_ns = nanoseconds(config.max_length_s)
        self._due: EpisodeStart | None = EpisodeStart.FIRST
        self._began_ns = 0
        self._usable_ns: int | None = None
        self._mission: str | None = None
        self._passes = 0
        self.name = ''

    def clock_jumped(self, back: bool) -> None:
        """Have the next tick begin an episode."""
        if back:
            self._passes += 1
        self._usable_ns = None
        self._due = EpisodeStart.CLOCK_BACK if back else EpisodeStart.CLOCK_FORWARD

    def at(self, end_ns: int, usable: bool, missions: list[str]) -> EpisodeStart | None:
        """Tell why an episode begins with the tick that ends at `end_ns`, None if none does.

        Args:
            end_ns: End of the tick.
            usable: Whether any signal got a usable value in this tick.
            missions: Texts that the mission topic brought in this tick, oldest first.
        """
        why = self._due
        if missions and any(text != self._mission for text in missions):
            why = why or EpisodeStart.MISSION
        if usable and self._usable_ns is not None and end_ns - self._usable_ns >= self._idle_ns:
            why = why or EpisodeStart.IDLE
        if end_ns - self._began_ns >= self._length_ns:
            why = why or EpisodeStart.LENGTH
        if missions:
            self._mission = missions[-1]
        if usable:
            self._usable_ns = end_ns
        if why is not None:
            self._due = None
            self._began_ns = end_ns
            self.name = self._name(end_ns)
        return why

    def _name(self, end_ns: int) -> str:
        seconds, rest = divmod(end_ns, 1_000_000_000)
        at = datetime.fromtimestamp(seconds, timezone.utc)
        name = f'{self._robot}-{at:%Y%m%dT%H%M%S}.{rest // 1_000_000:03d}'
        # A bag that loops under its own clock passes the same time again: another episode.
        return f'{name}-{self._passes + 1}' if self._passes else name
