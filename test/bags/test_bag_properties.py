# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Generated recordings: what comes out depends on stamps and values, not on storage and order."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import StoragePlugin, Writer

from thinking_policy.bags import open_bag, situations_of
from thinking_policy.situation import EpisodeConfig, SignalConfig, SituationConfig

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TYPE = 'sensor_msgs/msg/Temperature'
TOPICS = ('/a', '/b')
LENGTH = 4

quick = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
values = st.sampled_from([20.0, 20.5, 59.0, 61.0, 1e30, -1.0, math.nan, math.inf, -math.inf])
# Header time relative to record time; None: 0, as many drivers leave it.
headers = st.sampled_from([0.0, 0.0, 0.0, -0.25, -1.5, -30.0, 0.5, 60.0, None])
# Steps between messages: ties, half ticks, a gap that ends an episode.
steps = st.sampled_from([0.0, 0.0, 0.25, 0.5, 0.5, 1.0, 3.0, 12.0])
entries = st.lists(st.tuples(st.sampled_from(TOPICS), steps, values, headers), max_size=40)


def configuration(time_source):
    """Return two signals, one of them slow, with sentinel and limits."""
    signals = (
        SignalConfig('a', '/a', TYPE, 'temperature', over_time='mean', nominal_high=100.0,
                     sentinels=(-1.0,), valid_high=1000.0),
        SignalConfig('b', '/b', TYPE, 'temperature', over_time='last', nominal_high=100.0,
                     period_ticks=2, stale_s=2.0),
    )  # fmt: skip
    return SituationConfig(
        tick_period_s=0.5,
        window_length=LENGTH,
        time_source=time_source,
        signals=signals,
        episode=EpisodeConfig(idle_gap_s=5.0),
    )


def rows_of(found, messages):
    """Return (topic, record time, raw) rows, in order of record time."""
    rows, now = [], START
    for topic, step_s, value, header_s in found:
        now += round(step_s * SECOND)
        stamp = 0 if header_s is None else now + round(header_s * SECOND)
        rows.append((topic, now, messages.temperature(value, stamp)))
    return rows


def write(path, rows, messages, plugin=StoragePlugin.SQLITE3):
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        topics = {t: writer.add_connection(t, TYPE, typestore=messages.store) for t in TOPICS}
        for topic, stamp, raw in rows:
            writer.write(topics[topic], stamp, raw)
    return path


def replayed(path, time_source):
    """Return what can be compared of a recording, and how its messages were counted."""
    with open_bag(path) as bag:
        held = {topic.name: topic.count for topic in bag.topics}
        replay = situations_of(bag, configuration(time_source), clock='record')
        made = list(replay)
        assert sum(held.values()) == bag.message_count == replay.played
        return made, held, replay.counters


def same(one, two):
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        assert (a.stamp_ns, a.tick, a.episode) == (b.stamp_ns, b.tick, b.episode)
        assert np.array_equal(a.window, b.window)
        assert np.array_equal(a.valid, b.valid)
        assert [e.code for e in a.new_events] == [e.code for e in b.new_events]


@pytest.fixture(params=['receive', 'header'])
def time_source(request):
    return request.param


@given(found=entries)
@quick
def test_both_storages_give_the_same_and_every_message_is_counted(found, messages, time_source):
    rows = rows_of(found or [('/a', 0.0, 20.0, 0.0)], messages)
    with tempfile.TemporaryDirectory() as folder:
        one = write(Path(folder) / 'one', rows, messages)
        two = write(Path(folder) / 'two', rows, messages, StoragePlugin.MCAP)
        made, held, counters = replayed(one, time_source)
        same(made, replayed(two, time_source)[0])
    assert Counter(topic for topic, _, _ in rows) == Counter(held)
    for topic, counts in counters.topics.items():
        assert counts.received == held.get(topic, 0)
        assert counts.received == (
            counts.used + counts.broken + counts.late + counts.future + counts.overflow
            + counts.jumped + counts.unbound + counts.pending + counts.empty
        )  # fmt: skip


@given(found=entries)
@quick
def test_no_window_reaches_across_the_border_of_an_episode_and_no_nan_comes_out(
    found, messages, time_source
):
    rows = rows_of(found or [('/a', 0.0, 20.0, 0.0)], messages)
    with tempfile.TemporaryDirectory() as folder:
        made, *_ = replayed(write(Path(folder) / 'bag', rows, messages), time_source)
    lived = 0
    for before, situation in zip([None, *made], made, strict=False):
        new = before is None or before.episode != situation.episode
        lived = 1 if new else lived + 1
        assert not situation.valid[: max(0, LENGTH - lived)].any()
        assert np.isfinite(situation.window).all()
        assert (situation.window[~situation.valid] == 0).all()
        if not new:
            assert situation.tick == before.tick + 1


@given(found=entries, cuts=st.lists(st.integers(0, 40), max_size=3))
@quick
def test_splits_of_a_recording_are_as_good_as_one_file(found, cuts, messages, time_source):
    rows = rows_of(found or [('/a', 0.0, 20.0, 0.0)], messages)
    borders = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [rows[a:b] for a, b in itertools.pairwise(borders)]
    with tempfile.TemporaryDirectory() as folder:
        whole = write(Path(folder) / 'whole', rows, messages)
        split = Path(folder) / 'split'
        split.mkdir()
        for number, part in enumerate(parts):
            bag = write(Path(folder) / f'part{number}', part, messages, StoragePlugin.MCAP)
            (file,) = bag.glob('*.mcap')
            file.rename(split / f'run_{number}.mcap')
        same(replayed(whole, time_source)[0], replayed(split, time_source)[0])


@given(found=entries, seed=st.integers(0, 2**16))
@quick
def test_the_order_of_messages_of_one_time_does_not_matter(found, seed, messages, time_source):
    rows = rows_of(found or [('/a', 0.0, 20.0, 0.0)], messages)
    order = np.random.default_rng(seed).permutation(len(rows))
    shuffled = [rows[i] for i in sorted(order, key=lambda i: rows[i][1])]
    with tempfile.TemporaryDirectory() as folder:
        one = write(Path(folder) / 'one', rows, messages)
        two = write(Path(folder) / 'two', shuffled, messages)
        same(replayed(one, time_source)[0], replayed(two, time_source)[0])
