# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiment 3: does it matter how a state was reached?

Situations come in pairs that end in exactly the same sample. In one, temperature and current
rise to it: that calls for trend, cause and hazard; in the other they fall to it: trend and
recovery. What sees only the last sample sees no difference. It can know that a trend is due;
for the rest it names one side, both or none, which makes 0.57...0.77 and 0.70 on average.
"""

from __future__ import annotations

import dataclasses
from dataclasses import asdict

import numpy as np
from matplotlib.figure import Figure

from thinking_policy.experiments.experiment import (
    Cell,
    Experiment,
    Figures,
    Options,
    Results,
    Stat,
    Table,
    Tell,
    silent,
)
from thinking_policy.experiments.plotting import compare_bars
from thinking_policy.experiments.policies import (
    REFERENCE_NAME,
    ROBOT_NAME,
    Policy,
    reference_recipe,
    robot_recipe,
    train_reference,
    train_robot,
)
from thinking_policy.experiments.report import COMPARISON_COLUMNS, comparison
from thinking_policy.experiments.signals import (
    SIGNAL_NAMES,
    SIGNALS,
    WINDOW_LENGTH,
    Identities,
    Sets,
    draw_both,
    label_rows,
    learning_set,
    sense,
)
from thinking_policy.training.learning_set import LearningSet

NAME = 'evolution'
IDENTITIES = 20
RISING = ('trend', 'cause', 'hazard')
FALLING = ('trend', 'recovery')
# The moderate state that both end in, and how far from it they begin; on the scaled axis.
END, END_SPREAD = 0.5, 0.05
LEAST_WAY, LARGEST_WAY = 0.2, 0.4
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


def last_sample(learning: LearningSet) -> LearningSet:
    """Return the same situations with windows of one sample, the last."""
    return dataclasses.replace(
        learning,
        window=np.ascontiguousarray(learning.window[:, -1:]),
        valid=np.ascontiguousarray(learning.valid[:, -1:]),
    )


def draw_sets(seed: int, train: int, test: int, identities: int = IDENTITIES) -> Sets:
    """Return training and test pairs of a seed.

    Args:
        seed: Decides everything.
        train: Pairs to learn from.
        test: Pairs to be judged on.
        identities: Components of each; none is in both.
    """
    return draw_both(draw_pairs, seed, train, test, identities)


CURRENT_STATE, CURRENT_STATE_ROBOT = 'Current-State-Only', 'Current-State-Only, robot network'
METHODS = (REFERENCE_NAME, ROBOT_NAME, CURRENT_STATE, CURRENT_STATE_ROBOT)
PAPER = {
    REFERENCE_NAME: Stat(1.0, 0.0, 5),
    ROBOT_NAME: Stat(1.0, 0.0, 5),
    CURRENT_STATE: Stat(0.711, 0.044, 5),
    CURRENT_STATE_ROBOT: Stat(0.711, 0.044, 5),
}


def sets_of(seed: int, quick: bool) -> Sets:
    """Return what a seed sees in the full or the quick form."""
    return draw_sets(seed, 320, 100) if quick else draw_sets(seed, 640, 200)


def trained_robot(seed: int, quick: bool = False, tell: Tell = silent) -> tuple[Policy, Sets]:
    """Return the robot policy of a seed, and the sets that it learned from and is judged on."""
    sets = sets_of(seed, quick)
    return train_robot(sets.train, seed, robot_recipe(quick), tell), sets


def plan(options: Options) -> list[Cell]:
    """Return a cell for each seed and method."""
    reference, robot = reference_recipe(options.quick), robot_recipe(options.quick)
    return [
        Cell(NAME, seed, part, {'quick': options.quick, 'recipe': asdict(recipe)})
        for seed in options.seeds
        for part, recipe in (
            ('reference', reference),
            ('robot', robot),
            ('current-state', reference),
            ('current-state-robot', robot),
        )
    ]


def run_cell(cell: Cell, tell: Tell) -> Figures:
    """Return precision, recall and F1 of one method."""
    quick = bool(cell.settings['quick'])
    if cell.part == 'robot':
        policy, sets = trained_robot(cell.seed, quick, tell)
        return {ROBOT_NAME: policy.scores(sets.test)}
    train, test = (sets := sets_of(cell.seed, quick)).train, sets.test
    if cell.part.startswith('current-state'):
        train, test = last_sample(train), last_sample(test)
    if cell.part == 'current-state-robot':
        policy = train_robot(train, cell.seed, robot_recipe(quick), tell)
        return {CURRENT_STATE_ROBOT: policy.scores(test)}
    policy = train_reference(train, cell.seed, reference_recipe(quick), tell)
    name = REFERENCE_NAME if cell.part == 'reference' else CURRENT_STATE
    return {name: policy.scores(test)}


def tables(results: Results) -> list[Table]:
    """Return every method beside the paper's."""
    return [
        Table(
            'Micro-F1 on unseen components; both of a pair end in the same sample',
            COMPARISON_COLUMNS,
            comparison(results, NAME, METHODS, PAPER),
        )
    ]


def draw(results: Results, figure: Figure) -> None:
    """Draw a pair of bars for each method."""
    stats = [results.stat(NAME, method) for method in METHODS]
    labels = [method.replace(', ', ',\n') for method in METHODS]
    compare_bars(figure.subplots(), labels, stats, [PAPER[method] for method in METHODS])


EXPERIMENT = Experiment(
    name=NAME,
    version=1,
    title='Situation evolution (experiment 3)',
    plan=plan,
    run_cell=run_cell,
    tables=tables,
    draw=draw,
    paper={NAME: {method: asdict(stat) for method, stat in PAPER.items()}},
    quick_note='half the data, fewer steps',
    data_sets=lambda seed, quick: sets_of(seed, quick).by_name(),
)
