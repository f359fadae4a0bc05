# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""(a) One query: policies beside retrieval, by the timing protocol of the experiments.

One thread, NumPy in, NumPy out, other inputs with every call, all contenders taking turns in one
run; each single query warm and after 100 ms of sleep, which is what a 10 Hz node sees, and in
batches. The floor is an identity graph of the same signature: what ONNX Runtime costs without
any network. Retrieval includes all that a query needs: features, z-scores, search, vote.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import torch

from thinking_policy.experiments.lookup import HNSW, lookups, stored
from thinking_policy.experiments.ordering import draw_sets
from thinking_policy.experiments.query_cost import REFERENCE_ONNX, REFERENCE_TORCH, ROBOT_ONNX
from thinking_policy.experiments.timing import (
    IDENTITY,
    Contender,
    Progress,
    Protocol,
    graph,
    identity,
    measure,
    network,
)
from thinking_policy.policy import PolicyRuntime, read_artifact
from thinking_policy.policy.packing import input_specs, pack_signals
from thinking_policy.situation.situation import Situation
from thinking_policy.training.export import export_graph
from thinking_policy.training.networks import Probabilities, ReferencePolicy

HISTORIES = (500, 2_000, 10_000, 30_000)
QUERIES = 1_000
SEED = 100
WHOLE = 'robot policy, whole'
# What is to be reached: the network against the floor, against HNSW at the longest history, and
# in milliseconds on a quiet machine.
LARGEST = {'identity': 3.0, 'hnsw': 0.7, 'ms': 0.020}


def measure_inference(
    policy: Path,
    protocol: Protocol,
    histories: tuple[int, ...] = HISTORIES,
    progress: Progress | None = None,
) -> dict:
    """Time the policies and retrieval from histories of several lengths.

    Args:
        policy: The robot's policy file, for seven signals over ten samples.
        protocol: How often each is called.
        histories: Numbers of stored records.
        progress: Called with rounds done and rounds in all.

    Returns:
        `protocol`, `histories`, `hnsw` (M, efConstruction, efSearch and recall of each history)
        and `timings`: for each contender and state p50 and p99, microseconds per query.
    """
    sets = draw_sets(SEED, max(histories), 2 * QUERIES)
    # One half chooses how wide HNSW searches, the other is asked while the clock runs.
    choosing, windows = sets.test.window[:QUERIES], sets.test.window[QUERIES:]
    contenders = policies(policy, windows, protocol.batch)
    hnsw = {}
    for count in histories:
        history = sets.train.window, sets.train.labels
        asked, hnsw[str(count)] = lookups(history, count, choosing, windows, protocol.batch)
        contenders |= asked
    timings = measure(contenders, protocol, progress)
    return {
        'protocol': dataclasses.asdict(protocol),
        'histories': list(histories),
        'hnsw': hnsw,
        'timings': {
            name: {state: timing._asdict() for state, timing in states.items()}
            for name, states in timings.items()
        },
    }


def policies(policy: Path, windows: np.ndarray, batch: int) -> dict[str, Contender]:
    """Return the floor, the robot's policy and the paper's as contenders.

    Args:
        policy: The robot's policy file.
        windows: Queries [Q, T, F].
        batch: Queries in a batch.
    """
    valid = np.ones(windows.shape, np.bool_)
    inputs = [pack_signals(windows, valid)]
    runtime = PolicyRuntime.load(policy)
    model = read_artifact(policy).data
    situations = _situations(runtime, windows)
    reference = Probabilities(_untrained_reference(*windows.shape[1:])).eval()
    specs = input_specs(*windows.shape[1:], 0, 0)
    exported = export_graph(reference.network, specs, 'float32')
    return {
        IDENTITY: identity(model, inputs, batch),
        ROBOT_ONNX: graph(model, inputs, batch),
        WHOLE: Contender(lambda turn: runtime.infer(situations[turn % len(situations)])),
        REFERENCE_ONNX: graph(exported, inputs, batch),
        REFERENCE_TORCH: network(reference, inputs, batch),
    }


def table(results: dict) -> str:
    """Return the timings as a Markdown table, the indexes' settings and the targets."""
    timings, batch = results['timings'], results['protocol']['batch']
    floor, longest = timings[IDENTITY], timings[stored(HNSW, results['histories'][-1])]
    lines = [
        f'Milliseconds per query, one thread. HNSW: at {results["histories"][-1]:,} records, '
        f'with vote. Batches of {batch}.',
        '',
        '| | warm p50 | p99 | ÷ identity | ÷ HNSW | after sleep p50 | p99 | ÷ identity '
        '| ÷ HNSW | batched | ÷ HNSW |',
        f'|---|{"---|" * 10}',
    ]
    for name, states in timings.items():
        cells = [name]
        for state in ('warm', 'after sleep'):
            p50, p99 = states[state]['p50'], states[state]['p99']
            cells += [f'{p50 / 1e3:.4f}', f'{p99 / 1e3:.4f}', f'{p50 / floor[state]["p50"]:.2f}']
            cells.append(f'{p50 / longest[state]["p50"]:.2f}')
        if 'batched' in states:
            p50 = states['batched']['p50']
            cells += [f'{p50 / 1e3:.4f}', f'{p50 / longest["batched"]["p50"]:.2f}']
        else:
            cells += ['', '']
        lines.append(f'| {" | ".join(cells)} |')
    lines += [
        '',
        '| records | M | efConstruction | efSearch | recall@4 |',
        '|---|---|---|---|---|',
    ]
    for count, settings in results['hnsw'].items():
        cells = [f'{int(count):,}', *(f'{value:.3g}' for value in settings.values())]
        lines.append(f'| {" | ".join(cells)} |')
    return '\n'.join([*lines, '', *_targets(results)])


def _targets(results: dict) -> list[str]:
    timings, longest = results['timings'], results['histories'][-1]
    own = timings[ROBOT_ONNX]['warm']['p50']
    found = {
        'identity': own / timings[IDENTITY]['warm']['p50'],
        'hnsw': own / timings[stored(HNSW, longest)]['warm']['p50'],
        'ms': own / 1e3,
    }
    words = {
        'identity': 'times the identity graph',
        'hnsw': f'times HNSW at {longest:,}',
        'ms': 'ms at the median',
    }
    return [
        f'- {ROBOT_ONNX}: {found[key]:.3g} {words[key]}, at most {LARGEST[key]} wanted: '
        f'{"reached" if found[key] <= LARGEST[key] else "not reached"}'
        for key in LARGEST
    ]


def _untrained_reference(length: int, signals: int) -> ReferencePolicy:
    """Return a network whose layers differ: the exporter stores equal ones only once."""
    torch.manual_seed(SEED)
    reference = ReferencePolicy(length, signals, 8)
    with torch.no_grad():
        for parameter in reference.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    return reference


def _situations(runtime: PolicyRuntime, windows: np.ndarray) -> list[Situation]:
    names = tuple(signal.name for signal in runtime.manifest.signals)
    valid = np.ones(windows.shape[1:], np.bool_)
    return [
        Situation(
            stamp_ns=tick,
            tick=tick,
            episode='benchmark',
            period_s=runtime.manifest.tick_period_s,
            signals=names,
            window=window,
            valid=valid,
            readings=(),
            new_events=(),
            events=(),
            recalled=(),
        )
        for tick, window in enumerate(windows)
    ]
