# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Where events come from: a signal crossing a limit, a diagnostic changing its level, a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from thinking_policy.situation.configuration import SignalConfig
from thinking_policy.situation.situation import Event, EventKind, Reading, SignalState

MAX_CODE = 128  # characters; longer texts are cut, as are names of diagnostics
LEVELS = ('ok', 'warn', 'error', 'stale')  # diagnostic_msgs/DiagnosticStatus


class LimitWatch:
    """Raises `<signal>_high` and `<signal>_low` once each time a limit is crossed.

    The next event of the same kind needs the value to have been back inside by the hysteresis,
    or a new episode.
    """

    def __init__(self, config: SignalConfig) -> None:
        self._config = config
        self._high = self._low = False

    def rearm(self) -> None:
        """Let a value beyond a limit raise its event again."""
        self._high = self._low = False

    def at(self, end_ns: int, reading: Reading) -> list[Event]:
        """Return what the value of one tick raises; only values that are OK count."""
        if reading.state != SignalState.OK:
            return []
        config, value = self._config, reading.value
        events = []
        if value > config.limit_high and not self._high:
            self._high = True
            events.append(self._event(end_ns, 'high', value))
        elif value < config.limit_high - config.limit_hysteresis:
            self._high = False
        if value < config.limit_low and not self._low:
            self._low = True
            events.append(self._event(end_ns, 'low', value))
        elif value > config.limit_low + config.limit_hysteresis:
            self._low = False
        return events

    def _event(self, end_ns: int, side: str, value: float) -> Event:
        name = self._config.name
        return Event(end_ns, EventKind.LIMIT, f'{name}_{side}', name, value)


class DiagnosticWatch:
    """Raises an event where a diagnostic status changes its level.

    A name seen for the first time is a change if its level is not OK.

    Attributes:
        forgotten: Names dropped because there were more than `known`; the longest unseen first.
        unknown_level: Statuses left out because their level is none of OK, WARN, ERROR, STALE.
    """

    def __init__(self, exclude: Sequence[str], known: int) -> None:
        self._exclude = tuple(exclude)
        self._known = known
        self._levels: dict[str, int] = {}
        self.forgotten = 0
        self.unknown_level = 0

    def at(self, statuses: Iterable[tuple[int, str, int]]) -> list[Event]:
        """Return the events of (stamp, name, level) of one tick, given in any order."""
        events = []
        for stamp_ns, name, level in sorted(statuses):
            if self._exclude and name.startswith(self._exclude):
                continue
            name = name[:MAX_CODE]
            if not 0 <= level < len(LEVELS):
                self.unknown_level += 1
                continue
            before = self._levels.pop(name, 0)
            self._levels[name] = level
            if level != before:
                code = f'diag_{slug(name)}_{LEVELS[level]}'
                events.append(Event(stamp_ns, EventKind.DIAGNOSTIC, code, name, float(level)))
        while len(self._levels) > self._known:
            del self._levels[next(iter(self._levels))]
            self.forgotten += 1
        return events


def slug(name: str) -> str:
    """Return a name as lower-case words joined by `_`, at most 96 characters."""
    words = re.sub(r'[^0-9a-z]+', '_', name.lower()).strip('_')[:96]
    return words or 'unnamed'


def topic_code(text: str) -> str:
    """Return the code that a text on an event topic stands for; empty: none."""
    return text.strip()[:MAX_CODE].strip()
