# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From labelled situations to a policy file: split, fit, calibrate, choose, measure, export."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import nn

from thinking_policy.policy.activities import ThinkingActivity
from thinking_policy.policy.manifest import Manifest
from thinking_policy.training.errors import LearningError
from thinking_policy.training.evaluation import Evaluation, evaluate
from thinking_policy.training.export import assemble, export_graph, predictor
from thinking_policy.training.fit import Fitted, Progress, fit, make_deterministic
from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.networks import (
    LARGEST_LENGTH,
    ReferencePolicy,
    RobotPolicy,
    count_parameters,
)
from thinking_policy.training.platt import calibrate
from thinking_policy.training.recipe import RECIPES, Recipe
from thinking_policy.training.splitting import split_by_episode
from thinking_policy.training.stored_weights import WeightFormat
from thinking_policy.training.thresholds import choose_thresholds

# A fixed date, so that the bytes don't tell when somebody ran this.
CREATED = '2026-12-01T00:00:00Z'


@dataclass(frozen=True)
class Parts:
    """Episodes to learn from, to choose on and to measure on; no episode is in two of them.

    Attributes:
        learning: What the network is fitted on.
        choosing: Decides when to stop, calibration and thresholds.
        measuring: Gives the figures; None: they are those of `choosing`, and say so.
    """

    learning: LearningSet
    choosing: LearningSet
    measuring: LearningSet | None


