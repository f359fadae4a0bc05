# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Lives of robots that were not trained on: what a policy says of them, and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.activation import DEFAULT_HOLD_S, ActivationFilter
from thinking_policy.policy.activities import ThinkingActivity
from thinking_policy.training.export import Predict
from thinking_policy.training.lives import (
    AS_TRAINED,
    Disturbance,
    Recording,
    draw_recording,
    situations_of,
)
from thinking_policy.training.metrics import confusion, expected_calibration_error
from thinking_policy.training.scenarios import SCENARIOS, TICK_S, Phase
from thinking_policy.training.thresholds import choose_thresholds

# What may be active of a healthy robot's time, a third of what is promised (1 %).
HEALTHY_SHARE = 0.003


@dataclass(frozen=True)
class Watched:
    """A life and what the policy said of it.

    Attributes:
        scenario: What was lived through.
        probability: float32 [n, G].
        labels: float32 [n, G].
        weight: float32 [n, G].
        phases: n phases.
        since: int64 [n], ticks since the phase began, from 1.
    """

    scenario: str
    probability: NDArray[np.float32]
    labels: NDArray[np.float32]
    weight: NDArray[np.float32]
    phases: Sequence[Phase]
    since: NDArray[np.int64]


def watch_lives(
    predict: Predict,
    lives: int,
    ticks: int,
    random: np.random.Generator,
    disturbance: Disturbance = AS_TRAINED,
    scenario: str = '',
) -> list[Watched]:
    """Let the policy watch lives of robots that it has never met.

    Args:
        predict: Packed signals [N, 2·T·F] to probabilities [N, G].
        lives: How many for each scenario; of the healthy one as many as of all others.
        ticks: Length of each.
        random: Decides the lives.
        disturbance: How badly samples get lost.
        scenario: The only one to watch; empty: all.
    """
    names = [scenario] if scenario else list(SCENARIOS)
    watched = []
    for name in names:
        share = len(SCENARIOS) - 1 if name == 'healthy' and not scenario else 1
        for _ in range(lives * share):
            recording: Recording = draw_recording(name, ticks, random, disturbance)
            rows = situations_of(recording)
            watched.append(
                Watched(
                    name,
                    predict(*rows.packed()),
                    rows.labels,
                    rows.weight,
                    recording.phases,
                    recording.since,
                )
            )
    return watched


def choose_for_lives(
    activities: Sequence[ThinkingActivity], watched: Sequence[Watched]
) -> tuple[ThinkingActivity, ...]:
    """Choose thresholds as `thresholds` does, such that a healthy robot is left alone.

    Args:
        activities: G, with the least on-thresholds.
        watched: Validation lives; some healthy ones among them.
    """

    def quiet(index: int, on: float, off: float) -> bool:
        return _healthy_share(watched, index, on, off) <= HEALTHY_SHARE

    return choose_thresholds(activities, *_joined(watched), quiet=quiet)


def measure(
    activities: Sequence[ThinkingActivity], watched: Sequence[Watched]
) -> dict[str, float]:
    """Return figures by name.

    `f1.<id>` and `f1` (micro-averaged) compare each tick's probability with the on-threshold;
    `ece.<id>` and `ece` are calibration errors;
    `healthy_active.<id>` is the share of a healthy robot's ticks in which the activity is active
    after hysteresis and hold; `delay_s.<id>` is the median time from the beginning of a phase to
    the activation of what it calls for, and `missed.<id>` the share of phases without it.
    """
    probability, labels, weight = _joined(watched)
    on = np.array([activity.threshold for activity in activities], np.float32)
    counts = confusion(probability, labels, weight, on)
    figures = {
        'f1': counts.micro().f1,
        'ece': expected_calibration_error(probability, labels, weight),
    }
    for index, activity in enumerate(activities):
        name, off = activity.id, activity.threshold_off
        figures[f'f1.{name}'] = counts.scores()[index].f1
        figures[f'ece.{name}'] = expected_calibration_error(
            probability[:, index], labels[:, index], weight[:, index]
        )
        figures[f'healthy_active.{name}'] = _healthy_share(watched, index, activity.threshold, off)
        delays = _delays(watched, index, activity)
        found = [delay for delay in delays if delay is not None]
        if delays:
            figures[f'missed.{name}'] = 1 - len(found) / len(delays)
        if found:
            figures[f'delay_s.{name}'] = float(np.median(found))
    return {name: round(value, 4) for name, value in figures.items()}


def activations(
    probability: NDArray[np.float32], on: Sequence[float], off: Sequence[float]
) -> NDArray[np.bool_]:
    """Return what is active at each tick of one life, bool [n, G]."""
    switch = ActivationFilter(on, off, DEFAULT_HOLD_S)
    return np.array(
        [
            switch.update(row, round(tick * TICK_S * 1e9), 'life')
            for tick, row in enumerate(probability)
        ]
    )


def _healthy_share(watched: Sequence[Watched], index: int, on: float, off: float) -> float:
    active = [
        activations(life.probability[:, index : index + 1], [on], [off])
        for life in watched
        if life.scenario == 'healthy' and life.probability[:, index].max() >= on
    ]
    ticks = sum(len(life.probability) for life in watched if life.scenario == 'healthy')
    return float(sum(int(a.sum()) for a in active)) / max(1, ticks)


def _delays(
    watched: Sequence[Watched], index: int, activity: ThinkingActivity
) -> list[float | None]:
    """Return seconds to activation for each phase in which the activity newly becomes due."""
    delays: list[float | None] = []
    for life in watched:
        starts = [t for t in range(1, len(life.since)) if life.since[t] == 1]
        if not any(activity.id in life.phases[t].activities for t in starts):
            continue
        active = activations(
            life.probability[:, index : index + 1], [activity.threshold], [activity.threshold_off]
        )[:, 0]
        for start, end in zip(starts, [*starts[1:], len(life.since)], strict=True):
            new = (
                activity.id in life.phases[start].activities
                and activity.id not in life.phases[start - 1].activities
            )
            span = slice(start, end)
            # Judged only where the phase could be told at all.
            if new and (life.labels[span, index] * life.weight[span, index]).any():
                hits = np.flatnonzero(active[span])
                delays.append(float(hits[0] + 1) * TICK_S if len(hits) else None)
    return delays


def _joined(
    watched: Sequence[Watched],
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    return (
        np.concatenate([life.probability for life in watched]),
        np.concatenate([life.labels for life in watched]),
        np.concatenate([life.weight for life in watched]),
    )
