# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the policy node says of itself on /diagnostics.

The contract: one status per signal, one of the policy, of the calibration and of the clock.
Names begin with `thinking_policy: ` (in a namespace, `thinking_policy: /robot1 `); `hardware_id`
is the `robot_id`. Numbers are plain, counts are since activation.

- `signal <name>`: state, value, unit, age_s, topic, type, publishers, rate_hz, received, lost
  (gaps in the publishers' numbers), lost_reported (by the middleware), queue, used, invalid, late,
  future, unstamped, broken, dropped
- `policy`: version, path, active, ticks, inferences, inference_p50_ms, inference_p99_ms, novelty,
  valid_fraction, warnings, errors, last_error, events_forgotten, state_file, state_failures
- `calibration`: state (none, running, done, failed, cancelled), ticks, of, calibrated_signals
- `clock`: source, now, standing_still_s, tick, behind_ticks, jumps_back, jumps_forward, episode,
  episodes

Levels: ERROR is what stays so until somebody changes something (a type that isn't installed,
incompatible QoS, another type on the topic, failing inference); WARN is a sensor that is silent
or sends nothing usable, lost messages, a calibration that failed or is not kept, a clock that
stands still.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thinking_policy.ros.live_calibration import CalibrationProgress, CalibrationState
from thinking_policy.ros.receiver import TopicStatus
from thinking_policy.ros.running_policy import RunningPolicy
from thinking_policy.ros.status_board import ERROR, OK, WARN, Finding
from thinking_policy.situation import (
    Counters,
    Reading,
    SignalConfig,
    SignalState,
    SituationConfig,
)

PREFIX = 'thinking_policy: '


@dataclass(frozen=True)
class ClockFacts:
    """How the node's clock and its ticks stand; times in seconds, `now_ns` on that clock."""

    simulated: bool
    now_ns: int
    standing_still_s: float
    silent_after_s: float
    tick: int
    behind_ticks: int
    episode: str


def signal_finding(
    signal: SignalConfig,
    reading: Reading | None,
    topic: TopicStatus | None,
    *,
    waited_s: float,
    grace_s: float,
    elsewhere: str,
    newly_lost: int,
) -> Finding:
    """Return how a signal stands.

    Args:
        signal: Its configuration.
        reading: Its reading of the last tick; None before the first.
        topic: Its topic; None where it has none.
        waited_s: Time since activation, steady seconds.
        grace_s: How long silence is nothing to mention.
        elsewhere: What the graph offers instead of a missing publisher; may be empty.
        newly_lost: Messages lost since the last time.
    """
    if topic is None:
        return Finding(OK, 'this robot has no such signal')
    if topic.problem:
        return Finding(ERROR, topic.problem)
    state = SignalState.NEVER if reading is None else reading.state
    if topic.incompatible and state is not SignalState.OK:
        return Finding(ERROR, topic.incompatible)
    if state is SignalState.NEVER:
        if waited_s < grace_s:
            return Finding(OK, f'waiting for the first message on {topic.resolved}')
        return Finding(ERROR if 'published as' in elsewhere else WARN, _silence(topic, elsewhere))
    if state is SignalState.STALE:
        gone = '' if topic.publishers else f', no publisher on {topic.resolved} any more'
        return Finding(WARN, f'stale: no message for {reading.age_s:.1f} s{gone}')
    if state is SignalState.INVALID:
        return Finding(
            WARN,
            f'invalid: no usable value in the newest messages on {topic.resolved} '
            '(NaN, Inf, sentinel or out of the valid range)',
        )
    if newly_lost:
        return Finding(WARN, f'{newly_lost} messages lost on {topic.resolved}')
    return Finding(OK, f'{reading.value:.6g} {signal.unit}'.strip())


def signal_values(
    signal: SignalConfig, reading: Reading | None, topic: TopicStatus | None, counters: Counters
) -> dict[str, Any]:
    """Return the keys of a signal's status, as the contract names them."""
    state = SignalState.NEVER if reading is None else reading.state
    values: dict[str, Any] = {
        'state': state.name.lower(),
        'value': math.nan if reading is None else reading.value,
        'unit': signal.unit,
        'age_s': -1.0 if reading is None else reading.age_s,
    }
    if topic is None:
        return values
    counts = counters.topics[topic.topic]
    values.update(
        topic=topic.resolved,
        type=topic.type,
        publishers=topic.publishers,
        rate_hz=topic.rate_hz,
        received=topic.received,
        lost=topic.lost,
        lost_reported=topic.lost_reported,
        queue=topic.depth,
        used=counts.used,
        invalid=counters.signals[signal.name].invalid,
        late=counts.late,
        future=counts.future,
        unstamped=counts.unstamped,
        broken=counts.broken,
        dropped=counts.overflow + counts.jumped + counts.unbound,
    )
    return values


def policy_finding(
    policy: RunningPolicy, active: Sequence[str], newly_failed: int, last_error: str
) -> Finding:
    """Return how the policy stands.

    Args:
        policy: What runs.
        active: Ids of what is active.
        newly_failed: Errors since the last time.
        last_error: The last of them.
    """
    if newly_failed:
        return Finding(ERROR, f'{newly_failed} errors, the last: {last_error}')
    listed = f': {", ".join(active)}' if active else ''
    return Finding(OK, f'{len(active)} of {len(policy.ids)} active{listed}')


def calibration_finding(progress: CalibrationProgress, config: SituationConfig) -> Finding:
    """Return how the calibration stands, and what is normal meanwhile."""
    if progress.state is CalibrationState.FAILED:
        return Finding(WARN, f'failed: {progress.message}')
    if progress.unkept:
        return Finding(WARN, f'a restart will forget what was learned: {progress.unkept}')
    if progress.state is not CalibrationState.NONE:
        return Finding(OK, f'{progress.state.value}: {progress.message}')
    count = _calibrated(config)
    if not count:
        return Finding(OK, 'none: the nominal ranges say what is normal')
    return Finding(OK, f'none: the baseline of {count} signals was given')


def calibration_values(progress: CalibrationProgress, config: SituationConfig) -> dict[str, Any]:
    """Return the keys of the calibration's status, as the contract names them."""
    return {
        'state': progress.state.value,
        'ticks': progress.ticks,
        'of': progress.of,
        'calibrated_signals': _calibrated(config),
    }


def clock_finding(clock: ClockFacts) -> Finding:
    """Return how the clock stands."""
    if clock.simulated and clock.now_ns == 0:
        level = WARN if clock.standing_still_s > clock.silent_after_s else OK
        return Finding(level, 'use_sim_time is set, but nothing came on /clock yet')
    if clock.standing_still_s > clock.silent_after_s:
        return Finding(WARN, f'stands still for {clock.standing_still_s:.0f} s')
    if clock.behind_ticks > 1:
        return Finding(WARN, f'{clock.behind_ticks} ticks behind: this machine is too busy')
    return Finding(OK, 'sim time' if clock.simulated else 'wall time')


def clock_values(clock: ClockFacts, counters: Counters) -> dict[str, Any]:
    """Return the keys of the clock's status, as the contract names them."""
    return {
        'source': 'sim time' if clock.simulated else 'wall time',
        'now': f'{clock.now_ns * 1e-9:.3f}',
        'standing_still_s': clock.standing_still_s,
        'tick': clock.tick,
        'behind_ticks': clock.behind_ticks,
        'jumps_back': counters.jumps_back,
        'jumps_forward': counters.jumps_forward,
        'episode': clock.episode,
        'episodes': sum(counters.episodes.values()),
    }


def _calibrated(config: SituationConfig) -> int:
    return sum(not math.isnan(signal.baseline_mean) for signal in config.signals)


def _silence(topic: TopicStatus, elsewhere: str) -> str:
    if topic.publishers:
        return f'{topic.publishers} publisher(s) on {topic.resolved}, but no message came yet'
    hint = f'; {elsewhere}' if elsewhere else ''
    return f'no publisher on {topic.resolved} ({topic.type}){hint}'
