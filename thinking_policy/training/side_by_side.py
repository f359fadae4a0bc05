# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of a batch computed side by side, with a result that no number of cores changes."""

from __future__ import annotations

import copy
import itertools
import os
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

from thinking_policy.training.errors import LearningError
from thinking_policy.training.networks import Dropout


def replicas_of(network: nn.Module, dropping: list[torch.Generator]) -> list[nn.Module]:
    """Return the network and copies that share its weights, one for each part of a batch.

    Raises:
        LearningError: Several parts, and a dropout that draws from one place for all.
    """
    network.train()
    replicas = [network] + [copy.deepcopy(network) for _ in dropping[1:]]
    for replica, random in zip(replicas, dropping, strict=True):
        for mine, other in zip(network.parameters(), replica.parameters(), strict=True):
            other.data = mine.data
        for module in replica.modules():
            if isinstance(module, Dropout):
                module.random = random
            elif isinstance(module, nn.modules.dropout._DropoutNd) and len(dropping) > 1:
                raise LearningError(
                    'threads: more than 1 needs training.networks.Dropout in place of '
                    f'torch.nn.{type(module).__name__}, or the result would depend on chance'
                )
    return replicas


def parts_of(rows: int, parts: int) -> list[slice]:
    """Return which rows of a batch each part takes."""
    edges = [round(part * rows / parts) for part in range(parts + 1)]
    return [slice(start, end) for start, end in itertools.pairwise(edges)]


def pool_of(workers: int) -> NoPool | ThreadPoolExecutor:
    """Return threads beside the caller's own, each for one part at a time."""
    if workers < 1:
        return NoPool()
    return ThreadPoolExecutor(workers + 1, initializer=torch.set_num_threads, initargs=(1,))


class NoPool:
    """Everything in the caller's thread."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *exception: object) -> None:
        """Do nothing."""


def cores() -> int:
    """Return how many cores this process may use; OMP_NUM_THREADS limits it as it does torch."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()
    limit = os.environ.get('OMP_NUM_THREADS', '')
    return min(found or 1, int(limit)) if limit.isdigit() and int(limit) else found or 1
