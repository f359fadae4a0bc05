# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The situations that experiments are made of."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.experiments import evolution, ordering
from thinking_policy.experiments.baselines import summary_features
from thinking_policy.experiments.signals import (
    ACTIVITIES,
    NOISE,
    RECORD_BYTES,
    SIGNAL_NAMES,
    draw_identities,
)


def named(labels: np.ndarray) -> set[str]:
    return {name for name, label in zip(ACTIVITIES, labels, strict=True) if label}


def test_a_record_has_the_papers_size():
    assert RECORD_BYTES == 312
    assert RECORD_BYTES * 500 / 1e6 == 0.156
    assert RECORD_BYTES * 30_000 / 1e6 == 9.360


def test_orders_share_every_aggregate_and_differ_in_order():
    latent = ordering.latent_orders()
    summaries = summary_features(latent[:, :, None])
    np.testing.assert_allclose(summaries, np.broadcast_to(summaries[0], summaries.shape), 1e-5)
    assert all(sorted(row) == sorted(latent[0]) for row in latent.tolist())
    assert len({tuple(row) for row in latent.tolist()}) == 4


def test_orders_call_for_the_labels_of_the_fixed_rule():
    assert ordering.activities_of(0) == ('trend', 'hazard', 'information_seeking')
    assert ordering.activities_of(3) == (
        'future_impact',
        'information_seeking',
        'hidden_dependency',
    )


def test_all_orders_are_equally_frequent_and_spread_over_all_components():
    train = ordering.draw_sets(100, 640, 200).train
    assert train.labels.sum(axis=0).tolist() == [160, 320, 320, 320, 320, 160, 160, 160]
    assert np.bincount(train.episode).tolist() == [32] * 20


def test_components_of_the_test_are_never_met_in_training():
    sets = ordering.draw_sets(100, 640, 200)
    means = [
        np.array([part.window[part.episode == who].mean(axis=(0, 1)) for who in range(20)])
        for part in (sets.train, sets.test)
    ]
    # The same component would have the same mean, but for noise.
    apart = np.abs(means[0][:, None] - means[1][None]).max(axis=2)
    assert apart.min() > NOISE
    assert len({tuple(row) for row in draw_identities(50, np.random.default_rng(0)).gain}) == 50


def test_a_seed_decides_the_situations():
    again, other = ordering.draw_sets(100, 80, 40), ordering.draw_sets(101, 80, 40)
    first = ordering.draw_sets(100, 80, 40)
    assert (first.train.sha256, first.test.sha256) == (again.train.sha256, again.test.sha256)
    assert len({first.train.sha256, first.test.sha256, other.train.sha256}) == 3


def test_pairs_end_in_exactly_the_same_sample():
    test = evolution.draw_sets(100, 40, 30).test
    np.testing.assert_array_equal(test.window[::2, -1], test.window[1::2, -1])
    assert (np.abs(test.window[::2, 0] - test.window[1::2, 0]).max(axis=1) > 5 * NOISE).all()


def test_only_temperature_and_current_of_a_pair_move():
    test = evolution.draw_sets(100, 40, 30).test
    change = test.window[:, -1] - test.window[:, 0]
    moving = [SIGNAL_NAMES.index('temperature'), SIGNAL_NAMES.index('current')]
    assert (change[::2, moving] > 0).all()
    assert (change[1::2, moving] < 0).all()
    assert np.abs(np.delete(change, moving, axis=1)).max() < 6 * NOISE
    assert named(test.labels[0]) == {'trend', 'cause', 'hazard'}
    assert named(test.labels[1]) == {'trend', 'recovery'}


def test_the_current_state_of_a_pair_says_nothing_about_how_it_came():
    train = evolution.last_sample(evolution.draw_sets(100, 40, 30).train)
    assert train.window.shape == (80, 1, 7)
    np.testing.assert_array_equal(train.window[::2], train.window[1::2])


@pytest.mark.parametrize('draw', [ordering.draw_sets, evolution.draw_sets])
def test_windows_are_complete_and_in_the_common_setting(draw):
    train = draw(100, 40, 40).train
    assert train.window.shape[1:] == (10, 7)
    assert train.window.dtype == np.float32
    assert train.valid.all()
    assert train.activities == ACTIVITIES
