# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Weights of an ONNX model in fewer bits: a smaller file that runs as fast as before.

Only what is stored shrinks. The graph widens the weights by `Cast` (and `Mul`), which depend on
constants alone, so ONNX Runtime computes them once while loading and drops the nodes. Quantised
arithmetic would be slower here: quantising the activations takes nodes at every run.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from thinking_policy.policy.errors import PolicyError

WeightFormat = Literal['float32', 'float16', 'int8']
WEIGHT_FORMATS: tuple[WeightFormat, ...] = get_args(WeightFormat)

# Smaller ones, and biases, stay: shrinking them saves less than the further nodes take.
_SHRUNK_FROM = 256
_LARGEST_FLOAT16 = 65504.0
_LARGEST_INT8 = 127


def store_weights(model: onnx.ModelProto, weights: WeightFormat) -> None:
    """Store the large float32 matrices of a model in another format, in place.

    Args:
        model: As exported, all weights in float32.
        weights: `float32` leaves them. `float16` halves them. `int8` quarters them: whole numbers
            in -127...127 times one float32 scale for each row or each column.

    Raises:
        PolicyError: A weight is NaN or infinite, or a format that is not known.
    """
    if weights not in WEIGHT_FORMATS:
        raise PolicyError(f'weights: expected one of {list(WEIGHT_FORMATS)}, found {weights!r}')
    nodes: list[onnx.NodeProto] = []
    scales: list[onnx.TensorProto] = []
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if not np.isfinite(values).all():
            raise PolicyError(f'{tensor.name}: holds NaN or infinity; train the network again')
        if weights == 'float32' or values.ndim < 2 or values.size < _SHRUNK_FROM:
            continue
        name = tensor.name
        if weights == 'int8':
            whole, scale = quantise(values)
            tensor.CopyFrom(numpy_helper.from_array(whole, f'{name}_int8'))
            scales.append(numpy_helper.from_array(scale, f'{name}_scale'))
            nodes.append(_widened(f'{name}_int8', f'{name}_whole'))
            nodes.append(helper.make_node('Mul', [f'{name}_whole', f'{name}_scale'], [name]))
        elif np.abs(values).max() <= _LARGEST_FLOAT16:
            tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f'{name}_half'))
            nodes.append(_widened(f'{name}_half', name))
    nodes.extend(model.graph.node)
    model.graph.initializer.extend(scales)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def quantise(values: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return whole numbers and scales whose product is nearest to given weights.

    The scale is shared by all weights with the same index on one axis. The axis is the one that
    loses least: inputs of a network often differ more in size than its units do.

    Args:
        values: Weights of two or more axes, finite.

    Returns:
        int8 of the same shape in -127...127, and float32 that broadcasts to it.
    """
    candidates = []
    for axis in range(values.ndim):
        others = tuple(other for other in range(values.ndim) if other != axis)
        scale = np.abs(values).max(axis=others, keepdims=True) / np.float32(_LARGEST_INT8)
        scale = np.where(scale > 0, scale, np.float32(1)).astype(np.float32)
        # A scale that is barely a float32 number is so coarse that rounding could leave int8.
        whole = np.clip(np.rint(values / scale), -_LARGEST_INT8, _LARGEST_INT8).astype(np.int8)
        error = np.square(whole * scale - values, dtype=np.float64).sum()
        candidates.append((float(error), axis, whole, scale))
    _, _, whole, scale = min(candidates, key=lambda candidate: candidate[:2])
    return whole, scale


def _widened(stored: str, name: str) -> onnx.NodeProto:
    return helper.make_node('Cast', [stored], [name], to=TensorProto.FLOAT)
