# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The timing protocol: who is called when, on which queries, and what is reported."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from thinking_policy.experiments.timing import (
    Contender,
    Protocol,
    chosen,
    graph,
    identity,
    measure,
    network,
    take_turns,
)
from thinking_policy.policy.packing import input_specs
from thinking_policy.training.export import export_graph
from thinking_policy.training.networks import Probabilities, RobotPolicy


class Watch:
    """A clock that goes on only when somebody works or sleeps."""

    def __init__(self):
        self.now_ns = 0
        self.calls = []

    def work(self, name, taken_ns):
        def call(turn):
            self.calls.append((name, turn))
            self.now_ns += taken_ns * (turn + 1)

        return call

    def sleep(self, seconds):
        self.calls.append(('sleep', seconds))
        self.now_ns += round(seconds * 1e9)

    def __call__(self):
        return self.now_ns


def test_each_call_is_timed_by_itself_and_sleep_does_not_count():
    watch = Watch()
    calls = {'a': watch.work('a', 1000), 'b': watch.work('b', 50_000)}
    taken = take_turns(calls, 3, sleep_s=0.1, clock_ns=watch, sleep=watch.sleep)
    assert taken['a'].tolist() == [1, 2, 3]
    assert taken['b'].tolist() == [50, 100, 150]
    assert watch.calls[::2] == [('sleep', 0.1)] * 6


def test_in_every_round_each_is_called_once_and_the_order_changes():
    watch = Watch()
    names = 'abcd'
    take_turns({name: watch.work(name, 1) for name in names}, 20, clock_ns=watch)
    rounds = [watch.calls[i : i + 4] for i in range(0, 80, 4)]
    for number, called in enumerate(rounds):
        assert sorted(called) == [(name, number) for name in names]
    assert len({tuple(name for name, _ in called) for called in rounds}) > 5


def test_a_turn_begins_with_calls_that_do_not_count():
    watch = Watch()
    taken = take_turns({'a': watch.work('a', 1000)}, 2, settle=2, in_a_row=3, clock_ns=watch)
    assert watch.calls == [('a', number) for number in range(10)]
    assert taken['a'].tolist() == [3, 4, 5, 8, 9, 10]


def test_progress_goes_from_the_first_round_to_the_last():
    seen = []
    protocol = Protocol(warm=3, slept=2, batched=2, batch=4, sleep_s=0.0)
    idle = Contender(lambda turn: None, lambda turn: None)
    found = measure({'idle': idle}, protocol, lambda done, total: seen.append((done, total)))
    assert seen == [(done, 7) for done in range(1, 8)]
    assert set(found['idle']) == {'warm', 'after sleep', 'batched'}


def test_batches_are_reported_per_query_and_left_out_where_there_are_none():
    def long(turn):
        sum(range(20_000))

    protocol = Protocol(warm=5, slept=0, batched=5, batch=1000, sleep_s=0.0)
    found = measure({'both': Contender(long, long), 'single': Contender(long)}, protocol)
    assert set(found['single']) == {'warm'}
    warm, batched = found['both']['warm'], found['both']['batched']
    assert 1e-4 < batched.p50 / warm.p50 < 1e-2
    assert warm.p50 <= warm.p99


def test_queries_change_with_every_round_and_begin_again():
    rows = np.arange(10)
    assert [chosen(rows, turn, 1).tolist() for turn in (0, 1, 9, 10)] == [[0], [1], [9], [0]]
    assert chosen(rows, 1, 4).tolist() == [4, 5, 6, 7]
    assert all(len(chosen(rows, turn, 4)) == 4 for turn in range(20))


@pytest.mark.parametrize('vocabulary', [0, 3])
def test_torch_and_onnx_runtime_answer_the_same_queries_alike(vocabulary):
    torch.manual_seed(0)
    module = RobotPolicy(10, 7, 8, vocabulary=vocabulary).eval()
    specs = input_specs(10, 7, 4, vocabulary)
    model = export_graph(module, specs, 'float32')
    random = np.random.default_rng(0)
    inputs = [
        random.integers(0, 3, (20, *s.shape)).astype(s.dtype)
        if s.dtype == 'int64'
        else random.random((20, *s.shape), np.float32)
        for s in specs
    ]
    in_torch, in_ort = network(Probabilities(module), inputs, 5), graph(model, inputs, 5)
    for turn in (0, 1, 7):
        assert in_ort.single(turn) == pytest.approx(in_torch.single(turn), abs=1e-6)
        assert in_ort.batched(turn) == pytest.approx(in_torch.batched(turn), abs=1e-6)
    assert in_ort.single(3).shape == (1, 8)
    assert in_ort.batched(3).shape == (5, 8)
    assert not np.array_equal(in_ort.single(3), in_ort.single(4))
    # The floor takes the same inputs and hands the first one on.
    floor = identity(model, inputs, 5)
    assert np.array_equal(floor.single(3), inputs[0][3:4])
    assert np.array_equal(floor.batched(1), inputs[0][5:10])


def test_answers_are_the_callers_own():
    module = RobotPolicy(1, 1, 1).eval()
    rows = np.random.default_rng(0).random((4, 2), np.float32)
    contender = graph(export_graph(module, input_specs(1, 1, 0, 0)), [rows], 2)
    first = contender.single(0)
    before = first.copy()
    contender.single(1)
    assert np.array_equal(first, before)
