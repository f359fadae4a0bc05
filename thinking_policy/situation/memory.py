# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The recent events of an episode, and the last occurrence of every code ever seen."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.events import MAX_CODE
from thinking_policy.situation.signals import LARGEST
from thinking_policy.situation.situation import Event, EventKind, Recalled

TABLE_VERSION = 1
MAX_COUNT = 2**32 - 1  # what Situation.msg can carry


class EventMemory:
    """Bounded memory of events; the table of last occurrences outlives episodes and restarts.

    Attributes:
        forgotten: Codes dropped from the table because there were more than `known`; the one
            whose last occurrence is longest ago goes first.
    """

    def __init__(self, recent: int, known: int) -> None:
        self._recent: deque[Event] = deque(maxlen=recent)
        self._known = known
        self._last: dict[str, Recalled] = {}  # the code that occurred last stands last
        self._recalled: tuple[Recalled, ...] | None = None
        self.forgotten = 0

    def begin_episode(self) -> None:
        """Empty the recent events; the table keeps their codes."""
        self._recent.clear()
        self._recalled = None

    def add(self, events: Sequence[Event]) -> None:
        """Take the events of one tick, oldest first."""
        for event in events:
            self._recent.append(event)
            before = self._last.pop(event.code, None)
            count = min(before.count + 1, MAX_COUNT) if before else 1
            self._last[event.code] = Recalled(event, count)
        self._forget_surplus()
        if events:
            self._recalled = None

    def recent(self) -> tuple[Event, ...]:
        """Return the last events of the episode, newest last."""
        return tuple(self._recent)

    def recalled(self, now_ns: int) -> tuple[Recalled, ...]:
        """Return the last occurrences of codes that are not among the recent events.

        Oldest first. What is stamped after `now_ns` is left out: it came from before a restart
        or a jump back, on a clock that this one has not caught up with.
        """
        if self._recalled is None:
            recent = {event.code for event in self._recent}
            self._recalled = tuple(
                sorted(
                    (entry for code, entry in self._last.items() if code not in recent),
                    key=lambda entry: (entry.event.stamp_ns, entry.event.code),
                )
            )
        found = self._recalled
        if found and found[-1].event.stamp_ns > now_ns:
            return tuple(entry for entry in found if entry.event.stamp_ns <= now_ns)
        return found

    def table(self) -> dict[str, Any]:
        """Return the table of last occurrences in a form that JSON can hold."""
        return {
            'version': TABLE_VERSION,
            'events': [
                {
                    'code': code,
                    'stamp_ns': entry.event.stamp_ns,
                    'kind': entry.event.kind.name,
                    'source': entry.event.source,
                    'count': entry.count,
                    'value': entry.event.value if math.isfinite(entry.event.value) else None,
                }
                for code, entry in self._last.items()
            ],
        }

    def restore(self, table: Mapping[str, Any]) -> None:
        """Take over a table made by `table`, all of it or nothing.

        Raises:
            SituationError: Not such a table; says what was found.
        """
        where = 'table of last occurrences'
        if not isinstance(table, Mapping) or table.get('version') != TABLE_VERSION:
            version = table.get('version') if isinstance(table, Mapping) else table
            raise SituationError(
                f'{where}: expected version {TABLE_VERSION}, found {_short(version)}'
            )
        events = table.get('events')
        if not isinstance(events, (list, tuple)):
            raise SituationError(f'{where}: expected a list of events, found {_short(events)}')
        entries = [_entry(item, f'{where}: event {index}') for index, item in enumerate(events)]
        entries.sort(key=lambda entry: (entry.event.stamp_ns, entry.event.code))
        restored = {entry.event.code: entry for entry in entries}
        if len(restored) != len(entries):
            raise SituationError(f'{where}: a code stands there twice')
        self._last = restored
        self._forget_surplus()
        self._recalled = None

    def _forget_surplus(self) -> None:
        while len(self._last) > self._known:
            del self._last[next(iter(self._last))]
            self._recalled = None
            self.forgotten += 1


def _entry(item: Any, where: str) -> Recalled:
    if not isinstance(item, Mapping):
        raise SituationError(f'{where}: expected names and values, found {_short(item)}')
    code, source, kind = item.get('code'), item.get('source'), item.get('kind')
    stamp_ns, count, value = item.get('stamp_ns'), item.get('count'), item.get('value')
    if not isinstance(code, str) or not 0 < len(code) <= MAX_CODE:
        raise SituationError(f'{where}: code: expected a short text, found {_short(code)}')
    if not isinstance(source, str):
        raise SituationError(f'{where}: source: expected a text, found {_short(source)}')
    if not isinstance(kind, str) or kind not in EventKind.__members__:
        raise SituationError(
            f'{where}: kind: expected one of {list(EventKind.__members__)}, found {_short(kind)}'
        )
    if type(stamp_ns) is not int or not 0 <= stamp_ns < 2**63:
        raise SituationError(
            f'{where}: stamp_ns: expected nanoseconds since 1970, found {_short(stamp_ns)}'
        )
    if type(count) is not int or not 1 <= count <= MAX_COUNT:
        raise SituationError(f'{where}: count: expected a number from 1 on, found {_short(count)}')
    if value is not None and (type(value) not in (int, float) or not abs(value) <= LARGEST):
        raise SituationError(f'{where}: value: expected a number or null, found {_short(value)}')
    event = Event(
        stamp_ns, EventKind[kind], code, source, math.nan if value is None else float(value)
    )
    return Recalled(event, count)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f'{text[:77]}...'
