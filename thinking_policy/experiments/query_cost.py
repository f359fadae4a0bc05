# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a query costs: policies beside retrieval from histories of several lengths, in one run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thinking_policy.experiments.experiment import Tell
from thinking_policy.experiments.lookup import HNSW, lookups, stored
from thinking_policy.experiments.policies import Policy
from thinking_policy.experiments.timing import (
    IDENTITY,
    Contender,
    Protocol,
    graph,
    identity,
    measure,
    network,
)
from thinking_policy.training.export import export_graph
from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.networks import Probabilities

REFERENCE_TORCH, REFERENCE_ONNX = 'reference policy, torch', 'reference policy, ONNX Runtime'
ROBOT_ONNX = 'robot policy, ONNX Runtime'
STATES = ('warm', 'after sleep', 'batched')
_MS = 1e-3  # of a microsecond


def query_cost(
    history: LearningSet,
    choosing: LearningSet,
    queries: LearningSet,
    counts: Sequence[int],
    policies: tuple[Policy, Policy],
    protocol: Protocol,
    tell: Tell,
) -> dict[str, dict[str, float]]:
    """Time all contenders, taking turns in one run, on one thread.

    Args:
        history: What is stored; its first rows where fewer are.
        choosing: Queries by which HNSW's width is chosen.
        queries: Those that are asked while the clock runs; never stored.
        counts: Lengths of history.
        policies: Reference and robot.
        protocol: How often each is called.
        tell: Told the progress.

    Returns:
        For each contender `<state> p50 ms` and `<state> p99 ms` per query, states as `STATES`;
        for HNSW also `M`, `efConstruction`, `efSearch` and `recall@4`.
    """
    contenders = _policies(policies, queries, protocol.batch)
    figures: dict[str, dict[str, float]] = {}
    rows = history.window, history.labels
    for place, count in enumerate(counts):
        tell(f'indexing {count:,} records', 0.5 * place / len(counts))
        found, made = lookups(rows, count, choosing.window, queries.window, protocol.batch)
        contenders |= found
        figures[stored(HNSW, count)] = made
    timings = measure(
        contenders,
        protocol,
        lambda done, total: tell(f'timing, round {done} of {total}', 0.5 + 0.5 * done / total),
    )
    for name, states in timings.items():
        figures.setdefault(name, {})
        for state, timing in states.items():
            figures[name][f'{state} p50 ms'] = timing.p50 * _MS
            figures[name][f'{state} p99 ms'] = timing.p99 * _MS
    return figures


def _policies(
    policies: tuple[Policy, Policy], queries: LearningSet, batch: int
) -> dict[str, Contender]:
    reference, robot = policies
    inputs = [np.ascontiguousarray(array) for array in queries.packed()]
    exported = export_graph(reference.network, queries.specs, 'float32')
    return {
        IDENTITY: identity(robot.model, inputs, batch),
        ROBOT_ONNX: graph(robot.model, inputs, batch),
        REFERENCE_ONNX: graph(exported, inputs, batch),
        REFERENCE_TORCH: network(Probabilities(reference.network), inputs, batch),
    }
