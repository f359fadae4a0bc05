# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a query costs: one thread, NumPy arrays in, NumPy arrays out, contenders taking turns.

A machine changes its speed while it measures. So every contender has a short turn in each round,
the rounds' order is drawn anew, and figures of one run are compared with each other: the ratio to
the identity graph, which is what ONNX Runtime costs without any network, is the result. Inputs
change with every call.

Warm means warm: a turn begins with calls that don't count, since the contender before may have
filled the caches with megabytes of its own. What a call costs when it comes out of the cold is
measured after sleep.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper

from thinking_policy.policy.compatibility import session_options

Call = Callable[[int], object]
Progress = Callable[[int, int], None]
Array = NDArray[Any]

IDENTITY = 'identity graph'
_ORDER_SEED = 0


@dataclass(frozen=True)
class Contender:
    """One way to answer a query.

    Attributes:
        single: Answers one query; its argument, the number of the call, says which.
        batched: Answers `Protocol.batch` queries at once; None: it has no such form.
    """

    single: Call
    batched: Call | None = None


@dataclass(frozen=True)
class Protocol:
    """How often each contender is called.

    Attributes:
        warm: Rounds of single queries.
        settle: Queries at the beginning of a warm turn that don't count.
        in_a_row: Queries of a warm turn that count.
        slept: Rounds of one single query each, after `sleep_s`.
        batched: Rounds of one batch each, after one that doesn't count.
        batch: Queries in a batch.
        sleep_s: What a node at 10 Hz sleeps between two ticks.
    """

    warm: int = 300
    settle: int = 5
    in_a_row: int = 10
    slept: int = 100
    batched: int = 20
    batch: int = 256
    sleep_s: float = 0.1


class Timing(NamedTuple):
    """Microseconds for one query: median and 99th percentile."""

    p50: float
    p99: float


def measure(
    contenders: Mapping[str, Contender], protocol: Protocol, progress: Progress | None = None
) -> dict[str, dict[str, Timing]]:
    """Time all contenders in one run.

    Args:
        contenders: By name.
        protocol: How often.
        progress: Called with rounds done and rounds in all.

    Returns:
        For each contender the timings `warm`, `after sleep` and, where it has such a form,
        `batched` (per query).
    """
    single = {name: contender.single for name, contender in contenders.items()}
    batched = {name: c.batched for name, c in contenders.items() if c.batched is not None}
    rounds = (protocol.warm, protocol.slept, protocol.batched)

    def part(done: int) -> Progress | None:
        return progress and (lambda turn, _: progress(done + turn, sum(rounds)))

    with one_thread():
        for call in (*single.values(), *batched.values()):
            call(0)
        states = {
            'warm': take_turns(
                single,
                rounds[0],
                settle=protocol.settle,
                in_a_row=protocol.in_a_row,
                progress=part(0),
            ),
            'after sleep': take_turns(
                single, rounds[1], sleep_s=protocol.sleep_s, progress=part(rounds[0])
            ),
            'batched': take_turns(batched, rounds[2], settle=1, progress=part(sum(rounds[:2]))),
        }
    return {
        name: {
            state: _summary(timings[name], protocol.batch if state == 'batched' else 1)
            for state, timings in states.items()
            if name in timings and len(timings[name])
        }
        for name in contenders
    }


