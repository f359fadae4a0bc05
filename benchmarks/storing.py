# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Ways to store a network for ONNX Runtime, and what is left of it when it has been loaded."""

from __future__ import annotations

import logging
import tempfile
import warnings
from pathlib import Path

import onnx
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn

from thinking_policy.policy.compatibility import session_options
from thinking_policy.policy.packing import input_specs
from thinking_policy.training.export import export_graph

SPECS = input_specs(10, 7, 0, 0)


def exported(network: nn.Module, weights: str = 'int8') -> bytes:
    """Return the ONNX model of a network."""
    with warnings.catch_warnings():
        # A GRU without an initial state; it begins with zeros for any batch.
        warnings.filterwarnings('ignore', message='Exporting a model to ONNX with a batch_size')
        return export_graph(network, SPECS, weights)


def nodes_when_loaded(model: bytes) -> int:
    """Return how many nodes ONNX Runtime is left with after its optimisation."""
    with tempfile.TemporaryDirectory() as folder:
        options = session_options()
        options.optimized_model_filepath = str(Path(folder) / 'optimised.onnx')
        onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
        return len(onnx.load(options.optimized_model_filepath).graph.node)


def quantised_arithmetic(network: nn.Module) -> bytes:
    """Return a model that multiplies whole numbers, its activations quantised at every run."""
    logging.getLogger().setLevel(logging.ERROR)  # advice for models with shapes to infer
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / 'given.onnx', Path(folder) / 'made.onnx'
        given.write_bytes(exported(network, 'float32'))
        quantize_dynamic(given, made, weight_type=QuantType.QInt8, per_channel=True)
        return made.read_bytes()


STORED = {
    'float32': lambda network: exported(network, 'float32'),
    'float16 weights': lambda network: exported(network, 'float16'),
    'int8 weights': exported,
    'dynamic quantisation': quantised_arithmetic,
}
