# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Policy files whose answers are known beforehand, and situations to ask them about."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from thinking_policy.policy import Manifest, ManifestSignal, PolicyRuntime, ThinkingActivity
from thinking_policy.policy.manifest import METADATA_KEY
from thinking_policy.policy.model_file import parse_model_file
from thinking_policy.policy.packing import input_specs
from thinking_policy.situation.situation import Situation

SIGNALS = ('temperature', 'current')
LENGTH = 3
WIDTH = 2 * LENGTH * len(SIGNALS)


def _manifest() -> Manifest:
    return Manifest(
        robot='test',
        signals=tuple(ManifestSignal(name, 'x', 0.0, 1.0, 0.5) for name in SIGNALS),
        window_length=LENGTH,
        tick_period_s=0.5,
        activities=(
            ThinkingActivity('hazard', 'Hazard', 'Think of harm.', 0.6, 0.4),
            ThinkingActivity('trend', 'Trend', 'Think of the trend.', 0.5, 0.3),
        ),
        inputs=input_specs(LENGTH, len(SIGNALS), 0, 0),
        opset=17,
        ir_version=8,
    )


def model_of(
    manifest: Manifest,
    *,
    width: int = WIDTH,
    outputs: int = 2,
    opset: int = 17,
    ir_version: int = 8,
    nan: bool = False,
    with_manifest: bool = True,
) -> bytes:
    """Return a policy whose hazard is the sigmoid of the newest temperature, trend always 1/2.

    With `nan` the network divides 0 by the number of valid samples.
    """
    weights = np.zeros((width, outputs), np.float32)
    weights[(LENGTH - 1) * len(SIGNALS), 0] = 1.0
    nodes = [helper.make_node('MatMul', ['signals', 'weights'], ['logits'])]
    if nan:
        nodes += [
            helper.make_node('ReduceSum', ['signals', 'axis'], ['sum'], keepdims=1),
            helper.make_node('Div', ['zero', 'sum'], ['quotient']),
            helper.make_node('Add', ['logits', 'quotient'], ['sums']),
            helper.make_node('Sigmoid', ['sums'], ['probability']),
        ]
    else:
        nodes.append(helper.make_node('Sigmoid', ['logits'], ['probability']))
    constants = [numpy_helper.from_array(weights, 'weights')]
    if nan:
        constants += [
            numpy_helper.from_array(np.array([1], np.int64), 'axis'),
            numpy_helper.from_array(np.zeros((1, 1), np.float32), 'zero'),
        ]
    graph = helper.make_graph(
        nodes,
        'tiny',
        [helper.make_tensor_value_info('signals', TensorProto.FLOAT, ['batch', width])],
        [helper.make_tensor_value_info('probability', TensorProto.FLOAT, ['batch', outputs])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)])
    model.ir_version = ir_version
    digest = parse_model_file(model.SerializeToString(), 'test').graph_sha256
    manifest = dataclasses.replace(manifest, graph_sha256=digest)
    if with_manifest:
        helper.set_model_props(model, {METADATA_KEY: manifest.to_json()})
    return bytes(onnx.ModelProto.SerializeToString(model))


@pytest.fixture
def manifest() -> Manifest:
    return _manifest()


@pytest.fixture(scope='session')
def shared_bytes() -> bytes:
    """Return one good policy file for property tests."""
    return model_of(_manifest())


@pytest.fixture(scope='session')
def shared_runtime(tmp_path_factory: pytest.TempPathFactory) -> PolicyRuntime:
    """Return one loaded policy for property tests."""
    path = tmp_path_factory.mktemp('shared') / 'policy.onnx'
    path.write_bytes(model_of(_manifest()))
    return PolicyRuntime.load(path)


@pytest.fixture
def write_policy(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes a policy file; `manifest` changes go into it, the rest into the model."""

    def write(
        name: str = 'policy.onnx', changes: dict[str, Any] | None = None, **model: Any
    ) -> Path:
        path = tmp_path / name
        path.write_bytes(model_of(dataclasses.replace(_manifest(), **changes or {}), **model))
        return path

    return write


@pytest.fixture
def make_situation() -> Callable[..., Situation]:
    """Return what makes a situation with a window [T, F], all valid where not said otherwise."""

    def make(window: Any, valid: Any = None, **changes: Any) -> Situation:
        array = np.array(window, np.float32)
        usable = np.ones(array.shape, np.bool_) if valid is None else np.array(valid, np.bool_)
        plain = Situation(
            stamp_ns=10_000_000_000,
            tick=20,
            episode='one',
            period_s=0.5,
            signals=SIGNALS,
            window=np.where(usable, array, np.float32(0)),
            valid=usable,
            readings=(),
            new_events=(),
            events=(),
            recalled=(),
        )
        return dataclasses.replace(plain, **changes)

    return make
