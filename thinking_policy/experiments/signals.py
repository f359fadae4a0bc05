# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The common setting: seven signals, eight kinds of thinking, components that differ.

Values are on the scaled axis of the package: a signal's nominal range is 0...1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.manifest import ManifestSignal
from thinking_policy.training.learning_set import LearningSet

TICK_S = 0.1
SIGNALS = (
    ManifestSignal('temperature', 'degC', 20.0, 90.0, TICK_S),
    ManifestSignal('current', 'A', 0.0, 20.0, TICK_S),
    ManifestSignal('vibration', 'm/s2', 0.0, 10.0, TICK_S),
    ManifestSignal('distance', 'm', 0.0, 5.0, TICK_S),
    ManifestSignal('visibility', '1', 0.0, 1.0, TICK_S),
    ManifestSignal('motion', 'm/s', 0.0, 1.5, TICK_S),
    ManifestSignal('load', 'N', 0.0, 50.0, TICK_S),
)
SIGNAL_NAMES = tuple(signal.name for signal in SIGNALS)
ACTIVITIES = (
    'trend',
    'hazard',
    'cause',
    'future_impact',
    'information_seeking',
    'recovery',
    'cross_signal',
    'hidden_dependency',
)
WINDOW_LENGTH = 10
# A stored record is a window and its labels in float32.
RECORD_BYTES = 4 * (WINDOW_LENGTH * len(SIGNALS) + len(ACTIVITIES))

# How much components differ, on the scaled axis: a sixth of the nominal range up or down, and
# a fifth more or less reaction. Several times the steps that tell two situations apart.
OFFSET_SPREAD = 0.15
GAIN_SPREAD = 0.2
# A sensor's noise: small beside the steps between samples, as the paper's 1.000 requires.
NOISE = 0.02


@dataclass(frozen=True)
class Identities:
    """Robot components of which no two are alike.

    Attributes:
        offset: float32 [n, F], added to each signal.
        gain: float32 [n, F], by which each signal's changes are multiplied.
    """

    offset: NDArray[np.float32]
    gain: NDArray[np.float32]

    def __len__(self) -> int:
        """Return n."""
        return len(self.offset)


@dataclass(frozen=True)
class Sets:
    """What a seed sees: components of the one never occur in the other."""

    train: LearningSet
    test: LearningSet

    def by_name(self) -> Mapping[str, LearningSet]:
        """Return both under the names of their files."""
        return {'train': self.train, 'test': self.test}


# How many, the components that they happen to, and what decides the rest.
Draw = Callable[[int, Identities, np.random.Generator], LearningSet]


def draw_identities(count: int, random: np.random.Generator) -> Identities:
    """Return new components; two draws never have one in common."""
    shape = (count, len(SIGNALS))
    return Identities(
        random.normal(0.0, OFFSET_SPREAD, shape).astype(np.float32),
        np.exp(random.normal(0.0, GAIN_SPREAD, shape)).astype(np.float32),
    )


def sense(
    latent: NDArray[np.float32],
    identities: Identities,
    who: NDArray[np.int64],
    random: np.random.Generator,
) -> NDArray[np.float32]:
    """Return what the sensors of components say: offset + gain · latent + noise.

    Args:
        latent: [N, T, F], what happens, the same for every component.
        identities: n components.
        who: [N], which component each row is of, 0...n-1.
        random: Decides the noise.

    Returns:
        float32 [N, T, F].
    """
    window = identities.offset[who, None] + identities.gain[who, None] * latent
    return (window + random.normal(0.0, NOISE, window.shape)).astype(np.float32)


def label_rows(activities: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """Return labels float32 [len, G], 1 where an activity is called for."""
    labels = np.zeros((len(activities), len(ACTIVITIES)), np.float32)
    for row, names in enumerate(activities):
        labels[row, [ACTIVITIES.index(name) for name in names]] = 1.0
    return labels


def learning_set(
    window: NDArray[np.float32], labels: NDArray[np.float32], who: NDArray[np.int64]
) -> LearningSet:
    """Return complete windows [N, T, F] with labels [N, G]; a component is an episode."""
    return LearningSet(
        window=window,
        valid=np.ones(window.shape, np.bool_),
        labels=labels,
        weight=np.ones_like(labels),
        episode=who,
        activities=ACTIVITIES,
        signals=SIGNALS,
        tick_period_s=TICK_S,
        events=None,
    )


def draw_both(draw: Draw, seed: int, train: int, test: int, identities: int) -> Sets:
    """Return training and test situations of a seed, from components of their own.

    Args:
        draw: Makes situations of components.
        seed: Decides everything.
        train: How many to learn from.
        test: How many to be judged on.
        identities: Components of each.
    """
    learning, testing = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return Sets(
        draw(train, draw_identities(identities, learning), learning),
        draw(test, draw_identities(identities, testing), testing),
    )
