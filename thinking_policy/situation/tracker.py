# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Messages and the time in, situations out: the same for a live robot and for a bag."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thinking_policy.situation.cdr import compile_reader, stamp_reader
from thinking_policy.situation.configuration import SituationConfig, nanoseconds
from thinking_policy.situation.counters import Counters, SignalCounts, TopicCounts
from thinking_policy.situation.episodes import EpisodeRule
from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.event_messages import payload_reader
from thinking_policy.situation.events import DiagnosticWatch, LimitWatch, topic_code
from thinking_policy.situation.intake import Columns, Grid, Intake, Jump, Rows
from thinking_policy.situation.memory import EventMemory
from thinking_policy.situation.message_types import MessageType, full_name
from thinking_policy.situation.requests import TopicRequest, topic_requests
from thinking_policy.situation.signals import SignalTrack, to_unit
from thinking_policy.situation.situation import Event, EventKind, Reading, Situation
from thinking_policy.situation.window import Window

MAX_NEW_EVENTS = 1000  # of one tick, the newest; more than that is a flood


class SituationTracker:
    """Turns a stream of (topic, raw message, time) into one situation per tick.

    Tick k ends at k × tick period on the clock in use and covers the time since tick k-1, so
    that ticks are the same whenever the tracker starts. `receive` may be called any number of
    times between two calls of `advance`. By header time, what comes out depends on the messages'
    stamps and not on their order of arrival; by receive time, that order tells equal stamps of
    one topic apart. All of it runs in one thread: the caller's.
    """

    def __init__(
        self,
        config: SituationConfig,
        *,
        robot_id: str = '',
        recalled: Mapping[str, Any] | None = None,
    ) -> None:
        """Prepare for messages; nothing counts before the first `advance`.

        Args:
            config: What the robot perceives.
            robot_id: Begins the names of episodes.
            recalled: What `recalled_table` returned before a restart.

        Raises:
            SituationError: `recalled` is not such a table, or the configuration contradicts
                itself about a topic.
        """
        self.config = config
        self.requests = topic_requests(config)
        self.counters = Counters(
            topics={request.topic: TopicCounts() for request in self.requests},
            signals={signal.name: SignalCounts() for signal in config.signals},
        )
        self._intakes = {topic: Intake(counts) for topic, counts in self.counters.topics.items()}
        self._names = config.names
        self._signal_counts = [self.counters.signals[name] for name in config.names]
        self._period_ns = config.tick_period_ns
        # A tick longer than the jump would make every tick one.
        self._jump_ns = max(nanoseconds(config.clock_jump_s), 2 * self._period_ns)
        by_header = any(request.by_header for request in self.requests)
        self._lateness_ns = nanoseconds(config.lateness_s) if by_header else 0
        self._tracks = [SignalTrack(signal) for signal in config.signals]
        self._limits = [LimitWatch(signal) for signal in config.signals]
        self._diagnostics = DiagnosticWatch(config.events.diagnostics_exclude, config.events.known)
        self._window = Window(
            config.window_length,
            [(signal.nominal_low, signal.nominal_high) for signal in config.signals],
        )
        self._memory = EventMemory(config.events.recent, config.events.known)
        self._episode = EpisodeRule(config.episode, robot_id)
        self._now_ns: int | None = None
        self._open_tick = 0
        if recalled is not None:
            self._memory.restore(recalled)

    def bind(self, topic: str, message_type: MessageType) -> None:
        """Say what the messages of a requested topic are; those before are only counted.

        Raises:
            SituationError: The topic was not requested, has another type than configured, or
                a signal's field does not exist in it; the message lists what does.
        """
        request = next((r for r in self.requests if r.topic == topic), None)
        if request is None:
            raise SituationError(f'{topic}: expected one of {[r.topic for r in self.requests]}')
        if full_name(message_type.name) != request.type:
            raise SituationError(
                f'{topic}: expected {request.type} as configured, found {message_type.name}'
            )
        try:
            payload = payload_reader(request, message_type)
        except SituationError as error:
            raise SituationError(f'{topic}: {error}') from error
        readers = []
        for index in request.signals:
            signal = self.config.signals[index]
            try:
                reader = compile_reader(
                    message_type, signal.field, signal.within_message, signal.sentinels
                )
            except SituationError as error:
                raise SituationError(f'signal {signal.name}: {topic}: {error}') from error
            readers.append((reader, functools.partial(to_unit, signal)))
        self._intakes[topic].bind(
            Columns(
                tuple(readers),
                stamp_reader(message_type),
                request.by_header,
                payload,
                self._period_ns,
            )
        )

    def receive(
        self, topic: str, raw: bytes, received_ns: int, arrival_ns: int | None = None
    ) -> None:
        """Take a raw CDR message.

        Args:
            topic: One of `requests`.
            raw: The message with its encapsulation.
            received_ns: When, on the clock in use.
            arrival_ns: When, on a finer clock, which decides between equal receive times: the
                middleware's or the recorder's. None: the same.
        """
        arrival_ns = received_ns if arrival_ns is None else arrival_ns
        self.receive_all(topic, [raw], [received_ns], [arrival_ns])

    def receive_all(
        self,
        topic: str,
        raws: Sequence[bytes],
        received_ns: Sequence[int],
        arrival_ns: Sequence[int],
    ) -> None:
        """Take n messages of a topic at once; the arguments are those of `receive`, each [n]."""
        intake = self._intakes.get(topic)
        if intake is None:
            self.counters.unknown_topic += len(raws)
            return
        intake.receive(raws, received_ns, arrival_ns)

    def read(
        self,
        topic: str,
        raws: Sequence[bytes],
        received_ns: Sequence[int],
        arrival_ns: Sequence[int],
    ) -> Rows:
        """Read n messages of a bound topic ahead of time, for `receive_rows`.

        Many at once cost far less than a few at each tick.
        """
        return self._intakes[topic].read(raws, received_ns, arrival_ns)

    def receive_rows(self, topic: str, rows: Rows, sizes: Sequence[int]) -> None:
        """Take n messages that `read` has read, as `receive_all` does; `sizes` in bytes."""
        self._intakes[topic].receive_rows(rows, sizes)

    def advance(self, now_ns: int) -> list[Situation]:
        """Close the ticks that are due at `now_ns` and return their situations, oldest first.

        Where the clock went back or jumped ahead, what was waiting is dropped and the tick of
        `now_ns` begins a new episode; the ticks between do not exist.
        """
        jump = self._jump(now_ns)
        if self._now_ns is None or jump is not Jump.NONE:
            self._open_tick = self._tick_due(now_ns)
        if jump is not Jump.NONE:
            self._start_anew(jump)
        self._now_ns = now_ns
        grid = Grid(self._period_ns, self._open_tick, now_ns, self._jump_ns, jump)
        for intake in self._intakes.values():
            intake.ingest(grid)
        situations = []
        while self._open_tick * self._period_ns + self._lateness_ns <= now_ns:
            situations.append(self._close(self._open_tick))
            self._open_tick += 1
        return situations

    def next_due_ns(self, now_ns: int) -> int:
        """Return the time at which `advance` is next worth calling; past times mean now."""
        fresh = self._now_ns is None or self._jump(now_ns) is not Jump.NONE
        tick = self._tick_due(now_ns) if fresh else self._open_tick
        return tick * self._period_ns + self._lateness_ns

    def recalled_table(self) -> dict[str, Any]:
        """Return the last occurrence of every known code, for JSON; see `recalled`."""
        return self._memory.table()

    def _jump(self, now_ns: int) -> Jump:
        if self._now_ns is None or self._now_ns <= now_ns <= self._now_ns + self._jump_ns:
            return Jump.NONE
        return Jump.BACK if now_ns < self._now_ns else Jump.FORWARD

    def _tick_due(self, now_ns: int) -> int:
        return max(1, -(-(now_ns - self._lateness_ns) // self._period_ns))

    def _start_anew(self, jump: Jump) -> None:
        if jump is Jump.BACK:
            self.counters.jumps_back += 1
        else:
            self.counters.jumps_forward += 1
        self._episode.clock_jumped(back=jump is Jump.BACK)
        for track in self._tracks:
            track.forget()

    def _close(self, tick: int) -> Situation:
        end_ns = tick * self._period_ns
        batches = [(request, self._intakes[request.topic].take(tick)) for request in self.requests]
        arrived = [(request, rows) for request, rows in batches if rows is not None]
        self._begin_episode_if_due(end_ns, arrived)
        for request, rows in arrived:
            self._add_values(request, rows)
        readings, limits = self._complete_samples(tick, end_ns)
        new_events = self._new_events(end_ns, arrived, limits)
        window, valid = self._window.snapshot()
        self.counters.ticks += 1
        return Situation(
            stamp_ns=end_ns,
            tick=tick,
            episode=self._episode.name,
            period_s=self.config.tick_period_s,
            signals=self._names,
            window=window,
            valid=valid,
            readings=readings,
            new_events=new_events,
            events=self._memory.recent(),
            recalled=self._memory.recalled(end_ns),
        )

    def _begin_episode_if_due(self, end_ns: int, arrived: list[tuple[TopicRequest, Rows]]) -> None:
        usable = any(np.count_nonzero(rows.usable) for _, rows in arrived)
        missions = sorted(
            (int(stamp), text)
            for request, rows in arrived
            if request.mission
            for stamp, text in zip(rows.stamps, rows.payloads, strict=True)
            if text is not None
        )
        why = self._episode.at(end_ns, usable, [text for _, text in missions])
        if why is None:
            return
        counts = self.counters.episodes
        counts[why.value] = counts.get(why.value, 0) + 1
        self._window.clear()
        self._memory.begin_episode()
        for track, limit in zip(self._tracks, self._limits, strict=True):
            track.forget_period()
            limit.rearm()

    def _add_values(self, request: TopicRequest, rows: Rows) -> None:
        if not request.signals:
            return
        sound = len(rows) - int(np.count_nonzero(rows.broken))
        newest_ns = int(rows.stamps.max())
        for column, index in enumerate(request.signals):
            self._tracks[index].add(rows.stamps, rows.values[:, column], rows.arrivals, newest_ns)
            usable = int(np.count_nonzero(rows.usable[:, column]))
            counts = self._signal_counts[index]
            counts.usable += usable
            counts.invalid += sound - usable

    def _complete_samples(self, tick: int, end_ns: int) -> tuple[tuple[Reading, ...], list[Event]]:
        """End the sampling periods that end with this tick.

        Returns:
            How each signal stands then, and the limits that were crossed.
        """
        readings, events = [], []
        for column, track in enumerate(self._tracks):
            if track.completes(tick):
                self._window.push(column, track.complete(end_ns))
            readings.append(reading := track.reading(end_ns))
            events += self._limits[column].at(end_ns, reading)
        return tuple(readings), events

    def _new_events(
        self, end_ns: int, arrived: list[tuple[TopicRequest, Rows]], limits: list[Event]
    ) -> tuple[Event, ...]:
        if not limits and not any(r.diagnostics or r.events for r, _ in arrived):
            return ()  # as nearly always
        events = limits
        statuses: list[tuple[int, str, int]] = []
        for request, rows in arrived:
            if not (request.diagnostics or request.events):
                continue
            for stamp, payload in zip(rows.stamps.tolist(), rows.payloads, strict=True):
                if payload is None:
                    continue
                if request.diagnostics:
                    statuses += [(stamp, name, level) for name, level in payload]
                if request.events and (code := topic_code(payload)):
                    events.append(Event(stamp, EventKind.TOPIC, code, request.topic, math.nan))
                elif request.events and not request.mission:
                    self._intakes[request.topic].leave_out_empty()
        events += self._diagnostics.at(statuses)
        events.sort(
            key=lambda event: (event.stamp_ns, event.kind, event.code, event.source, event.value)
        )
        self.counters.events_surplus += len(events[:-MAX_NEW_EVENTS])
        events = events[-MAX_NEW_EVENTS:]
        self._memory.add(events)
        for event in events:
            kind = event.kind.name
            self.counters.events[kind] = self.counters.events.get(kind, 0) + 1
        self.counters.unknown_level = self._diagnostics.unknown_level
        self.counters.names_forgotten = self._diagnostics.forgotten
        self.counters.codes_forgotten = self._memory.forgotten
        return tuple(events)
