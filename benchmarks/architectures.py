#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which network suits a robot: size, what it learns, what it costs. By hand:

    .venv/bin/python benchmarks/architectures.py --out results/
    .venv/bin/python benchmarks/architectures.py --quick

Each candidate sees the same data, the same recipe, the same seeds (100 and up: nothing is chosen
on those that are reported elsewhere), is stored with int8 weights and judged as ONNX Runtime runs
it. `ordering` and `evolution` are the experiments, `scalability` is `ordering` with 2,000 stored
situations; `simulated robot` is what the bundled policy is trained for. F1 whole and with half of
the samples invalid. Then the candidate that ships is stored in several ways.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ['OMP_NUM_THREADS'] = os.environ['OPENBLAS_NUM_THREADS'] = '1'
os.environ['MKL_NUM_THREADS'] = '1'

import numpy as np
from candidates import Make, candidates
from machine import heading, machine
from storing import SPECS, STORED, exported, nodes_when_loaded
from torch import nn

from thinking_policy.experiments import evolution, ordering
from thinking_policy.experiments.timing import IDENTITY, Protocol, graph, identity, measure
from thinking_policy.training.export import predictor
from thinking_policy.training.fit import fit, make_deterministic
from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.lives import CLEAN, draw_learning_set
from thinking_policy.training.metrics import micro
from thinking_policy.training.networks import count_parameters
from thinking_policy.training.recipe import ROBOT

FIRST_SEED = 100
CHOSEN = 'centred perceptron 64-64'
LOST = 0.5
LIVES_TICKS = 100

