# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The one order in which a bag is replayed, to a live node as to the tracker in a file.

All that was recorded up to a tick comes first, then the clock is set to the tick's end. The bag
player publishes the steps and waits; the offline replay hands them to the tracker. Both see the
same clock values between the same messages, so both get the same tensors.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.reader import Bag
from thinking_policy.situation.configuration import SituationConfig, nanoseconds

CLOCK_TOPIC = '/clock'
CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
CLOCKS = ('auto', 'record', 'clock')
MOST_HELD = 10_000  # messages between two clock values; memory stays flat
LONGEST_SILENCE_S = 600.0  # a recording paused for longer is not walked through tick by tick

_TIME = (struct.Struct('>iI'), struct.Struct('<iI'))  # by CDR byte order: seconds, nanoseconds


@dataclass(frozen=True)
class ReplayGrid:
    """Where the clock stops on its way through a bag.

    Attributes:
        tick_period_ns: Ticks end at multiples of it.
        lateness_ns: Header time: the clock stops this much after a tick's end. Else 0.
        clock_jump_ns: A recorded clock that steps further is set, not walked.
        longest_silence_ns: Record time: a pause longer than this is jumped over.
    """

    tick_period_ns: int
    lateness_ns: int = 0
    clock_jump_ns: int = 10_000_000_000
    longest_silence_ns: int = round(LONGEST_SILENCE_S * 1e9)


class Play(NamedTuple):  # one for each message: made in a third of a dataclass's time
    """A message to publish, or to hand to the tracker.

    `received_ns` is the clock value of the `Advance` that follows: when a node under simulated
    time takes the message in.
    """

    topic: str
    raw: bytes
    record_ns: int
    received_ns: int


class Advance(NamedTuple):
    """A clock value to publish; `jump` where the clock did not walk there."""

    clock_ns: int
    jump: bool = False


Step = Play | Advance


def replay_grid(config: SituationConfig) -> ReplayGrid:
    """Return the grid on which a configuration's situations are due."""
    header = config.time_source == 'header' or any(
        signal.time_source == 'header' for signal in config.signals
    )
    return ReplayGrid(
        config.tick_period_ns,
        nanoseconds(config.lateness_s) if header else 0,
        # A tick longer than the jump would make every tick one.
        max(nanoseconds(config.clock_jump_s), 2 * config.tick_period_ns),
        # Within the idle gap an episode goes on, so it is walked however long it is.
        max(nanoseconds(LONGEST_SILENCE_S), nanoseconds(config.episode.idle_gap_s)),
    )


def clock_of(bag: Bag, clock: str = 'auto') -> str:
    """Return whether a bag is replayed by its `clock` topic or by `record` time.

    Raises:
        BagError: `clock` is asked for and not in the bag, or is no such word.
    """
    if clock not in CLOCKS:
        raise BagError(f'clock: expected one of {", ".join(CLOCKS)}, found {clock!r}')
    topic = bag.topic(CLOCK_TOPIC)
    usable = topic is not None and topic.type == CLOCK_TYPE and topic.count > 0
    if clock == 'clock' and not usable:
        raise BagError(f'{bag.path}: no message on {CLOCK_TOPIC}; replay it with clock: record')
    return 'clock' if usable and clock != 'record' else 'record'


def lockstep(
    bag: Bag, topics: Collection[str], grid: ReplayGrid, clock: str = 'auto'
) -> Iterator[Step]:
    """Yield messages and clock values in the order of replay.

    The clock starts with the first tick that ends at or after the bag's first message, of any
    topic, and ends past the last one (plus the lateness). A clock that jumps is set to the stop
    before the new time, so that the first message after it is fed to an open tick.

    Args:
        bag: An opened bag.
        topics: Names of the bag's topics to play; `/clock` itself is never played.
        grid: Where the clock stops.
        clock: `record`: time of recording; `clock`: the recorded clock; `auto`: the recorded
            clock where there is one.

    Raises:
        BagError: `clock` is asked for and not in the bag.
    """
    played = frozenset(topics) - {CLOCK_TOPIC}
    by = _by_recorded_clock if clock_of(bag, clock) == 'clock' else _by_record_time
    return by(bag, played, grid)


