# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiment 2: does a policy learn a rule that lies in the order of observations alone?

Four classes of situations share start, end, the set of intermediate values, and so mean,
deviation and global change. They differ in the order of the intermediate values, and which
thinking an order calls for is a rule of this environment that nobody could guess. Components
differ in offset and gain of every signal; those of the test are never met in training.

What keeps only aggregates can't do better than chance: for Summary-RAG, the union of four
arbitrary records' labels, 0.54; for a random forest on the same aggregates about 0.38, for it
leaves out what less than half of the records call for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.experiments.signals import (
    ACTIVITIES,
    SIGNALS,
    WINDOW_LENGTH,
    Identities,
    draw_identities,
    label_rows,
    learning_set,
    sense,
)
from thinking_policy.training.learning_set import LearningSet

START, END = 0.4, 0.6
INTERMEDIATES = np.linspace(0.2, 0.8, WINDOW_LENGTH - 2)
# As far from each other as four orders of eight values nearly can be (a search over random
# quadruples: the least squared distance in ranks is 98; 112 is the most that a mean can reach).
ORDERS = ((0, 7, 4, 1, 2, 3, 6, 5), (6, 5, 0, 7, 3, 1, 4, 2), (1, 2, 7, 5, 4, 6, 0, 3),
          (6, 0, 3, 1, 2, 5, 4, 7))  # fmt: skip
IDENTITIES = 20


@dataclass(frozen=True)
class Sets:
    """What a seed sees: components of the one never occur in the other."""

    train: LearningSet
    test: LearningSet


def latent_orders() -> NDArray[np.float32]:
    """Return what happens in each class, [4, T]."""
    return np.array(
        [[START, *INTERMEDIATES[list(order)], END] for order in ORDERS], dtype=np.float32
    )


def activities_of(order: int) -> tuple[str, str, str]:
    """Return what a class calls for: labels c, c + 1 and c + 4 (mod 8), whatever the seed."""
    count = len(ACTIVITIES)
    return (
        ACTIVITIES[order % count],
        ACTIVITIES[(order + 1) % count],
        ACTIVITIES[(order + 4) % count],
    )


def draw_situations(
    count: int, identities: Identities, random: np.random.Generator
) -> LearningSet:
    """Return situations, as many of each class, spread evenly over the components.

    All signals of a situation go through the same order, each with its component's offset and
    gain, so that an order can still be told where some samples or a signal are missing.

    Args:
        count: N.
        identities: The components that they happen to.
        random: Decides the noise and who meets what.
    """
    order = np.arange(count) % len(ORDERS)
    who = random.permutation(np.arange(count) // len(ORDERS) % len(identities))
    latent = np.repeat(latent_orders()[order][:, :, None], len(SIGNALS), axis=2)
    labels = label_rows([activities_of(number) for number in order])
    return learning_set(sense(latent, identities, who, random), labels, who)


def draw_sets(seed: int, train: int, test: int, identities: int = IDENTITIES) -> Sets:
    """Return training and test situations of a seed.

    Args:
        seed: Decides everything.
        train: Situations to learn from.
        test: Situations to be judged on.
        identities: Components of each; none is in both.
    """
    learning, testing = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return Sets(
        draw_situations(train, draw_identities(identities, learning), learning),
        draw_situations(test, draw_identities(identities, testing), testing),
    )
