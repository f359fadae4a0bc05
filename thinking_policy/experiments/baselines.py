# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the paper compares with: retrieval by aggregates or whole sequences, a random forest."""

from __future__ import annotations

from typing import Any, Literal

import faiss
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from thinking_policy.experiments.errors import ExperimentError

Array = NDArray[np.float32]
Represent = Literal['summary', 'sequence']
Index = Literal['flat', 'hnsw']
Take = Literal['majority', 'union']

NEIGHBOURS = 4
# Of the four, so many must have a label.
MAJORITY = 2
# Links for each record, and how many candidates are kept while building and searching.
HNSW_LINKS, HNSW_BUILD, HNSW_SEARCH = 16, 200, 64
TREES = 100
_SMALLEST_DEVIATION = 1e-6


def summary_features(window: Array) -> Array:
    """Return mean, deviation, least, largest, first and last value of each signal, [N, 6·F]."""
    parts = (
        window.mean(axis=1),
        window.std(axis=1),
        window.min(axis=1),
        window.max(axis=1),
        window[:, 0],
        window[:, -1],
    )
    return np.concatenate(parts, axis=1).astype(np.float32, copy=False)


def sequence_features(window: Array) -> Array:
    """Return the whole sequence as one row, [N, T·F]."""
    return window.reshape(len(window), -1)


class Retrieval:
    """Stored situations, asked for the nearest four (L2 on z-scored features).

    Summary-RAG represents a situation by its aggregates, Sequence-RAG by its samples.

    Attributes:
        features: Makes features [N, D] of windows [N, T, F].
        mean: [D], of the stored features.
        scale: [D], 1 / their deviation.
        index: FAISS index of z-scored features.
        labels: bool [N, G].
        least: How many of the four must have a label.
    """

    def __init__(
        self,
        window: Array,
        labels: Array,
        represent: Represent,
        *,
        index: Index = 'flat',
        take: Take = 'majority',
    ) -> None:
        """Store situations.

        Args:
            window: [N, T, F], at least 4.
            labels: [N, G].
            represent: By what situations are compared.
            index: FAISS's exact search, or its graph of links.
            take: Labels that at least 2 of the 4 have, or those that any has.

        Raises:
            ExperimentError: Fewer situations than are retrieved.
        """
        if len(window) < NEIGHBOURS:
            raise ExperimentError(
                f'retrieval of {NEIGHBOURS} records needs as many, found {len(window)}'
            )
        self.features = summary_features if represent == 'summary' else sequence_features
        self.least = MAJORITY if take == 'majority' else 1
        self.labels = labels > 0.5
        features = self.features(window)
        self.mean = features.mean(axis=0)
        self.scale = 1 / np.maximum(features.std(axis=0), _SMALLEST_DEVIATION)
        self.index: Any = _index(index, features.shape[1])
        self.index.add(self.standardise(window))

    def standardise(self, window: Array) -> Array:
        """Return z-scored features of windows, as they are stored and asked for."""
        return np.ascontiguousarray((self.features(window) - self.mean) * self.scale)

    def nearest(self, window: Array) -> NDArray[np.int64]:
        """Return the four nearest stored situations of each window, [N, 4]."""
        found: NDArray[np.int64] = self.index.search(self.standardise(window), NEIGHBOURS)[1]
        return found

    def __call__(self, window: Array) -> NDArray[np.bool_]:
        """Return what each window calls for, [N, G]."""
        named: NDArray[np.bool_] = self.labels[self.nearest(window)].sum(axis=1) >= self.least
        return named


class SummaryForest:
    """RF-Summary: a random forest on the aggregates of Summary-RAG."""

    def __init__(self, window: Array, labels: Array, seed: int) -> None:
        """Grow the trees on windows [N, T, F] with labels [N, G]."""
        self._forest: Any = RandomForestClassifier(TREES, random_state=seed, n_jobs=1)
        self._forest.fit(summary_features(window), labels > 0.5)

    def __call__(self, window: Array) -> NDArray[np.bool_]:
        """Return what each window calls for, [N, G]."""
        named: NDArray[np.bool_] = self._forest.predict(summary_features(window))
        return named > 0.5


def _index(kind: Index, width: int) -> Any:
    if kind == 'flat':
        return faiss.IndexFlatL2(width)
    index = faiss.IndexHNSWFlat(width, HNSW_LINKS)
    index.hnsw.efConstruction = HNSW_BUILD
    index.hnsw.efSearch = HNSW_SEARCH
    return index
