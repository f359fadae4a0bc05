# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings with readings that a test writes down."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.bags.labelling.recording import Recording, Scale

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


@pytest.fixture(scope='session')
def record():
    """Return a function that makes a recording, a row a second.

    Args: values by signal; episodes as (name, rows); events as (row, code).
    """

    def make(values, episodes=None, events=(), name='walk', tick_s=1.0, start=START):
        columns = [np.asarray(column, np.float64) for column in values.values()]
        count = len(columns[0])
        episodes = episodes or (('r-1', count),)
        episode = np.repeat(np.arange(len(episodes)), [rows for _, rows in episodes])
        stamps = start + np.round(np.arange(count) * tick_s * SECOND).astype(np.int64)
        rows = np.array([row for row, _ in events], np.int64)
        return Recording(
            name,
            tuple(Scale(signal, 'V', 0.0, 10.0) for signal in values),
            tick_s,
            start - round(tick_s * SECOND),
            stamps,
            episode,
            tuple(episode_name for episode_name, _ in episodes),
            np.stack(columns, axis=1),
            stamps[rows],
            episode[rows],
            tuple(code for _, code in events),
        )

    return make
