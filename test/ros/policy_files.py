# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Small policy files whose answers are known beforehand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from thinking_policy.policy import Manifest, ManifestSignal, ThinkingActivity
from thinking_policy.policy.manifest import METADATA_KEY
from thinking_policy.policy.model_file import parse_model_file
from thinking_policy.policy.packing import input_specs

SIGNALS = ('temperature', 'current', 'vibration', 'distance', 'visibility', 'motion', 'load')
ACTIVITIES = ('hazard', 'trend', 'cause')


def write_policy(
    path: Path,
    *,
    signals: Sequence[str] = SIGNALS,
    length: int = 10,
    activities: Sequence[str] = ACTIVITIES,
    bias: float = 0.0,
    opset: int = 17,
    ir_version: int = 8,
) -> Path:
    """Write a policy of one layer.

    The first activity follows the newest sample of the first signal: its probability is above
    one half where the scaled value is above 0.7. The second is sure of itself, the third never.

    Args:
        path: Where.
        signals: Names in window order.
        length: T.
        activities: Ids; at least one.
        bias: Added to all logits; another bias is another version.
        opset: Operator set that the file asks for.
        ir_version: File format that the file asks for.
    """
    specs = input_specs(length, len(signals), 0, 0)
    width = specs[0].shape[0]
    weights = np.zeros((width, len(activities)), np.float32)
    weights[(length - 1) * len(signals), 0] = 20.0
    offsets = np.zeros(len(activities), np.float32)
    offsets[0] = -14.0
    offsets[1:2], offsets[2:3] = 8.0, -8.0
    graph = helper.make_graph(
        [
            helper.make_node('Gemm', ['signals', 'weights', 'offsets'], ['logits']),
            helper.make_node('Sigmoid', ['logits'], ['probability']),
        ],
        'tiny',
        [helper.make_tensor_value_info('signals', TensorProto.FLOAT, ['batch', width])],
        [
            helper.make_tensor_value_info(
                'probability', TensorProto.FLOAT, ['batch', len(activities)]
            )
        ],
        [
            numpy_helper.from_array(weights, 'weights'),
            numpy_helper.from_array(offsets + np.float32(bias), 'offsets'),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)])
    model.ir_version = ir_version
    manifest = Manifest(
        robot='test',
        window_length=length,
        tick_period_s=0.5,
        signals=tuple(ManifestSignal(name, '', 0.0, 1.0, 0.5) for name in signals),
        activities=tuple(
            ThinkingActivity(name, name.title(), f'Think of {name}.', 0.5, 0.35)
            for name in activities
        ),
        inputs=specs,
        opset=opset,
        ir_version=ir_version,
    )
    manifest = dataclasses.replace(
        manifest, graph_sha256=parse_model_file(model.SerializeToString(), str(path)).graph_sha256
    )
    helper.set_model_props(model, {METADATA_KEY: manifest.to_json()})
    path.write_bytes(onnx.ModelProto.SerializeToString(model))
    return path
