# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiment 1: can a policy of fixed size replace a history that grows?

The situations are those of `ordering`. A robot remembers N of them, from ever more components,
and is asked about 1,000 situations of components that it has never met. Retrieval stores every
situation and searches for the four nearest; what two of them call for is called for. Policies
learn from the same N situations and then need none of them.

Summary-RAG sees no order: the majority of four arbitrary records makes 0.48, however many there
are. Sequence-RAG is as right as the policies, and pays with bytes and time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from thinking_policy.experiments import scalability_report as report
from thinking_policy.experiments.baselines import NEIGHBOURS, Retrieval, summary_features
from thinking_policy.experiments.experiment import (
    Cell,
    Experiment,
    Figures,
    Options,
    Results,
    Table,
    Tell,
    silent,
)
from thinking_policy.experiments.lookup import FLAT, HNSW, SUMMARY, narrow_search
from thinking_policy.experiments.ordering import draw_sets, draw_situations
from thinking_policy.experiments.policies import (
    REFERENCE_NAME,
    ROBOT_NAME,
    Policy,
    reference_recipe,
    robot_recipe,
    scores,
    train_reference,
    train_robot,
)
from thinking_policy.experiments.query_cost import query_cost
from thinking_policy.experiments.signals import ACTIVITIES, RECORD_BYTES, Sets, draw_identities
from thinking_policy.experiments.timing import Protocol
from thinking_policy.training.learning_set import LearningSet

HISTORIES, QUICK_HISTORIES = (500, 2_000, 10_000, 30_000), (500, 2_000)
QUERIES = 1_000
# Situations that each component contributes: a longer history is one of more components.
PER_IDENTITY = 20
# Situations of yet other components, by which HNSW's width is chosen.
_CHOOSING = 200
_PROTOCOL = Protocol(warm=2000, slept=40, batched=30)
_QUICK_PROTOCOL = Protocol(warm=100, slept=3, batched=3)
# Timing needs a network's shape only; a few steps make its layers differ.
_STEPS_FOR_TIMING = 5
# A language model's token is about four characters of such text.
_CHARACTERS_PER_TOKEN = 4
_QUERIES_WRITTEN_OUT = 50


