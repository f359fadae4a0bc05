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

from dataclasses import asdict

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thinking_policy.experiments.baselines import Retrieval, SummaryForest
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
    scores,
    train_reference,
    train_robot,
)
from thinking_policy.experiments.report import COMPARISON_COLUMNS, comparison
from thinking_policy.experiments.signals import (
    ACTIVITIES,
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

NAME = 'ordering'
START, END = 0.4, 0.6
INTERMEDIATES = np.linspace(0.2, 0.8, WINDOW_LENGTH - 2)
# As far from each other as four orders of eight values nearly can be (a search over random
# quadruples: the least squared distance in ranks is 98; 112 is the most that a mean can reach).
ORDERS = ((0, 7, 4, 1, 2, 3, 6, 5), (6, 5, 0, 7, 3, 1, 4, 2), (1, 2, 7, 5, 4, 6, 0, 3),
          (6, 0, 3, 1, 2, 5, 4, 7))  # fmt: skip
IDENTITIES = 20


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
    labels = label_rows([activities_of(int(number)) for number in order])
    return learning_set(sense(latent, identities, who, random), labels, who)


def draw_sets(seed: int, train: int, test: int, identities: int = IDENTITIES) -> Sets:
    """Return training and test situations of a seed.

    Args:
        seed: Decides everything.
        train: Situations to learn from.
        test: Situations to be judged on.
        identities: Components of each; none is in both.
    """
    return draw_both(draw_situations, seed, train, test, identities)


SUMMARY_RAG, SUMMARY_FOREST = 'Summary-RAG', 'RF-Summary'
METHODS = (REFERENCE_NAME, ROBOT_NAME, SUMMARY_RAG, SUMMARY_FOREST)
PAPER = {
    REFERENCE_NAME: Stat(1.0, 0.0, 5),
    ROBOT_NAME: Stat(1.0, 0.0, 5),
    SUMMARY_RAG: Stat(0.566, 0.045, 5),
    SUMMARY_FOREST: Stat(0.383, 0.033, 5),
}


def sets_of(seed: int, quick: bool) -> Sets:
    """Return what a seed sees in the full or the quick form."""
    return draw_sets(seed, 640, 200) if quick else draw_sets(seed, 1280, 400)


def trained_robot(seed: int, quick: bool = False, tell: Tell = silent) -> tuple[Policy, Sets]:
    """Return the robot policy of a seed, and the sets that it learned from and is judged on."""
    sets = sets_of(seed, quick)
    return train_robot(sets.train, seed, robot_recipe(quick), tell), sets


def plan(options: Options) -> list[Cell]:
    """Return three cells for each seed: one for each policy, one for what is compared with."""
    quick = {'quick': options.quick}
    reference, robot = reference_recipe(options.quick), robot_recipe(options.quick)
    return [
        Cell(NAME, seed, part, settings)
        for seed in options.seeds
        for part, settings in (
            ('reference', {**quick, 'recipe': asdict(reference)}),
            ('robot', {**quick, 'recipe': asdict(robot)}),
            ('baselines', quick),
        )
    ]


def run_cell(cell: Cell, tell: Tell) -> Figures:
    """Return precision, recall and F1 of one or two methods."""
    quick = bool(cell.settings['quick'])
    if cell.part == 'robot':
        policy, sets = trained_robot(cell.seed, quick, tell)
        return {ROBOT_NAME: policy.scores(sets.test)}
    sets = sets_of(cell.seed, quick)
    if cell.part == 'reference':
        policy = train_reference(sets.train, cell.seed, reference_recipe(quick), tell)
        return {REFERENCE_NAME: policy.scores(sets.test)}
    train, test = sets.train, sets.test
    nearest = Retrieval(train.window, train.labels, 'summary', take='union')
    forest = SummaryForest(train.window, train.labels, cell.seed)
    return {
        SUMMARY_RAG: scores(nearest(test.window), test),
        SUMMARY_FOREST: scores(forest(test.window), test),
    }


def tables(results: Results) -> list[Table]:
    """Return every method beside the paper's."""
    return [
        Table(
            'Micro-F1 on unseen components; the order of observations alone decides',
            COMPARISON_COLUMNS,
            comparison(results, NAME, METHODS, PAPER),
        )
    ]


def draw(results: Results, figure: Figure) -> None:
    """Draw a pair of bars for each method."""
    stats = [results.stat(NAME, method) for method in METHODS]
    compare_bars(figure.subplots(), METHODS, stats, [PAPER[method] for method in METHODS])


EXPERIMENT = Experiment(
    name=NAME,
    version=1,
    title='Temporal order (experiment 2)',
    plan=plan,
    run_cell=run_cell,
    tables=tables,
    draw=draw,
    paper={NAME: {method: asdict(stat) for method, stat in PAPER.items()}},
    quick_note='half the data, fewer steps',
    data_sets=lambda seed, quick: sets_of(seed, quick).by_name(),
)
