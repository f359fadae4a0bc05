# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of training share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from thinking_policy.policy import PolicyRuntime
from thinking_policy.training.evaluate import Predict


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
    from thinking_policy.training.build_policy import predictor

    return predictor(bundled_path.read_bytes())


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1234)
