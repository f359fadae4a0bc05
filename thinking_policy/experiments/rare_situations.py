# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a robot lives through in experiment 5: common patterns, one rare one, and near misses.

| pattern | what happens | thinking |
|---|---|---|
| normal | nothing but drift | – |
| rising | temperature and current climb over the whole window | trend, hazard, cause |
| falling | they come down again | trend, recovery |
| conflict | visibility goes, distances are as good as ever | cross_signal, information_seeking |
| echo | vibration peaks four samples after the load did | hidden_dependency, future_impact |
| returning | normal for 7 samples; then current, vibration and load jump, and come back | recovery |
| unquiet | normal for 7 samples; then the three are noisy | – |
| delayed onset | normal for 7 samples; then the three accelerate | trend, hazard, cause, future_impact, information_seeking |

Each kind of thinking that the rare pattern needs is known from a common one; only together they
are its own. `returning` and `unquiet` are the near misses.
"""  # noqa: E501 (a table row can't be broken)

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thinking_policy.experiments.signals import (
    SIGNAL_NAMES,
    SIGNALS,
    WINDOW_LENGTH,
    Identities,
    label_rows,
    learning_set,
    sense,
)
from thinking_policy.training.learning_set import LearningSet

RARE = 'delayed onset'
COMMON = ('normal', 'rising', 'falling', 'conflict', 'echo')
NEAR_MISSES = ('returning', 'unquiet')
ACTIVITIES_OF = {
    'normal': (),
    'rising': ('trend', 'hazard', 'cause'),
    'falling': ('trend', 'recovery'),
    'conflict': ('cross_signal', 'information_seeking'),
    'echo': ('hidden_dependency', 'future_impact'),
    'returning': ('recovery',),
    'unquiet': (),
    RARE: ('trend', 'hazard', 'cause', 'future_impact', 'information_seeking'),
}
# Of so many situations one is the rare pattern (4 %), and one a near miss.
EVERY = 25
APPARENTLY_NORMAL = 7

# What a signal at rest shows, how far it is from there in each situation, how it drifts.
_REST, _REST_SPREAD, _DRIFT = 0.4, 0.05, 0.008
# How far the signals of a pattern go by its end, on the scaled axis.
_LEAST, _MOST = 0.2, 0.5
_LATE = WINDOW_LENGTH - APPARENTLY_NORMAL
# Shares of the way at the samples after the normal ones: with constant acceleration; a jump
# that goes back; and how far noise reaches either way.
_ACCELERATING = (np.arange(1, _LATE + 1) / _LATE) ** 2
_RETURNING = np.array([0.7, 0.4, 0.1])
_UNQUIET = 0.6
_HEATING = [SIGNAL_NAMES.index(name) for name in ('temperature', 'current')]
_STRAINED = [SIGNAL_NAMES.index(name) for name in ('current', 'vibration', 'load')]
_VISIBILITY, _VIBRATION, _LOAD = (
    SIGNAL_NAMES.index(name) for name in ('visibility', 'vibration', 'load')
)
_ECHO_AFTER = 4


def patterns_of_history(count: int) -> list[str]:
    """Return which patterns a history holds, in order; a longer one begins as a shorter one.

    In each 25 situations one is the rare pattern and one a near miss; the others are common.
    """
    patterns: list[str] = []
    near_misses, common = itertools.cycle(NEAR_MISSES), itertools.cycle(COMMON)
    while len(patterns) < count:
        patterns += [RARE, next(near_misses)]
        patterns += [next(common) for _ in range(EVERY - 2)]
    return patterns[:count]


def draw_situations(
    patterns: Sequence[str], identities: Identities, random: np.random.Generator
) -> LearningSet:
    """Return one situation for each pattern; whose it is, is drawn.

    Args:
        patterns: N names.
        identities: The components that they may happen to.
        random: Decides everything.
    """
    count = len(patterns)
    names = np.array(patterns)
    latent = _REST + random.normal(0.0, _REST_SPREAD, (count, 1, len(SIGNALS)))
    steps = random.normal(0.0, _DRIFT, (count, WINDOW_LENGTH, len(SIGNALS)))
    latent = latent + np.cumsum(steps, axis=1)
    for name in ACTIVITIES_OF:
        rows = np.flatnonzero(names == name)
        latent[rows] += _course(name, len(rows), random)
    who = random.integers(0, len(identities), count)
    window = sense(latent.astype(np.float32), identities, who, random)
    return learning_set(window, label_rows([ACTIVITIES_OF[name] for name in patterns]), who)


def _course(name: str, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return what a pattern adds, [count, T, F]."""
    course = np.zeros((count, WINDOW_LENGTH, len(SIGNALS)))
    time = np.linspace(0.0, 1.0, WINDOW_LENGTH)[None, :, None]
    samples = np.arange(WINDOW_LENGTH)[None, :]
    if name in ('rising', 'falling'):
        way = random.uniform(_LEAST, _MOST, (count, 1, len(_HEATING)))
        course[:, :, _HEATING] = way * (time if name == 'rising' else 1 - time)
    elif name == 'conflict':
        start = random.integers(1, APPARENTLY_NORMAL, (count, 1))
        gone = np.clip((samples - start + 1) / 3, 0.0, 1.0)
        course[:, :, _VISIBILITY] = -random.uniform(_LEAST, _MOST, (count, 1)) * gone
    elif name == 'echo':
        peak = random.integers(1, 4, (count, 1))
        for signal, late in ((_LOAD, 0), (_VIBRATION, _ECHO_AFTER)):
            bump = np.exp(-0.5 * ((samples - peak - late) / 0.8) ** 2)
            course[:, :, signal] = random.uniform(_LEAST, _MOST, (count, 1)) * bump
    elif name != 'normal':
        way = random.uniform(_LEAST, _MOST, (count, 1, len(_STRAINED)))
        if name == 'unquiet':
            share = random.uniform(-_UNQUIET, _UNQUIET, (count, _LATE, len(_STRAINED)))
        else:
            share = (_ACCELERATING if name == RARE else _RETURNING)[None, :, None]
        course[:, APPARENTLY_NORMAL:, _STRAINED] = way * share
    return course