Sets = tuple[LearningSet, LearningSet]


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much work a comparison is.

    Attributes:
        seeds: How many.
        steps: Optimiser steps of each fit.
        lives: Simulated lives to learn from; a quarter as many to be judged on.
        protocol: How often each is timed.
        names: Candidates; empty: all.
    """

    seeds: int
    steps: int
    lives: int
    protocol: Protocol
    names: tuple[str, ...] = ()


FULL = Scale(3, 2000, 800, Protocol(warm=300, slept=0, batched=0))
QUICK = Scale(1, 150, 40, Protocol(warm=30, slept=0, batched=0), (CHOSEN, 'GRU, 48'))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--quick', action='store_true', help='two candidates, hardly trained')
    parser.add_argument('--seeds', type=int, help=f'how many, from {FIRST_SEED} on')
    parser.add_argument('--steps', type=int, help='optimiser steps of each fit')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes that fit')
    parser.add_argument('--out', type=Path, help='folder for architectures.json and .md')
    options = parser.parse_args()
    facts = machine()
    print(heading(facts), flush=True)
    scale = QUICK if options.quick else FULL
    given = {'seeds': options.seeds, 'steps': options.steps}
    scale = dataclasses.replace(scale, **{k: v for k, v in given.items() if v is not None})
    results = {'machine': facts, 'quick': options.quick, **compare(scale, options.jobs)}
    table = report(results)
    print('\n' + table)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / 'architectures.json').write_text(json.dumps(results, indent=1) + '\n')
        (options.out / 'architectures.md').write_text(table + '\n')


def tasks(scale: Scale) -> dict[str, Callable[[int], Sets]]:
    """Return by name what draws training and test data of a seed."""

    def simulated(seed: int) -> Sets:
        learning, testing = (
            np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2)
        )
        return (
            draw_learning_set(scale.lives, LIVES_TICKS, learning),
            draw_learning_set(max(1, scale.lives // 4), LIVES_TICKS, testing, CLEAN),
        )

    def drawn(experiment: object, train: int) -> Callable[[int], Sets]:
        def draw(seed: int) -> Sets:
            sets = experiment.draw_sets(seed, train, 1000)
            return sets.train, sets.test

        return draw

    return {
        'ordering': drawn(ordering, 800),
        'evolution': drawn(evolution, 400),
        'scalability': drawn(ordering, 2000),
        'simulated robot': simulated,
    }


def compare(scale: Scale, jobs: int) -> dict:
    """Fit all candidates on all tasks, judge and time them, and store the chosen one.

    Fits run side by side, and their result does not depend on it; timing has the machine alone.
    """
    made = chosen_candidates(scale)
    scores = {name: {task: [] for task in tasks(scale)} for name in (*made, *STORED)}
    work = [
        (task, seed)
        for seed in range(FIRST_SEED, FIRST_SEED + scale.seeds)
        for task in tasks(scale)
    ]
    start = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context('spawn')
    ) as pool:
        running = [pool.submit(judged, task, seed, scale) for task, seed in work]
        for done, _ in enumerate(concurrent.futures.as_completed(running), start=1):
            print(
                f'  fitted {done} of {len(work)}, {time.monotonic() - start:.0f} s',
                file=sys.stderr,
                flush=True,
            )
    for (task, _), job in zip(work, running, strict=True):
        for name, pair in job.result().items():
            scores[name][task].append(pair)
    # The size of the experiments' networks: eight activities.
    networks = {name: untrained(make, 10, 7, 8) for name, make in made.items()}
    models = {name: exported(network) for name, network in networks.items()}
    models |= {way: store(networks[CHOSEN]) for way, store in STORED.items()}
    times = timed(models, scale.protocol)
    rows = {
        name: {
            'f1': scores[name],
            'bytes': len(model),
            'nodes': nodes_when_loaded(model),
            'p50': times[name],
            'to_identity': times[name] / times[IDENTITY],
        }
        for name, model in models.items()
    }
    for name, network in networks.items():
        rows[name]['parameters'] = count_parameters(network)
    return {
        'recipe': {**dataclasses.asdict(ROBOT), 'steps': scale.steps},
        'seeds': scale.seeds,
        'identity_p50': times[IDENTITY],
        'candidates': {name: rows[name] for name in made},
        'stored': {name: rows[name] for name in STORED},
    }


def judged(task: str, seed: int, scale: Scale) -> dict[str, tuple[float, float]]:
    """Return F1 of all candidates, and of the chosen one in every way to store it."""
    learning, test = tasks(scale)[task](seed)
    found = {}
    for name, make in chosen_candidates(scale).items():
        network = untrained(
            make, learning.length, len(learning.signals), len(learning.activities), seed
        )
        fit(network, learning, dataclasses.replace(ROBOT, steps=scale.steps, seed=seed))
        found[name] = judge(exported(network), test)
        if name == CHOSEN:
            found |= {way: judge(store(network), test) for way, store in STORED.items()}
    return found


def chosen_candidates(scale: Scale) -> dict[str, Make]:
    """Return the candidates that are compared."""
    return {n: make for n, make in candidates().items() if not scale.names or n in scale.names}


def untrained(
    make: Make, length: int, signals: int, activities: int, seed: int = FIRST_SEED
) -> nn.Module:
    """Return a network with random weights."""
    make_deterministic(seed)
    return make(length, signals, activities).eval()


def judge(model: bytes, test: LearningSet) -> tuple[float, float]:
    """Return micro-F1 on whole windows, and with half of the samples invalid."""
    run = predictor(model)
    seen = test.valid & (np.random.default_rng(0).random(test.valid.shape) >= LOST)
    harder = dataclasses.replace(test, window=np.where(seen, test.window, 0), valid=seen)
    whole, half = (
        micro(run(*rows.packed()), rows.labels, rows.weight).f1 for rows in (test, harder)
    )
    return whole, half


def timed(models: dict[str, bytes], protocol: Protocol) -> dict[str, float]:
    """Return the median of one query in microseconds; all in one run."""
    inputs = [np.random.default_rng(0).random((1000, *spec.shape), np.float32) for spec in SPECS]
    contenders = {name: graph(model, inputs, protocol.batch) for name, model in models.items()}
    contenders[IDENTITY] = identity(next(iter(models.values())), inputs, protocol.batch)
    found = measure(contenders, protocol)
    return {name: states['warm'].p50 for name, states in found.items()}


def report(results: dict) -> str:
    """Return the comparison as Markdown tables."""
    names = list(next(iter(results['candidates'].values()))['f1'])
    lines = [heading(results['machine']), '']
    if results['quick']:
        lines += ['Quick run: hardly trained, not for comparing.', '']
    lines += [
        f'F1: whole windows / half of the samples invalid; means over {results["seeds"]} seeds '
        f'from {FIRST_SEED}, {results["recipe"]["steps"]} steps. Identity graph: '
        f'{results["identity_p50"]:.1f} µs.'
    ]
    for title, rows in (
        ('network', results['candidates']),
        (f'{CHOSEN} stored as', results['stored']),
    ):
        lines += [
            '',
            f'| {title} | weights | bytes | nodes | {" | ".join(names)} | µs p50 | ÷ identity |',
            f'|---|{"---|" * (len(names) + 5)}',
        ]
        for name, row in rows.items():
            cells = [name, f'{row.get("parameters", "")}', str(row['bytes']), str(row['nodes'])]
            for pairs in row['f1'].values():
                whole, half = (statistics.fmean(column) for column in zip(*pairs, strict=True))
                cells.append(f'{whole:.3f} / {half:.3f}')
            cells += [f'{row["p50"]:.1f}', f'{row["to_identity"]:.2f}']
            lines.append(f'| {" | ".join(cells)} |')
    return '\n'.join(lines)


if __name__ == '__main__':
    main()
