# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Retrieval as a contender in a timing: as fast as NumPy and FAISS can be had from Python.

What a policy is compared with gets the same care as the policy: buffers are allocated once and
FAISS is called past the checks of its wrapper, which take as long as a search of few records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from thinking_policy.experiments.baselines import (
    HNSW_BUILD,
    HNSW_LINKS,
    NEIGHBOURS,
    Retrieval,
)
from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.timing import Call, Contender, chosen

Array = NDArray[np.float32]
FLAT, HNSW, SUMMARY = 'Sequence-RAG, flat', 'Sequence-RAG, HNSW', 'Summary-RAG'
SEARCH_ALONE = 'HNSW search alone'
LEAST_RECALL = 0.75
# Values of efSearch that are tried, in this order.
_WIDTHS = (*range(4, 32, 2), *range(32, 128, 8), *range(128, 1024, 64))


def stored(kind: str, count: int) -> str:
    """Return the name of a contender that searches so many records."""
    return f'{kind}, {count:,}'


def lookups(
    history: tuple[Array, Array], count: int, choosing: Array, windows: Array, batch: int
) -> tuple[dict[str, Contender], dict[str, float]]:
    """Return all ways to ask a history of one length, and how its HNSW index was made.

    Args:
        history: Windows [N, T, F] and labels [N, G].
        count: How many of them are stored, the first ones.
        choosing: Queries by which the width of HNSW's search is chosen, [Q, T, F].
        windows: Queries that are asked while the clock runs, [Q, T, F].
        batch: Queries in a batch.

    Returns:
        Contenders by name (`stored`), and M, efConstruction, efSearch and recall@4 of HNSW.

    Raises:
        ExperimentError: The recall is out of reach.
    """
    rows = history[0][:count], history[1][:count]
    flat, linked = Retrieval(*rows, 'sequence'), Retrieval(*rows, 'sequence', index='hnsw')
    width, found = narrow_search(linked, flat, choosing)
    contenders = {
        stored(FLAT, count): lookup(flat, windows, batch),
        stored(HNSW, count): lookup(linked, windows, batch),
        stored(SEARCH_ALONE, count): search_alone(linked, windows, batch),
        stored(SUMMARY, count): lookup(Retrieval(*rows, 'summary'), windows, batch),
    }
    made = {'M': HNSW_LINKS, 'efConstruction': HNSW_BUILD, 'efSearch': width, 'recall@4': found}
    return contenders, made


def lookup(memory: Retrieval, windows: Array, batch: int) -> Contender:
    """Return what a query costs a robot that remembers: features, z-scores, search, vote.

    Args:
        memory: Stored records.
        windows: Queries [Q, T, F] that were never stored.
        batch: Queries in a batch.
    """
    return Contender(_answering(memory, windows, 1), _answering(memory, windows, batch))


def search_alone(memory: Retrieval, windows: Array, batch: int) -> Contender:
    """Return what the index alone costs: queries are z-scored beforehand, nobody votes."""
    queries = memory.standardise(windows)
    return Contender(
        _searching(memory.index, queries, 1), _searching(memory.index, queries, batch)
    )


def recall(memory: Retrieval, exact: Retrieval, windows: Array) -> float:
    """Return the share of the exact nearest four that a memory finds."""
    found, wanted = memory.nearest(windows), exact.nearest(windows)
    return float((found[:, :, None] == wanted[:, None, :]).any(axis=1).mean())


def narrow_search(
    memory: Retrieval, exact: Retrieval, windows: Array, least: float = LEAST_RECALL
) -> tuple[int, float]:
    """Search an HNSW index no wider than a recall takes, so that it is as fast as it can be.

    Args:
        memory: With an HNSW index, whose efSearch is set.
        exact: The same records in a flat index.
        windows: Queries to judge by, [Q, T, F].
        least: Recall to be reached.

    Returns:
        efSearch and the recall.

    Raises:
        ExperimentError: The recall is out of reach.
    """
    found = 0.0
    for width in _WIDTHS:
        memory.index.hnsw.efSearch = width
        found = recall(memory, exact, windows)
        if found >= least:
            return width, found
    raise ExperimentError(
        f'HNSW: expected a recall of {least} at efSearch up to {_WIDTHS[-1]}, found {found:.3f}; '
        f'build the index with more links or candidates'
    )


def _answering(memory: Retrieval, windows: Array, size: int) -> Call:
    mean, scale, least = memory.mean, memory.scale, memory.least
    labels = memory.labels.view(np.int8)
    features = memory.features
    query = np.empty((size, len(mean)), np.float32)
    search, ids = _bound(memory.index, query)

    def call(turn: int) -> NDArray[np.bool_]:
        np.subtract(features(chosen(windows, turn, size)), mean, out=query)
        np.multiply(query, scale, out=query)
        search()
        votes = np.add.reduce(labels.take(ids, axis=0), axis=1)
        named: NDArray[np.bool_] = votes >= least
        return named

    return call


def _searching(index: Any, queries: Array, size: int) -> Call:
    query = np.empty((size, queries.shape[1]), np.float32)
    search, ids = _bound(index, query)

    def call(turn: int) -> NDArray[np.int64]:
        np.copyto(query, chosen(queries, turn, size))
        search()
        return ids.copy()

    return call


def _bound(index: Any, query: Array) -> tuple[Callable[[], None], NDArray[np.int64]]:
    """Return a search of `query` that fills the ids [size, 4] returned beside it."""
    faiss.omp_set_num_threads(1)
    size = len(query)
    distances = np.empty((size, NEIGHBOURS), np.float32)
    ids = np.empty((size, NEIGHBOURS), np.int64)
    # FAISS sees addresses only; the arrays live as long as the search does.
    kept = [(array, faiss.swig_ptr(array)) for array in (query, distances, ids)]
    (_, asked), (_, far), (_, which) = kept

    def search(kept: object = kept) -> None:
        index.search_c(size, asked, NEIGHBOURS, far, which)

    return search, ids
