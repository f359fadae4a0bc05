# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which episodes are learned from and which ones are set aside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thinking_policy.training.errors import LearningError
from thinking_policy.training.learning_set import LearningSet


def split_by_episode(
    learning: LearningSet, shares: Sequence[float], seed: int, source: str = 'learning set'
) -> tuple[LearningSet, ...]:
    """Cut a learning set into parts; rows of one episode stay together.

    Each activity is spread over the parts as evenly as whole episodes allow; no part goes without
    it where there are enough of them.

    Args:
        learning: The whole.
        shares: Share of the rows for each part; they sum to 1.
        seed: Decides which episode goes where.
        source: File named in errors.

    Returns:
        One learning set for each share, rows in their order.

    Raises:
        LearningError: Fewer episodes than parts.
    """
    names, member = np.unique(learning.episode, return_inverse=True)
    if len(names) < len(shares):
        raise LearningError(
            f'{source}: expected at least {len(shares)} episodes to split, found {len(names)}; '
            f'record more (each bag is one at least){_fewer_parts(len(names), len(shares))}'
        )
    due = (learning.labels >= 0.5) & (learning.weight > 0)
    content = np.zeros((len(names), 1 + due.shape[1]))
    np.add.at(content, member, np.column_stack((np.ones(len(due)), due)))
    content /= np.maximum(1.0, content.sum(axis=0))
    lacking = np.outer(shares, np.ones(content.shape[1]))
    # Episodes still to be dealt out that hold each thing, and whether each part has it.
    left, has = (content > 0).sum(axis=0), np.zeros(lacking.shape, np.bool_)
    part_of = np.empty(len(names), np.int64)
    order = np.random.default_rng(seed).permutation(len(names))
    # What is rare is dealt out first, while every part still lacks it.
    for name in order[np.argsort(-content[order].max(axis=1), kind='stable')]:
        choice = np.arange(len(shares))
        for thing in np.flatnonzero(content[name]):
            without = choice[~has[choice, thing]]
            if len(without) and left[thing] <= (~has[:, thing]).sum():
                choice = without
        wish = lacking[choice] @ content[name]
        part = part_of[name] = choice[int(np.argmax(wish))]
        lacking[part] -= content[name]
        has[part] |= content[name] > 0
        left -= content[name] > 0
    return tuple(learning.take(part_of[member] == part) for part in range(len(shares)))


def _fewer_parts(episodes: int, parts: int) -> str:
    """Return what else would help: with one episode nothing does."""
    return ', or set --test 0' if 2 <= episodes < parts else ''
