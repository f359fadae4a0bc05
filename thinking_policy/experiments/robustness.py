# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is left of a policy's answers when samples, signals or the beginning are missing?

The robot policies of `ordering`, `evolution` and `rare`, as files that ONNX Runtime reads, and the
policy that ships, on lives of simulated robots that it has never met. Each is asked about the same
test as always, with up to half of the samples lost at random, with windows that have only begun,
and with one signal missing. No policy is trained for one of these; it is the same file throughout.

Information goes with the samples. For `ordering` the table says how much: a classifier that knows
the four orders, the noise and how components differ names the most probable order on the same
samples. The lives of the bundled policy have labels that know what can be seen: what no signal
shows need not be said.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thinking_policy.experiments import evolution, ordering, rare
from thinking_policy.experiments.experiment import (
    Cell,
    Experiment,
    Figures,
    Options,
    Results,
    Stat,
    Table,
    Tell,
)
from thinking_policy.experiments.order_bound import name_activities
from thinking_policy.experiments.plotting import Series, lines
from thinking_policy.experiments.policies import THRESHOLD, Policy, robot_recipe
from thinking_policy.experiments.signals import SIGNAL_NAMES, WINDOW_LENGTH
from thinking_policy.policy import read_manifest
from thinking_policy.shipped import config_folder
from thinking_policy.training.export import predictor
from thinking_policy.training.learning_set import LearningSet, concatenate
from thinking_policy.training.lives import (
    CLEAN,
    Recording,
    draw_recording,
    labels_of,
    situations_of,
)
from thinking_policy.training.metrics import micro
from thinking_policy.training.scenarios import SCENARIOS

NAME = 'robustness'
ORDERING, BOUND, EVOLUTION = 'ordering', 'ordering, bound', 'evolution'
STREAM, RARE_ALONE, BUNDLED = 'rare, stream', 'rare, pattern alone', 'bundled policy'
# Cells and what each gives.
TASKS = {
    'ordering': (ORDERING, BOUND),
    'evolution': (EVOLUTION,),
    'rare': (STREAM, RARE_ALONE),
    'bundled': (BUNDLED,),
}
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
NEWEST = tuple(range(1, WINDOW_LENGTH + 1))
_RARE_HISTORY = 500
_TICKS = 100
_LIVES, _QUICK_LIVES = 6, 2  # of each scenario

# Situations to bool [N, G]: what a method names.
Name = Callable[[LearningSet], NDArray[np.bool_]]