def _by_record_time(bag: Bag, topics: Collection[str], grid: ReplayGrid) -> Iterator[Step]:
    due: int | None = None
    last = arrived = 0
    for topic, record_ns, raw in bag.messages(topics):
        if due is None:
            # A damaged index may promise a later start than there is.
            near = 0 <= record_ns - bag.start_ns <= grid.longest_silence_ns
            due = _stop_from(bag.start_ns if near else record_ns, grid)
        elif record_ns - last > grid.longest_silence_ns:
            yield from _walk_past(last, due, grid)
            due = _stop_from(record_ns, grid)
            yield Advance(due - grid.tick_period_ns, jump=True)
        while due < record_ns:
            yield Advance(due)
            due += grid.tick_period_ns
        yield Play(topic, raw, record_ns, due)
        arrived = due
        if record_ns > last:
            last = record_ns
    if due is not None:
        near = bag.end_ns - last <= grid.longest_silence_ns
        end = bag.end_ns if near else last
        yield from _walk_past(max(end, arrived - grid.lateness_ns), due, grid)


def _by_recorded_clock(bag: Bag, topics: Collection[str], grid: ReplayGrid) -> Iterator[Step]:
    clock = next(_clock_values(bag), None)
    if clock is None:
        raise BagError(f'{bag.path}: {CLOCK_TOPIC} holds no time; replay it with clock: record')
    due = _stop_from(clock, grid)
    arrived = 0
    # Held back until it is known which clock value follows: it may be one after a jump.
    held: list[tuple[str, bytes, int]] = []
    for topic, record_ns, raw in bag.messages((*topics, CLOCK_TOPIC)):
        if topic != CLOCK_TOPIC:
            held.append((topic, raw, record_ns))
            if len(held) >= MOST_HELD:
                arrived = due
                yield from _release(held, due)
            continue
        now = _clock_value(raw)
        if now is None:
            bag.problems[f'{CLOCK_TOPIC}: not a clock'] += 1
            continue
        if now - clock > grid.clock_jump_ns or now < due - grid.tick_period_ns:
            due = _stop_from(now, grid)
            before = due - grid.tick_period_ns
            arrived = before if held else min(arrived, before)
            yield from _release(held, before)
            yield Advance(before, jump=True)
        while due <= now:
            arrived = due if held else arrived
            yield from _release(held, due)
            yield Advance(due)
            due += grid.tick_period_ns
        clock = now
    arrived = due if held else arrived
    yield from _release(held, due)
    yield from _walk_past(max(clock, arrived - grid.lateness_ns), due, grid)


def _release(held: list[tuple[str, bytes, int]], received_ns: int) -> Iterator[Play]:
    """Yield what was held back, received at the clock value that follows, and empty the list."""
    for topic, raw, record_ns in held:
        yield Play(topic, raw, record_ns, received_ns)
    held.clear()


def _walk_past(end_ns: int, due: int, grid: ReplayGrid) -> Iterator[Step]:
    """Go on until messages that were stamped, or arrived, at the end are in a closed tick."""
    period, lateness = grid.tick_period_ns, grid.lateness_ns
    final = -(-(end_ns + lateness) // period) * period + lateness
    while due <= final:
        yield Advance(due)
        due += period


def _stop_from(time_ns: int, grid: ReplayGrid) -> int:
    """Return the first value at or after a time at which the clock stops.

    Never 0 or less: to a node under simulated time that is no time yet.
    """
    period, lateness = grid.tick_period_ns, grid.lateness_ns
    return max(1, -(-(time_ns - lateness) // period)) * period + lateness


def _clock_values(bag: Bag) -> Iterator[int]:
    for _, _, raw in bag.messages((CLOCK_TOPIC,)):
        value = _clock_value(raw)
        if value is not None:
            yield value


def _clock_value(raw: bytes) -> int | None:
    if len(raw) < 12 or raw[0] != 0 or raw[1] > 1:
        return None
    seconds, nanoseconds = _TIME[raw[1]].unpack_from(raw, 4)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
