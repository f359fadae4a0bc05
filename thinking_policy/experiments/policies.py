# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The contenders that learn: the reference policy and the robot policy, from data to answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from thinking_policy.experiments.experiment import Tell
from thinking_policy.policy.activities import ThinkingActivity
from thinking_policy.policy.manifest import Manifest
from thinking_policy.training.export import assemble, export_graph, predictor
from thinking_policy.training.fit import fit, make_deterministic
from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.metrics import micro
from thinking_policy.training.networks import (
    Probabilities,
    ReferencePolicy,
    RobotPolicy,
    count_parameters,
)
from thinking_policy.training.recipe import Augmentation, Recipe
from thinking_policy.training.train import CREATED, network_name

REFERENCE_NAME, ROBOT_NAME = 'reference policy', 'robot policy'
# Probability from which an activity is called for. Not tuned: nothing is held back for it.
THRESHOLD = 0.5
_BATCH = 256
# Components differ more than a few of them show: signals are shifted and stretched at random,
# further than components differ from each other. Samples get lost, as they do on a robot.
_ROBOT = Recipe(
    steps=4000,
    batch=256,
    learning_rate=3e-3,
    augmentation=Augmentation(
        offset=0.6, gain=0.4, noise=0.04, drop=0.6, missing=0.2, short=0.1, masks_from=0.2
    ),
)
# The reference policy is judged on whole windows only, and is spared the masks: with them it
# needs several times the steps.
_REFERENCE = Recipe(
    steps=500,
    batch=64,
    learning_rate=1e-3,
    augmentation=Augmentation(offset=0.6, gain=0.4, noise=0.02),
    largest_gradient=1.0,
)
_FLOAT_BYTES = 4

Predict = Callable[[LearningSet], NDArray[np.float32]]


@dataclass(frozen=True)
class Policy:
    """A policy that has learned.

    Attributes:
        predict: Probabilities float32 [N, G] of situations.
        parameters: Number of weights.
        stored_bytes: Of the file that a robot loads; for the reference policy, which is not
            meant for robots, of its weights in float32.
        network: The network itself, in evaluation mode; gives logits.
        model: The robot policy's file; empty for the reference policy.
    """

    predict: Predict
    parameters: int
    stored_bytes: int
    network: nn.Module
    model: bytes = b''

    def scores(self, test: LearningSet) -> dict[str, float]:
        """Return micro-averaged precision, recall and F1."""
        return scores(self.predict(test) >= THRESHOLD, test)


def robot_recipe(quick: bool) -> Recipe:
    """Return how the experiments fit the robot policy."""
    return dataclasses.replace(_ROBOT, steps=1200) if quick else _ROBOT


def reference_recipe(quick: bool) -> Recipe:
    """Return how the experiments fit the reference policy."""
    return dataclasses.replace(_REFERENCE, steps=300) if quick else _REFERENCE


def train_robot(learning: LearningSet, seed: int, recipe: Recipe, tell: Tell) -> Policy:
    """Fit the robot policy and return it as robots have it: a file, read by ONNX Runtime.

    Args:
        learning: What it learns from.
        seed: Decides weights, order and augmentation.
        recipe: How; its seed is replaced.
        tell: Told the progress.
    """
    make_deterministic(seed)
    network = RobotPolicy(learning.length, len(learning.signals), len(learning.activities))
    _fit(network, learning, seed, recipe, tell)
    graph = export_graph(network, learning.specs)
    model, _ = assemble(graph, _manifest(learning, network, recipe, seed))
    run = predictor(model)
    return Policy(
        lambda rows: run(*rows.packed()), count_parameters(network), len(model), network, model
    )


def train_reference(learning: LearningSet, seed: int, recipe: Recipe, tell: Tell) -> Policy:
    """Fit the paper's transformer; the arguments are those of `train_robot`."""
    make_deterministic(seed)
    network = ReferencePolicy(learning.length, len(learning.signals), len(learning.activities))
    _fit(network, learning, seed, recipe, tell)
    parameters = count_parameters(network)
    return Policy(_torch_predictor(network), parameters, _FLOAT_BYTES * parameters, network)


def scores(named: NDArray[np.bool_], test: LearningSet) -> dict[str, float]:
    """Return micro-averaged precision, recall and F1 of what a method named, bool [N, G]."""
    return dataclasses.asdict(micro(named, test.labels, test.weight))


def recipe_of(settings: Mapping[str, Any]) -> Recipe:
    """Return a recipe from the mapping that `dataclasses.asdict` made of it."""
    return Recipe(**{**settings, 'augmentation': Augmentation(**settings['augmentation'])})


def _fit(network: nn.Module, learning: LearningSet, seed: int, recipe: Recipe, tell: Tell) -> None:
    fit(
        network,
        learning,
        dataclasses.replace(recipe, seed=seed),
        progress=lambda step, steps, loss: tell(
            f'step {step} of {steps}, loss {loss:.3f}', step / steps
        ),
    )


def _torch_predictor(network: nn.Module) -> Predict:
    whole = Probabilities(network).eval()

    def predict(rows: LearningSet) -> NDArray[np.float32]:
        parts = []
        with torch.inference_mode():
            for start in range(0, len(rows), _BATCH):
                parts.append(whole(*rows.inputs(slice(start, start + _BATCH))).numpy())
        return np.concatenate(parts)

    return predict


def _manifest(learning: LearningSet, network: nn.Module, recipe: Recipe, seed: int) -> Manifest:
    return Manifest(
        robot='generated',
        signals=learning.signals,
        window_length=learning.length,
        tick_period_s=learning.tick_period_s,
        activities=tuple(
            ThinkingActivity(name, name.replace('_', ' '), f'Think about {name}.')
            for name in learning.activities
        ),
        inputs=learning.specs,
        network=network_name(network),
        parameters=count_parameters(network),
        training_data_sha256=learning.sha256,
        training={'seed': seed, 'steps': recipe.steps, 'batch': recipe.batch},
        created=CREATED,
    )
