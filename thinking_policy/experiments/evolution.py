# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiment 3: does it matter how a state was reached?

Situations come in pairs that end in exactly the same sample. In one, temperature and current
rise to it: that calls for trend, cause and hazard; in the other they fall to it: trend and
recovery. What sees only the last sample sees no difference. It can know that a trend is due;
for the rest it names one side, both or none, which makes 0.57...0.77 and 0.70 on average.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thinking_policy.experiments.ordering import Sets
from thinking_policy.experiments.signals import (
    SIGNAL_NAMES,
    SIGNALS,
    WINDOW_LENGTH,
    Identities,
    draw_identities,
    label_rows,
    learning_set,
    sense,
)
from thinking_policy.training.learning_set import LearningSet

IDENTITIES = 20
RISING = ('trend', 'cause', 'hazard')
FALLING = ('trend', 'recovery')
# The moderate state that both end in, and how far from it they begin; on the scaled axis.
END, END_SPREAD = 0.5, 0.05
LEAST_WAY, LARGEST_WAY = 0.15, 0.35
# The way is covered evenly (1) or mostly early (more).
LARGEST_BEND = 1.6


def draw_pairs(count: int, identities: Identities, random: np.random.Generator) -> LearningSet:
    """Return pairs of situations, the rising one first, spread evenly over the components.

    Args:
        count: Pairs; 2 · count rows.
        identities: The components that they happen to.
        random: Decides ends, ways and noise.
    """
    who = np.arange(count) % len(identities)
    moving = [SIGNAL_NAMES.index('temperature'), SIGNAL_NAMES.index('current')]
    latent = np.full((2, count, WINDOW_LENGTH, len(SIGNALS)), END, np.float32)
    left = np.linspace(1.0, 0.0, WINDOW_LENGTH)[None, :, None]
    for direction, rising in enumerate((True, False)):
        way = random.uniform(LEAST_WAY, LARGEST_WAY, (count, 1, 2))
        bend = random.uniform(1.0, LARGEST_BEND, (count, 1, 1))
        latent[direction][:, :, moving] += (-way if rising else way) * left**bend
    latent += random.normal(0.0, END_SPREAD, (count, 1, len(SIGNALS)))
    window = np.stack([sense(half, identities, who, random) for half in latent], axis=1)
    window[:, 1, -1] = window[:, 0, -1]  # the same last sample, noise and all
    labels = label_rows([RISING, FALLING] * count)
    return learning_set(window.reshape(-1, WINDOW_LENGTH, len(SIGNALS)), labels, np.repeat(who, 2))


def last_sample(window: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return windows [N, 1, F] with the last sample only."""
    return np.ascontiguousarray(window[:, -1:])


def draw_sets(seed: int, train: int, test: int, identities: int = IDENTITIES) -> Sets:
    """Return training and test pairs of a seed.

    Args:
        seed: Decides everything.
        train: Pairs to learn from.
        test: Pairs to be judged on.
        identities: Components of each; none is in both.
    """
    learning, testing = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return Sets(
        draw_pairs(train, draw_identities(identities, learning), learning),
        draw_pairs(test, draw_identities(identities, testing), testing),
    )
