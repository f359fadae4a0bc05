# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of training share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from thinking_policy.policy import ManifestSignal, PolicyRuntime
from thinking_policy.training.export import Predict, predictor
from thinking_policy.training.learning_set import LearningSet


@pytest.fixture(scope='session')
def bundled_path() -> Path:
    return Path(__file__).resolve().parents[2] / 'config' / 'policy.onnx'


@pytest.fixture(scope='session')
def activity_list() -> Path:
    return Path(__file__).resolve().parents[2] / 'config' / 'thinking.yaml'


@pytest.fixture(scope='session')
def bundled(bundled_path: Path) -> PolicyRuntime:
    return PolicyRuntime.load(bundled_path)


@pytest.fixture(scope='session')
def bundled_predict(bundled_path: Path) -> Predict:
    return predictor(bundled_path.read_bytes())


def learning_set(window, labels, valid=None, weight=None, episode=None, events=None):
    """Return a learning set of signals s0... and activities g0...; every row its own episode."""
    window = np.asarray(window, np.float32)
    labels = np.asarray(labels, np.float32)
    return LearningSet(
        window,
        np.ones(window.shape, np.bool_) if valid is None else valid,
        labels,
        np.ones_like(labels) if weight is None else weight,
        np.arange(len(window)) if episode is None else np.asarray(episode),
        tuple(f'g{k}' for k in range(labels.shape[1])),
        tuple(ManifestSignal(f's{k}', '', 0.0, 1.0, 0.5) for k in range(window.shape[2])),
        0.5,
        events,
    )


@pytest.fixture(scope='session')
def make_learning_set() -> Callable[..., LearningSet]:
    return learning_set


def rising_or_high(rows=600, seed=0):
    """Return situations: g0 where the first signal rises, g1 where the second one is high."""
    random = np.random.default_rng(seed)
    rises, high = random.random(rows) < 0.4, random.random(rows) < 0.3
    ramp = np.linspace(-0.5, 0.5, 5)[None, :] * np.where(rises, 1, -1)[:, None]
    first = 0.5 + ramp * random.uniform(0.5, 1, (rows, 1))
    second = np.where(high, 0.8, 0.2)[:, None] + np.zeros((rows, 5))
    window = np.stack((first, second), 2) + 0.03 * random.standard_normal((rows, 5, 2))
    labels = np.stack((rises, high), 1)
    return learning_set(window, labels, episode=np.arange(rows) // 30)


@pytest.fixture(scope='session')
def situations() -> Callable[..., LearningSet]:
    return rising_or_high


@pytest.fixture
def two_activities(tmp_path: Path) -> Path:
    path = tmp_path / 'thinking.yaml'
    entries = [f'  - {{id: g{k}, title: G {k}, directive: Think of {k}.}}' for k in range(3)]
    path.write_text('\n'.join(('activities:', *entries, '')))
    return path


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1234)