def take_turns(
    calls: Mapping[str, Call],
    rounds: int,
    *,
    settle: int = 0,
    in_a_row: int = 1,
    sleep_s: float = 0.0,
    progress: Progress | None = None,
    clock_ns: Callable[[], int] = time.perf_counter_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, NDArray[np.float64]]:
    """Give each a turn in every round, in random order, so that no one always follows the same.

    Args:
        calls: By name; the argument of each goes up by one with every call.
        rounds: How often.
        settle: Calls at the beginning of a turn that are not timed.
        in_a_row: Calls of a turn that are timed.
        sleep_s: Rest before every call that is timed.
        progress: Called with rounds done and rounds in all.
        clock_ns: Nanoseconds of a clock that only goes forward.
        sleep: Rests for some seconds.

    Returns:
        Microseconds of each call, [rounds · in_a_row].
    """
    random = np.random.default_rng(_ORDER_SEED)
    names = list(calls)
    taken = {name: np.zeros(rounds * in_a_row) for name in names}
    for turn in range(rounds):
        for place in random.permutation(len(names)):
            call, own = calls[names[place]], taken[names[place]]
            number = turn * (settle + in_a_row)
            for unseen in range(number, number + settle):
                call(unseen)
            for seen in range(in_a_row):
                if sleep_s:
                    sleep(sleep_s)
                start = clock_ns()
                call(number + settle + seen)
                own[turn * in_a_row + seen] = (clock_ns() - start) / 1e3
        if progress:
            progress(turn + 1, rounds)
    return taken


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread; ONNX Runtime's sessions here have one anyway."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def identity(model: bytes, inputs: Sequence[Array], batch: int) -> Contender:
    """Return the floor: a graph of the same inputs that only hands the first one on.

    Args:
        model: ONNX model whose inputs it shares.
        inputs: As for `graph`.
        batch: Queries in a batch.
    """
    given = onnx.load_from_string(model)
    first = given.graph.input[0]
    shape = [d.dim_value or 'batch' for d in first.type.tensor_type.shape.dim]
    floor = helper.make_graph(
        [helper.make_node('Identity', [first.name], ['out'])],
        'identity',
        list(given.graph.input),
        [helper.make_tensor_value_info('out', TensorProto.FLOAT, shape)],
    )
    whole = helper.make_model(floor, opset_imports=given.opset_import, ir_version=given.ir_version)
    return graph(whole.SerializeToString(), inputs, batch)


def graph(model: bytes, inputs: Sequence[Array], batch: int) -> Contender:
    """Return a contender that runs an ONNX model in ONNX Runtime, bound to its buffers.

    Args:
        model: One output, a free batch size.
        inputs: The queries of each input in order, [Q, ...].
        batch: Queries in a batch.
    """
    session = onnxruntime.InferenceSession(
        model, session_options(), providers=['CPUExecutionProvider']
    )
    return Contender(_bound(session, inputs, 1), _bound(session, inputs, batch))


def network(module: torch.nn.Module, inputs: Sequence[Array], batch: int) -> Contender:
    """Return a contender that runs a network in torch.

    Args:
        module: Gives probabilities.
        inputs: The queries of each input in order, [Q, ...].
        batch: Queries in a batch.
    """
    module.eval()

    def run(size: int) -> Call:
        def call(turn: int) -> Array:
            with torch.inference_mode():
                rows = [torch.from_numpy(chosen(given, turn, size)) for given in inputs]
                return np.asarray(module(*rows).numpy())

        return call

    return Contender(run(1), run(batch))


def chosen(rows: Array, number: int, size: int) -> Array:
    """Return the queries of a call: the next `size` ones, from the start again at the end."""
    start = number * size % max(1, len(rows) - size + 1)
    return rows[start : start + size]


def _bound(session: onnxruntime.InferenceSession, inputs: Sequence[Array], size: int) -> Call:
    """Return a call that copies queries in, runs, and copies the answers out."""
    binding = session.io_binding()
    buffers = [np.zeros((size, *given.shape[1:]), given.dtype) for given in inputs]
    for node, buffer in zip(session.get_inputs(), buffers, strict=True):
        binding.bind_input(
            node.name, 'cpu', 0, buffer.dtype.type, buffer.shape, buffer.ctypes.data
        )
    (out,) = session.get_outputs()
    result = np.zeros((size, *out.shape[1:]), np.float32)
    binding.bind_output(out.name, 'cpu', 0, np.float32, result.shape, result.ctypes.data)
    pairs = list(zip(buffers, inputs, strict=True))

    def call(turn: int) -> Array:
        for buffer, given in pairs:
            np.copyto(buffer, chosen(given, turn, size))
        session.run_with_iobinding(binding)
        return result.copy()

    return call


def _summary(taken: NDArray[np.float64], queries: int) -> Timing:
    p50, p99 = np.percentile(taken, (50, 99)) / queries
    return Timing(float(p50), float(p99))
