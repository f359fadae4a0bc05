# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""(a) One inference: one thread, NumPy in, NumPy out, inputs that change with every call.

All contenders take turns in one run, so that a change of the machine's speed meets them alike.
Each is timed warm, and once more after 100 ms of sleep, which is what a 10 Hz node sees. The
floor is an identity graph of the same signature: what ONNX Runtime costs without any network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from thinking_policy.policy import PolicyRuntime, read_artifact
from thinking_policy.situation.situation import Situation

SLEEP_S = 0.1
WARM_UP = 50
Call = Callable[[int], object]


def measure_inference(policy: Path, warm: int, slept: int) -> dict[str, dict[str, float]]:
    """Return p50 and p99 in microseconds per contender, warm and after sleep.

    Args:
        policy: Policy file.
        warm: Timed calls of each contender in the warm round.
        slept: Timed calls of each contender after a sleep.
    """
    runtime = PolicyRuntime.load(policy)
    situations = _situations(runtime, 64)
    windows = [_packed(situation) for situation in situations]
    model = read_artifact(policy).data
    contenders: dict[str, Call] = {
        'identity graph': _bound(_identity(model), windows),
        'policy network': _bound(model, windows),
        'policy whole': lambda turn: runtime.infer(situations[turn % len(situations)]),
    }
    for call in contenders.values():
        for turn in range(WARM_UP):
            call(turn)
    timings = {
        'warm': _take_turns(contenders, warm, sleep_s=0.0),
        'after 100 ms': _take_turns(contenders, slept, sleep_s=SLEEP_S),
    }
    return {
        name: {
            f'{state} {label}': float(np.percentile(timings[state][name], percent))
            for state in timings
            for label, percent in (('p50', 50), ('p99', 99))
        }
        for name in contenders
    }


def _take_turns(
    contenders: dict[str, Call], rounds: int, sleep_s: float
) -> dict[str, list[float]]:
    timings: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if sleep_s:
                time.sleep(sleep_s)
            start = time.perf_counter_ns()
            contenders[name](turn)
            timings[name].append((time.perf_counter_ns() - start) / 1e3)
    return timings


def _situations(runtime: PolicyRuntime, count: int) -> list[Situation]:
    random = np.random.default_rng(0)
    names = tuple(signal.name for signal in runtime.manifest.signals)
    shape = (runtime.manifest.window_length, len(names))
    situations = []
    for tick in range(count):
        valid = random.random(shape) < 0.9
        window = (random.uniform(0, 1, shape) * valid).astype(np.float32)
        situations.append(
            Situation(
                stamp_ns=tick,
                tick=tick,
                episode='benchmark',
                period_s=0.5,
                signals=names,
                window=window,
                valid=valid,
                readings=(),
                new_events=(),
                events=(),
                recalled=(),
            )
        )
    return situations


def _packed(situation: Situation) -> np.ndarray:
    return np.stack((situation.window, situation.valid)).astype(np.float32).reshape(1, -1)


def _bound(model: bytes, windows: Sequence[np.ndarray]) -> Call:
    """Return a call that copies a window in, runs, and copies the result out."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry('session.intra_op.allow_spinning', '0')
    session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
    binding = session.io_binding()
    buffers = {}
    for node in session.get_inputs():
        kind = np.int64 if 'int64' in node.type else np.float32
        shape = [size if isinstance(size, int) else 1 for size in node.shape]
        buffers[node.name] = np.zeros(shape, kind)
        binding.bind_input(node.name, 'cpu', 0, kind, shape, buffers[node.name].ctypes.data)
    (out,) = session.get_outputs()
    shape = [size if isinstance(size, int) else 1 for size in out.shape]
    result = np.zeros(shape, np.float32)
    binding.bind_output(out.name, 'cpu', 0, np.float32, shape, result.ctypes.data)
    first = buffers[session.get_inputs()[0].name]

    def call(turn: int) -> np.ndarray:
        np.copyto(first, windows[turn % len(windows)])
        session.run_with_iobinding(binding)
        return result.copy()

    return call


def _identity(model: bytes) -> bytes:
    """Return a graph with the inputs of `model` that only hands the first one on."""
    given = onnx.load_from_string(model)
    first = given.graph.input[0]
    shape = [d.dim_value or 1 for d in first.type.tensor_type.shape.dim]
    graph = helper.make_graph(
        [helper.make_node('Identity', [first.name], ['out'])],
        'identity',
        list(given.graph.input),
        [helper.make_tensor_value_info('out', TensorProto.FLOAT, shape)],
    )
    return helper.make_model(
        graph, opset_imports=given.opset_import, ir_version=given.ir_version
    ).SerializeToString()
