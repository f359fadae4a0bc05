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


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1234)