def sets_of(seed: int, history: int) -> Sets:
    """Return a history and the queries of a seed."""
    return draw_sets(seed, history, QUERIES, history // PER_IDENTITY)


def trained_robot(
    seed: int, quick: bool = False, tell: Tell = silent, history: int = HISTORIES[0]
) -> tuple[Policy, Sets]:
    """Return the robot policy of a seed and history, and the sets of both."""
    sets = sets_of(seed, history)
    return train_robot(sets.train, seed, robot_recipe(quick), tell), sets


def plan(options: Options) -> list[Cell]:
    """Return three cells for each seed and history, and one that times all contenders."""
    quick = options.quick
    histories = QUICK_HISTORIES if quick else HISTORIES
    recipes = {'reference': asdict(reference_recipe(quick)), 'robot': asdict(robot_recipe(quick))}
    cells = [
        Cell(report.condition(history), seed, part, {'quick': quick, 'history': history, **recipe})
        for history in histories
        for seed in options.seeds
        for part, recipe in (
            *((name, {'recipe': recipe}) for name, recipe in recipes.items()),
            ('retrieval', {}),
        )
        # It is what takes the time: in the quick form only once.
        if not (quick and part == 'reference' and history > histories[0])
    ]
    protocol = asdict(_QUICK_PROTOCOL if quick else _PROTOCOL)
    settings = {'histories': list(histories), 'protocol': protocol}
    return [*cells, Cell(report.TIMING, options.seeds[0], '', settings, alone=True)]


def run_cell(cell: Cell, tell: Tell) -> Figures:
    """Return F1, bytes, records and tokens of one or several methods, or the timings."""
    if cell.name == report.TIMING:
        return _time(cell.seed, cell.settings['histories'], cell.settings['protocol'], tell)
    quick, history = bool(cell.settings['quick']), int(cell.settings['history'])
    if cell.part == 'robot':
        policy, sets = trained_robot(cell.seed, quick, tell, history)
        return {ROBOT_NAME: _figures_of(policy, sets.test)}
    sets = sets_of(cell.seed, history)
    if cell.part == 'reference':
        policy = train_reference(sets.train, cell.seed, reference_recipe(quick), tell)
        return {REFERENCE_NAME: _figures_of(policy, sets.test)}
    return _retrieve(sets, cell.seed)


def estimated_tokens(records: LearningSet) -> float:
    """Return how many tokens one record takes in a language model's context, on average.

    A record is written as its values with two digits and what it called for; four characters
    are counted as one token.
    """
    characters = 0
    for window, labels in zip(records.window, records.labels, strict=True):
        named = [name for name, label in zip(ACTIVITIES, labels, strict=True) if label > 0.5]
        characters += len(' '.join([*(f'{value:.2f}' for value in window.flat), *named]))
    return characters / _CHARACTERS_PER_TOKEN / len(records)


def _retrieve(sets: Sets, seed: int) -> Figures:
    """Return the figures of retrieval by whole sequences, exactly and by HNSW, and by summary."""
    train, test = sets.train, sets.test
    stored = train.window, train.labels
    flat, linked = Retrieval(*stored, 'sequence'), Retrieval(*stored, 'sequence', index='hnsw')
    _, recall = narrow_search(linked, flat, _choosing(seed).window)
    summary = Retrieval(*stored, 'summary')
    summary_bytes = 4 * (summary_features(train.window[:1]).size + len(ACTIVITIES))
    shown = flat.nearest(test.window[:_QUERIES_WRITTEN_OUT]).ravel()
    per_record = estimated_tokens(train.take(np.unique(shown)))
    figures = {}
    for name, memory, record_bytes in (
        (FLAT, flat, RECORD_BYTES),
        (HNSW, linked, RECORD_BYTES),
        (SUMMARY, summary, summary_bytes),
    ):
        figures[name] = {
            **scores(memory(test.window), test),
            'bytes': record_bytes * len(train),
            'online records': len(train),
            'context tokens': per_record * NEIGHBOURS,
            'history tokens': per_record * len(train),
        }
    figures[HNSW]['recall@4'] = recall
    return figures


def _figures_of(policy: Policy, test: LearningSet) -> Mapping[str, float]:
    return {
        **policy.scores(test),
        'bytes': policy.stored_bytes,
        'parameters': policy.parameters,
        'online records': 0,
        'context tokens': 0,
        'history tokens': 0,
    }


def _choosing(seed: int) -> LearningSet:
    # Beside the two that `draw_sets` takes from a seed.
    random = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
    return draw_situations(_CHOOSING, draw_identities(_CHOOSING, random), random)


def _time(
    seed: int, histories: list[int], protocol: Mapping[str, Any], tell: Tell
) -> dict[str, dict[str, float]]:
    sets = sets_of(seed, max(histories))
    little = sets.train.take(slice(0, 256))
    recipe = dataclasses.replace(reference_recipe(True), steps=_STEPS_FOR_TIMING)
    policies = (
        train_reference(little, seed, recipe, silent),
        train_robot(little, seed, dataclasses.replace(robot_recipe(True), steps=100), silent),
    )
    return query_cost(
        sets.train, _choosing(seed), sets.test, histories, policies, Protocol(**protocol), tell
    )


def tables(results: Results) -> list[Table]:
    """Return F1, storage and time beside the paper's."""
    return report.tables(results)


def draw(results: Results, figure: Figure) -> None:
    """Draw F1, storage and time against the length of the history."""
    report.draw(results, figure)


EXPERIMENT = Experiment(
    name='scalability',
    version=1,
    title='Long history and scalability (experiment 1)',
    plan=plan,
    run_cell=run_cell,
    tables=tables,
    draw=draw,
    paper=report.PAPER_CONTENT,
    quick_note=f'histories of {QUICK_HISTORIES[0]} and {QUICK_HISTORIES[1]:,} only; '
    'the reference policy for the first of them; fewer steps, few timings',
    data_sets=lambda seed, quick: {
        f'{part}-{report.condition(history)}': learning
        for history in (QUICK_HISTORIES if quick else HISTORIES)
        for part, learning in sets_of(seed, history).by_name().items()
    },
)
