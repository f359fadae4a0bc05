# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Retrieval as it is timed gives the answers of the retrieval that is judged."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.experiments.baselines import Retrieval
from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.lookup import lookup, narrow_search, recall, search_alone
from thinking_policy.experiments.ordering import draw_sets


@pytest.fixture(scope='module')
def sets():
    return draw_sets(100, 1200, 60)


@pytest.mark.parametrize('represent', ['summary', 'sequence'])
@pytest.mark.parametrize('index', ['flat', 'hnsw'])
def test_single_and_batched_lookups_answer_as_the_memory_does(sets, represent, index):
    memory = Retrieval(sets.train.window, sets.train.labels, represent, index=index)
    windows = sets.test.window
    wanted = memory(windows)
    timed = lookup(memory, windows, 20)
    single = np.concatenate([timed.single(turn) for turn in range(60)])
    assert np.array_equal(single, wanted)
    assert np.array_equal(timed.batched(0), wanted[:20])
    alone = search_alone(memory, windows, 20)
    assert np.array_equal(alone.single(7), memory.nearest(windows[7:8]))
    assert np.array_equal(alone.batched(0), memory.nearest(windows[:20]))


def test_an_approximate_index_is_searched_as_narrowly_as_its_recall_allows(sets):
    exact = Retrieval(sets.train.window, sets.train.labels, 'sequence')
    memory = Retrieval(sets.train.window, sets.train.labels, 'sequence', index='hnsw')
    windows = sets.test.window
    assert recall(exact, exact, windows) == 1.0
    width, found = narrow_search(memory, exact, windows, 0.75)
    assert found == recall(memory, exact, windows) >= 0.75
    assert memory.index.hnsw.efSearch == width
    wider, better = narrow_search(memory, exact, windows, 0.95)
    assert (wider > width, better >= 0.95) == (True, True)
    with pytest.raises(ExperimentError, match=r'recall of 1\.1 .*found 1\.000'):
        narrow_search(memory, exact, windows, 1.1)