@dataclass(frozen=True)
class Plan:
    """What kind of policy.

    Attributes:
        network: `robot` or `reference`.
        recipe: How it is fitted.
        width: Units of each hidden layer of a robot policy.
        weights: How they are stored; None: int8 for the robot, float32 for the reference.
        largest_false: Share of rows without need in which an activity may be active.
        robot: Robot or robot family, for the manifest.
        parent: Version of the policy that this one comes from; empty: none.
        created: ISO 8601 time for the manifest.
        training: Further numbers for the manifest.
        sources: What the rows were made of, for the manifest.
    """

    network: str
    recipe: Recipe
    width: int = RobotPolicy.WIDTH
    weights: WeightFormat | None = None
    largest_false: float = 1.0
    robot: str = 'robot'
    parent: str = ''
    created: str = CREATED
    training: Mapping[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trained:
    """A policy file and how it came about.

    Attributes:
        data: Its bytes.
        manifest: As it stands in them.
        fitted: How the fit ended.
        calibrated: Ids of the activities whose logits were scaled.
        evaluation: Figures on the rows for measuring.
    """

    data: bytes
    manifest: Manifest
    fitted: Fitted
    calibrated: tuple[str, ...]
    evaluation: Evaluation


def split(
    learning: LearningSet, validation: float, test: float, seed: int, source: str = 'learning set'
) -> Parts:
    """Deal out the episodes of a learning set.

    Args:
        learning: The whole.
        validation: Share of the rows to choose on.
        test: Share of the rows to measure on; 0: none.
        seed: Decides which.
        source: File named in errors.

    Raises:
        LearningError: Shares out of range, or too few episodes.
    """
    if not (0 < validation < 1 and 0 <= test < 1 and validation + test < 1):
        raise LearningError(
            f'expected shares 0 < validation, 0 <= test, validation + test < 1, found '
            f'{validation:g} and {test:g}'
        )
    shares = [1 - validation - test, validation, test]
    parts = split_by_episode(learning, shares if test else shares[:2], seed, source)
    return Parts(parts[0], parts[1], parts[2] if test else None)


def train_policy(
    parts: Parts,
    activities: Sequence[ThinkingActivity],
    plan: Plan,
    *,
    truth: Parts | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> Trained:
    """Make a policy file.

    Args:
        parts: What it learns from; labels may be a teacher's.
        activities: The activities of the labels, in their order, with the least on-thresholds.
        plan: What kind.
        truth: The same rows with the labels that thresholds and figures are judged by; None:
            those of `parts`.
        progress: Called while fitting.
        checkpoint: As `fit` has it.

    Raises:
        LearningError: Data that nothing can be learned from; see also `fit`.
        KeyboardInterrupt: Ctrl-C.
    """
    truth = truth or parts
    learning = parts.learning
    make_deterministic(plan.recipe.seed)
    network = make_network(plan.network, learning, plan.width)
    fitted = fit(
        network,
        learning,
        plan.recipe,
        validation=parts.choosing,
        progress=progress,
        checkpoint=checkpoint,
    )
    scaled = calibrate(network, last_layer(network), truth.choosing)
    weights = plan.weights or ('int8' if plan.network == 'robot' else 'float32')
    graph = export_graph(network, learning.specs, weights)
    predict = predictor(graph)
    choosing = truth.choosing
    chosen = choose_thresholds(
        activities,
        predict(*choosing.packed()),
        choosing.labels,
        choosing.weight,
        largest_false=plan.largest_false,
    )
    measuring = truth.measuring or choosing
    evaluation = evaluate(
        predict(*measuring.packed()), measuring, [activity.threshold for activity in chosen]
    )
    data, manifest = assemble(
        graph, _manifest(plan, learning, chosen, network, fitted, evaluation, truth)
    )
    names = tuple(activities[index].id for index in scaled)
    return Trained(data, manifest, fitted, names, evaluation)


def _manifest(
    plan: Plan,
    learning: LearningSet,
    activities: tuple[ThinkingActivity, ...],
    network: nn.Module,
    fitted: Fitted,
    evaluation: Evaluation,
    truth: Parts,
) -> Manifest:
    return Manifest(
        robot=plan.robot,
        signals=learning.signals,
        window_length=learning.length,
        tick_period_s=learning.tick_period_s,
        activities=activities,
        inputs=learning.specs,
        event_vocabulary=learning.vocabulary,
        recent_events=learning.recent_events,
        network=network_name(network),
        parameters=count_parameters(network),
        training_data_sha256=learning.sha256,
        training={
            **recipe_numbers(plan.recipe),
            'rows': float(len(learning)),
            'steps_done': float(fitted.steps),
            'measured_on_validation': float(truth.measuring is None),
            **plan.training,
        },
        metrics=evaluation.figures(),
        parent=plan.parent,
        sources=plan.sources,
        created=plan.created,
    )


def make_network(kind: str, learning: LearningSet, width: int = RobotPolicy.WIDTH) -> nn.Module:
    """Return an untrained network for a learning set.

    Args:
        kind: `robot` or `reference`.
        learning: Says length, signals, activities and vocabulary.
        width: Units of each hidden layer of a robot policy.

    Raises:
        LearningError: The reference network can't take the data, or an unknown kind.
    """
    shape = learning.length, len(learning.signals), len(learning.activities)
    if kind == 'robot':
        return RobotPolicy(*shape, width, len(learning.vocabulary))
    if kind != 'reference':
        raise LearningError(f"expected network 'robot' or 'reference', found {kind!r}")
    if learning.vocabulary:
        raise LearningError(
            'the reference network reads no events; use --recipe robot or --events none'
        )
    if learning.length > LARGEST_LENGTH:
        raise LearningError(
            f'the reference network takes up to {LARGEST_LENGTH} samples per signal, found '
            f'{learning.length}'
        )
    return ReferencePolicy(*shape)


def last_layer(network: nn.Module) -> nn.Linear:
    """Return the layer that gives the logits."""
    if isinstance(network, RobotPolicy):
        return network.last
    layer = network.head[-1] if isinstance(network, ReferencePolicy) else None
    if not isinstance(layer, nn.Linear):
        raise LearningError(f'{type(network).__name__} has no last layer that is known')
    return layer


def network_name(network: nn.Module) -> str:
    """Return the short name of an architecture, for the manifest."""
    if isinstance(network, RobotPolicy):
        width = network.second.in_features
        return f'centred perceptron {width}-{width}'
    return 'transformer 4x192'


def recipe_of(
    name: str,
    seed: int,
    steps: int = 0,
    batch: int = 0,
    threads: int = 0,
    patience: int = -1,
    balance: float = 0.0,
) -> Recipe:
    """Return a preset with some numbers changed; 0 and, for patience, -1 keep the preset's."""
    preset = RECIPES[name]
    return dataclasses.replace(
        preset,
        seed=seed,
        steps=steps or preset.steps,
        batch=batch or preset.batch,
        threads=threads or preset.threads,
        patience=preset.patience if patience < 0 else patience,
        balance=balance or preset.balance,
    )


def recipe_numbers(recipe: Recipe) -> dict[str, float]:
    """Return a recipe as the manifest carries it, without what is not in use."""
    numbers = {
        name: float(value)
        for name, value in dataclasses.asdict(recipe).items()
        if not isinstance(value, dict)
    }
    for name, value in dataclasses.asdict(recipe.augmentation).items():
        if value:
            numbers[name] = float(value)
    return numbers


def chosen_activities(
    activities: Sequence[ThinkingActivity], learning: LearningSet
) -> tuple[ThinkingActivity, ...]:
    """Return those of a list of activities that a learning set labels, in its order."""
    by_id = {activity.id: activity for activity in activities}
    return tuple(by_id[name] for name in learning.activities)
