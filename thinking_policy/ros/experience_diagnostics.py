# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the experience node says of itself on /diagnostics.

The contract: one status of the recording, of the buffer, of each topic and of the clock, and of
uplink and downlink (`fleet_diagnostics`) where a server is named. Names begin with
`thinking_experience: ` (in a namespace, `thinking_experience: /robot1 `); `hardware_id` is the
robot's name. Counts are since activation, those of the buffer since this node opened the file.

- `recording`: robot, joined, experiences, change, novelty, event, outcome, feedback, sample,
  thinned, crowded, amendments, heard_actions, heard_traces, heard_outcomes, heard_feedback,
  waiting, late, unplaced, unjoined_activations, unjoined_situations, broken, errors, last_error
- `buffer`: path, problem, queued, queued_bytes, queue_fill, stored, known, conflicting, dropped,
  refused, evicted_uploaded, evicted_quarantined, evicted_unlabelled, evicted_labelled,
  evicted_amendments, full, file_bytes, log_bytes, set_aside
- `topic <name>`: topic, type, publishers, rate_hz, received, lost, lost_reported, queue
- `clock`: source, now, wall, standing_still_s, newest, apart_s

Levels: ERROR is what loses experiences, or stays so until somebody changes something (a full or
read-only disk, a folder that can't be made, incompatible QoS); WARN is what passes or wants to be
looked at (a locked file, a broken one that was set aside, outcomes without a moment, silence).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thinking_policy.experience.buffer import BufferOptions, BufferStatus
from thinking_policy.experience.record import Reason
from thinking_policy.experience.store import EVICTION
from thinking_policy.ros.receiver import TopicStatus
from thinking_policy.ros.status_board import ERROR, OK, WARN, Finding

PREFIX = 'thinking_experience: '
FULL_ENOUGH = 0.5  # share of the queue from which it is said
OLDEST_WALL_NS = 1_577_836_800 * 10**9  # 2020: a clock before that was never set
MOST_APART_S = 10.0  # between this node's clock and stamps of what has just come


@dataclass(frozen=True)
class RecordingFacts:
    """How the recording stands; what is `new` came since the last time.

    Attributes:
        silent_s: Since the last moment, or since activation; steady seconds.
        grace_s: How long silence is nothing to mention.
        new: Newly unjoined, unplaced and broken messages, and errors, by name.
        last_error: The last one.
        experiences, amendments: Since activation.
    """

    silent_s: float
    grace_s: float
    new: Mapping[str, int]
    last_error: str
    experiences: int
    amendments: int


@dataclass(frozen=True)
class ClockFacts:
    """How the clocks stand; nanoseconds on each.

    Attributes:
        simulated: Whether the node follows /clock.
        now_ns: The node's clock.
        wall_ns: The machine's.
        standing_still_s: Since the node's clock moved; steady seconds.
        newest_ns: Stamp of the newest moment; None before the first.
        fresh: Whether that came within the grace time.
        grace_s: How long standing still is nothing to mention.
    """

    simulated: bool
    now_ns: int
    wall_ns: int
    standing_still_s: float
    newest_ns: int | None
    fresh: bool
    grace_s: float

    @property
    def apart_s(self) -> float:
        """How far the newest stamp is from the node's clock."""
        return 0.0 if self.newest_ns is None else (self.now_ns - self.newest_ns) * 1e-9


def recording_finding(facts: RecordingFacts) -> Finding:
    """Return how the recording stands."""
    new = facts.new
    if new.get('errors'):
        return Finding(ERROR, f'{new["errors"]} errors, the last: {facts.last_error}')
    if new.get('broken'):
        return Finding(WARN, f'{new["broken"]} messages cannot be used: {facts.last_error}')
    if facts.silent_s > facts.grace_s:
        return Finding(
            WARN,
            f'no moment for {facts.silent_s:.0f} s: is the policy node active, in this namespace?',
        )
    if new.get('unplaced'):
        return Finding(
            WARN, f'{new["unplaced"]} observations belong to no moment that is remembered or kept'
        )
    if new.get('unjoined_situations'):
        return Finding(
            WARN,
            f'{new["unjoined_situations"]} situations came without activations; '
            'the policy node publishes all of them with publish: every_tick',
        )
    if new.get('unjoined_activations'):
        return Finding(
            WARN, f'{new["unjoined_activations"]} activations came without their situation'
        )
    return Finding(OK, f'{facts.experiences} experiences, {facts.amendments} amendments')


def buffer_finding(status: BufferStatus, options: BufferOptions, newly_lost: int) -> Finding:
    """Return how the buffer stands.

    Args:
        status: As it says itself.
        options: How it is kept.
        newly_lost: Records dropped or refused since the last time.
    """
    reason = status.problem or ('there is no room, all is pinned' if status.full else '')
    if newly_lost:
        return Finding(ERROR, f'{newly_lost} records lost: {reason or "they were refused"}')
    if status.full:
        return Finding(ERROR, reason)
    if status.problem == BufferStatus().problem:
        return Finding(OK, status.problem)
    waiting = f'; {status.queued} records wait' if status.queued else ''
    if status.problem:
        return Finding(WARN if 'locked' in status.problem else ERROR, status.problem + waiting)
    if status.set_aside:
        return Finding(WARN, f'a broken file was set aside: {status.set_aside[-1]}')
    if fill(status, options) > FULL_ENOUGH:
        return Finding(WARN, f'the disk is too slow: {status.queued} records wait')
    return Finding(OK, f'{status.stored} records stored, {status.file_bytes >> 20} MiB')


def fill(status: BufferStatus, options: BufferOptions) -> float:
    """Return how full the queue is, 0…1."""
    return max(status.queued / options.queue_records, status.queued_bytes / options.queue_bytes)


def topic_finding(topic: TopicStatus, newly_lost: int) -> Finding:
    """Return how a topic stands; `newly_lost` messages since the last time."""
    if topic.problem or topic.incompatible:
        return Finding(ERROR, topic.problem or topic.incompatible)
    if newly_lost:
        return Finding(WARN, f'{newly_lost} messages lost on {topic.resolved}')
    return Finding(OK, f'{topic.received} messages, {topic.publishers} publisher(s)')


def clock_finding(clock: ClockFacts) -> Finding:
    """Return how the clocks stand."""
    if clock.wall_ns < OLDEST_WALL_NS:
        day = time.strftime('%Y-%m-%d', time.gmtime(clock.wall_ns // 10**9))
        return Finding(WARN, f"this machine's clock says {day}: it was never set")
    if clock.standing_still_s > clock.grace_s:
        return Finding(WARN, f'stands still for {clock.standing_still_s:.0f} s')
    if clock.fresh and abs(clock.apart_s) > MOST_APART_S:
        return Finding(
            WARN,
            f'moments are stamped {clock.apart_s:.0f} s from this clock: is use_sim_time the '
            'same for both nodes?',
        )
    return Finding(OK, 'sim time' if clock.simulated else 'wall time')


def recording_values(
    robot: str, counts: Counter[str], reasons: Counter[str], waiting: int, last_error: str
) -> dict[str, Any]:
    """Return the keys of the recording's status, as the contract names them."""
    return {
        'robot': robot,
        'joined': counts['joined'],
        'experiences': counts['experiences'],
        **{reason.value: reasons[reason.value] for reason in Reason},
        'thinned': reasons['thinned'],
        'crowded': reasons['crowded'],
        'amendments': counts['amendments'],
        **{f'heard_{kind}': counts[kind] for kind in ('actions', 'traces', 'outcomes')},
        'heard_feedback': counts['feedback'],
        'waiting': waiting,
        **{
            name: counts[name]
            for name in (
                'late',
                'unplaced',
                'unjoined_activations',
                'unjoined_situations',
                'broken',
                'errors',
            )
        },
        'last_error': last_error,
    }


def buffer_values(path: str, status: BufferStatus, options: BufferOptions) -> dict[str, Any]:
    """Return the keys of the buffer's status, as the contract names them."""
    return {
        'path': path,
        'problem': status.problem,
        'queued': status.queued,
        'queued_bytes': status.queued_bytes,
        'queue_fill': fill(status, options),
        **{
            name: getattr(status, name)
            for name in ('stored', 'known', 'conflicting', 'dropped', 'refused')
        },
        **{f'evicted_{kind}': status.evicted.get(kind, 0) for kind in (*EVICTION, 'amendments')},
        'full': status.full,
        'file_bytes': status.file_bytes,
        'log_bytes': status.log_bytes,
        'set_aside': '; '.join(status.set_aside),
    }


def topic_values(topic: TopicStatus) -> dict[str, Any]:
    """Return the keys of a topic's status, as the contract names them."""
    return {
        'topic': topic.resolved,
        'type': topic.type,
        'publishers': topic.publishers,
        'rate_hz': topic.rate_hz,
        'received': topic.received,
        'lost': topic.lost,
        'lost_reported': topic.lost_reported,
        'queue': topic.depth,
    }


def clock_values(clock: ClockFacts) -> dict[str, Any]:
    """Return the keys of the clock's status, as the contract names them."""
    return {
        'source': 'sim time' if clock.simulated else 'wall time',
        'now': f'{clock.now_ns * 1e-9:.3f}',
        'wall': f'{clock.wall_ns * 1e-9:.3f}',
        'standing_still_s': clock.standing_still_s,
        'newest': '' if clock.newest_ns is None else f'{clock.newest_ns * 1e-9:.3f}',
        'apart_s': clock.apart_s,
    }