@dataclass(frozen=True)
class Loss:
    """What is missing: a share of the samples, all but the newest samples, or a signal."""

    share: float = 0.0
    newest: int = WINDOW_LENGTH
    signal: str = ''

    @property
    def metric(self) -> str:
        """Name among a cell's figures."""
        if self.signal:
            return f'without {self.signal}'
        if self.newest < WINDOW_LENGTH:
            return f'newest {self.newest}'
        return f'invalid {self.share:g}'

    def left(self, valid: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
        """Return what is still valid of [N, T, F]; a higher share takes more of the same."""
        left = valid & (np.random.default_rng(seed).random(valid.shape) >= self.share)
        left[:, : WINDOW_LENGTH - self.newest] = False
        if self.signal:
            left[:, :, SIGNAL_NAMES.index(self.signal)] = False
        return left


LOSSES = (
    *(Loss(share=share) for share in SHARES),
    *(Loss(newest=count) for count in NEWEST[:-1]),
    *(Loss(signal=name) for name in SIGNAL_NAMES),
)


def masked(learning: LearningSet, left: NDArray[np.bool_]) -> LearningSet:
    """Return the same situations with only some samples valid."""
    window = np.where(left, learning.window, np.float32(0))
    return dataclasses.replace(learning, window=window, valid=left)


def plan(options: Options) -> list[Cell]:
    """Return a cell for each seed and policy."""
    recipe = {'recipe': asdict(robot_recipe(options.quick))}
    version = {'version': read_manifest(config_folder() / 'policy.onnx').version}
    settings: dict[str, dict[str, Any]] = {
        'ordering': recipe,
        'evolution': recipe,
        'rare': {'recipe': asdict(rare.better(robot_recipe(options.quick)))},
        'bundled': version,
    }
    return [
        Cell(task, seed, '', {'quick': options.quick, **settings[task]})
        for seed in options.seeds
        for task in TASKS
    ]


def run_cell(cell: Cell, tell: Tell) -> Figures:
    """Return F1 for each loss."""
    seed, quick = cell.seed, bool(cell.settings['quick'])
    if cell.name == 'bundled':
        return {BUNDLED: _bundled(seed, _QUICK_LIVES if quick else _LIVES)}
    if cell.name == 'rare':
        policy, sets = rare.trained_robot(seed, quick, tell, _RARE_HISTORY)
        return {
            STREAM: f1_by_loss(_names(policy), sets.stream, seed),
            RARE_ALONE: f1_by_loss(_names(policy), sets.rare, seed),
        }
    if cell.name == 'evolution':
        policy, pairs = evolution.trained_robot(seed, quick, tell)
        return {EVOLUTION: f1_by_loss(_names(policy), pairs.test, seed)}
    policy, orders = ordering.trained_robot(seed, quick, tell)
    return {
        ORDERING: f1_by_loss(_names(policy), orders.test, seed),
        BOUND: f1_by_loss(
            lambda rows: name_activities(rows.window, rows.valid), orders.test, seed
        ),
    }


def f1_by_loss(name: Name, test: LearningSet, seed: int) -> dict[str, float]:
    """Return micro-averaged F1 by the metric of each loss; all methods lose the same samples."""
    figures = {}
    for loss in LOSSES:
        rows = masked(test, loss.left(test.valid, seed))
        figures[loss.metric] = micro(name(rows), test.labels, test.weight).f1
    return figures


def _names(policy: Policy) -> Name:
    return lambda rows: policy.predict(rows) >= THRESHOLD


def _bundled(seed: int, lives: int) -> dict[str, float]:
    """Return the bundled policy's F1 in lives of which healthy ones are half."""
    path = config_folder() / 'policy.onnx'
    predict = predictor(path.read_bytes())
    on = np.array([activity.threshold for activity in read_manifest(path).activities], np.float32)
    random = np.random.default_rng(seed)
    names = [n for n in SCENARIOS for _ in range(len(SCENARIOS) - 1 if n == 'healthy' else 1)]
    recordings = [draw_recording(n, _TICKS, random, CLEAN) for n in names for _ in range(lives)]
    figures = {}
    for loss in LOSSES:
        rows = concatenate([_what_is_left(r, loss, seed + n) for n, r in enumerate(recordings)])
        # Windows so short that nothing need be said have no F1.
        if (rows.labels * rows.weight).any():
            named = predict(*rows.packed()) >= on
            figures[loss.metric] = micro(named, rows.labels, rows.weight).f1
    return figures


def _what_is_left(recording: Recording, loss: Loss, seed: int) -> LearningSet:
    """Return a life's situations; what calls for thinking is judged by what can be seen."""
    whole = situations_of(recording)
    left = loss.left(whole.valid, seed)
    labels, weight = labels_of(recording, left)
    return dataclasses.replace(masked(whole, left), labels=labels, weight=weight)


def tables(results: Results) -> list[Table]:
    """Return a table for each kind of loss."""
    seeds = 'mean over the seeds; deviations stand in results.json'
    return [
        _table(
            results,
            f'Micro-F1 with samples lost at random ({seeds})',
            {f'{loss.share:.0%}': loss for loss in LOSSES[: len(SHARES)]},
            ('bound: names the most probable order, knowing orders, noise and how components '
             'differ. Where it falls, the information is gone.',),
        ),
        _table(
            results,
            f'Micro-F1 with the newest samples only ({seeds})',
            {str(count): Loss(newest=count) for count in NEWEST},
            (
                'ordering with one sample: all orders end alike, and nothing can be known. The '
                'bundled policy with less than half a window: nothing need be said yet.',
            ),
        ),
        _table(
            results,
            f'Micro-F1 without one signal ({seeds})',
            {name: Loss(signal=name) for name in SIGNAL_NAMES},
        ),
    ]  # fmt: skip


def draw(results: Results, figure: Figure) -> None:
    """Draw F1 against the share that is lost, the samples that are there, the signal missing."""
    figure.set_size_inches(10.5, 4.0)
    lost, short, without = figure.subplots(1, 3, sharey=True)
    panels = (
        (lost, [Loss(share=share) for share in SHARES], [f'{share:.0%}' for share in SHARES]),
        (short, [Loss(newest=count) for count in NEWEST], [str(count) for count in NEWEST]),
        (without, [Loss(signal=name) for name in SIGNAL_NAMES], list(SIGNAL_NAMES)),
    )
    for axes, losses, labels in panels:
        lines(
            axes,
            [
                Series(
                    method,
                    range(len(losses)),
                    [results.stat(task, method, loss.metric) for loss in losses],
                )
                for task, methods in TASKS.items()
                for method in methods
                if method != RARE_ALONE  # six lines are one too many to tell apart
            ],
            joined=axes is not without,
        )
        axes.set_xticks(range(len(losses)), labels)
    without.tick_params(axis='x', labelrotation=60)
    for axes, label in (
        (lost, 'samples lost'),
        (short, 'newest samples only'),
        (without, 'missing'),
    ):
        axes.set_xlabel(label)
    lost.set_ylim(0.0, 1.04)
    lost.set_ylabel('micro-F1')
    lost.legend(fontsize=7.5, loc='lower left')


def _table(
    results: Results, title: str, losses: dict[str, Loss], notes: tuple[str, ...] = ()
) -> Table:
    rows = [
        [method, *(_mean(results.stat(task, method, loss.metric)) for loss in losses.values())]
        for task, methods in TASKS.items()
        for method in methods
    ]
    return Table(title, ('policy', *losses), rows, notes)


def _mean(stat: Stat) -> str:
    return f'{stat.mean:.3f}' if stat.n else '–'


EXPERIMENT = Experiment(
    name=NAME,
    version=1,
    title='Robustness: the same policies with samples, beginnings or signals missing',
    plan=plan,
    run_cell=run_cell,
    tables=tables,
    draw=draw,
    quick_note='fewer steps, data and lives',
)
