# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From a trained network to one self-describing file, the same bytes every time."""

from __future__ import annotations

import dataclasses
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from torch import nn

from thinking_policy.policy.compatibility import session_options
from thinking_policy.policy.errors import PolicyError
from thinking_policy.policy.manifest import METADATA_KEY, Manifest
from thinking_policy.policy.model_file import parse_model_file
from thinking_policy.policy.packing import PROBABILITY, InputSpec
from thinking_policy.training.networks import Probabilities
from thinking_policy.training.stored_weights import WeightFormat, store_weights
from thinking_policy.whole_file import whole_file

# Packed inputs of N rows, as `LearningSet.packed` gives them, to probabilities [N, G].
Predict = Callable[..., NDArray[np.float32]]

# Rows at once: a window of the reference network takes some 200 kB.
_BATCH = 1024
# Old enough for the ONNX Runtime of a robot that is rarely updated (1.13 and later).
OPSET = 17


def export_graph(
    network: nn.Module, inputs: tuple[InputSpec, ...], weights: WeightFormat = 'int8'
) -> bytes:
    """Return the ONNX model of a network, without a manifest yet.

    Args:
        network: Gives logits; see `networks`.
        inputs: Its inputs in order.
        weights: How large weights are stored. ONNX Runtime widens them when it loads, so that
            only the file is smaller; see `stored_weights`.

    Raises:
        PolicyError: A weight is NaN or infinite.
    """
    example = tuple(_example(spec) for spec in inputs)
    names = [spec.name for spec in inputs]
    file = io.BytesIO()
    with warnings.catch_warnings():
        # The other exporter needs a further package and writes more nodes.
        warnings.filterwarnings('ignore', category=DeprecationWarning)
        # Torch's own attention compares shapes; those of ours are fixed but for the batch.
        warnings.filterwarnings('ignore', message='Converting a tensor to a Python boolean')
        torch.onnx.export(
            Probabilities(network).eval(),
            example,
            cast(Any, file),
            dynamo=False,
            opset_version=OPSET,
            input_names=names,
            output_names=[PROBABILITY],
            dynamic_axes={name: {0: 'batch'} for name in (*names, PROBABILITY)},
        )
    model = onnx.load_from_string(file.getvalue())
    store_weights(model, weights)
    model.producer_name, model.producer_version = 'thinking_policy', ''
    for node in model.graph.node:
        node.doc_string = ''
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


def assemble(graph: bytes, manifest: Manifest) -> tuple[bytes, Manifest]:
    """Put a manifest into a model.

    Args:
        graph: From `export_graph`.
        manifest: Its description; hash of the graph, opset and IR version are filled in.

    Returns:
        The file's bytes, and the manifest as it stands in them.
    """
    model = onnx.load_from_string(graph)
    outer = parse_model_file(graph, 'exported model')
    manifest = dataclasses.replace(
        manifest,
        graph_sha256=outer.graph_sha256,
        opset=outer.opsets.get('', 0),
        ir_version=outer.ir_version,
    )
    del model.metadata_props[:]
    entry = model.metadata_props.add()
    entry.key, entry.value = METADATA_KEY, manifest.to_json()
    return bytes(model.SerializeToString(deterministic=True)), manifest


def predictor(model: bytes) -> Predict:
    """Return what gives the probabilities of many rows at once, by ONNX Runtime on one thread.

    Args:
        model: A policy file, or a graph without a manifest.
    """
    session = onnxruntime.InferenceSession(
        model, session_options(), providers=['CPUExecutionProvider']
    )
    names = [entry.name for entry in session.get_inputs()]

    def predict(*inputs: NDArray[Any]) -> NDArray[np.float32]:
        parts = [
            session.run(
                [PROBABILITY],
                {
                    name: array[start : start + _BATCH]
                    for name, array in zip(names, inputs, strict=True)
                },
            )[0]
            for start in range(0, max(1, len(inputs[0])), _BATCH)
        ]
        return np.concatenate(parts)

    return predict


def write_artifact(path: Path, data: bytes) -> None:
    """Write a policy file so that a reader sees the old one or the new one, never a part.

    Raises:
        PolicyError: It can't be written.
    """
    with whole_file(path, PolicyError) as draft:
        draft.write_bytes(data)


def _example(spec: InputSpec) -> torch.Tensor:
    # Two rows: with one the exporter could take the batch for a constant.
    dtype = torch.int64 if spec.dtype == 'int64' else torch.float32
    return torch.ones((2, *spec.shape), dtype=dtype)
