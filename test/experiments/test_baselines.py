# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Retrieval and the random forest, on situations that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.experiments.baselines import Retrieval, SummaryForest, summary_features
from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.ordering import draw_sets
from thinking_policy.experiments.scalability import estimated_tokens
from thinking_policy.training.metrics import micro

# Two groups of four, far apart; the first record of each group has a label of its own.
WINDOW = np.zeros((8, 10, 7), np.float32)
WINDOW[:4] += np.arange(4, dtype=np.float32)[:, None, None] * 0.01
WINDOW[4:] += 5 + np.arange(4, dtype=np.float32)[:, None, None] * 0.01
LABELS = np.zeros((8, 3), np.float32)
LABELS[:4, 0] = 1
LABELS[4:, 1] = 1
LABELS[[0, 4], 2] = 1


def test_aggregates_are_mean_deviation_least_largest_first_and_last():
    window = np.array([[[1.0], [4.0], [1.0], [2.0]]], np.float32)
    assert summary_features(window)[0].tolist() == pytest.approx([2, np.sqrt(1.5), 1, 4, 1, 2])


@pytest.mark.parametrize('represent', ['summary', 'sequence'])
def test_majority_wants_two_of_four_and_union_one(represent):
    asked = WINDOW[[1, 6]]
    majority = Retrieval(WINDOW, LABELS, represent)(asked)
    union = Retrieval(WINDOW, LABELS, represent, take='union')(asked)
    assert majority.astype(int).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert union.astype(int).tolist() == [[1, 0, 1], [0, 1, 1]]


def test_the_nearest_are_those_of_the_same_group_flat_and_linked():
    for index in ('flat', 'hnsw'):
        found = Retrieval(WINDOW, LABELS, 'sequence', index=index).nearest(WINDOW[[0, 7]])
        assert [sorted(row) for row in found.tolist()] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_signal_that_never_moves_does_no_harm():
    assert np.isfinite(
        Retrieval(np.ones((4, 10, 7), np.float32), LABELS[:4], 'summary').scale
    ).all()


def test_too_few_records_are_refused():
    with pytest.raises(ExperimentError, match='4 records needs as many, found 3'):
        Retrieval(WINDOW[:3], LABELS[:3], 'sequence')


def test_only_what_keeps_the_order_can_tell_orders_apart():
    sets = draw_sets(100, 640, 200)
    train, test = sets.train, sets.test

    def f1(method):
        return micro(method(test.window), test.labels).f1

    assert f1(Retrieval(train.window, train.labels, 'sequence')) == 1.0
    assert f1(Retrieval(train.window, train.labels, 'summary')) == pytest.approx(0.482, abs=0.05)
    union = Retrieval(train.window, train.labels, 'summary', take='union')
    assert f1(union) == pytest.approx(0.54, abs=0.03)
    assert f1(SummaryForest(train.window, train.labels, 0)) == pytest.approx(0.38, abs=0.06)


def test_tokens_are_counted_from_a_record_written_out():
    learning = draw_sets(100, 40, 40).train.take(slice(0, 1))
    values = ' '.join(f'{value:.2f}' for value in learning.window.flat)
    text = f'{values} trend hazard information_seeking'
    assert estimated_tokens(learning) == len(text) / 4
