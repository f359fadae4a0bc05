# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a learning set takes, refuses and hands out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from thinking_policy.training.errors import LearningError
from thinking_policy.training.learning_set import EventRows, concatenate
from thinking_policy.training.splitting import split_by_episode


@pytest.fixture
def learning(make_learning_set):
    window = np.arange(24, dtype=np.float32).reshape(4, 3, 2) / 24
    return make_learning_set(window, [[1, 0], [0, 1], [1, 1], [0, 0]])


def test_inputs_are_packed_as_the_robot_packs(learning):
    valid = np.ones((4, 3, 2), np.bool_)
    valid[1, 0, 1] = False
    (packed,) = dataclasses.replace(learning, valid=valid).inputs(np.array([1]))
    assert packed.dtype == torch.float32
    expected = learning.window[1].copy()
    expected[0, 1] = 0
    assert np.array_equal(packed[0, :6].numpy().reshape(3, 2), expected)
    assert packed[0, 6:].tolist() == [1, 0, 1, 1, 1, 1]


def test_event_inputs_follow_in_the_order_of_the_manifest(learning):
    events = EventRows(
        ('a', 'b'),
        np.arange(12).reshape(4, 3) % 3,
        np.full((4, 3), 2.0, np.float32),
        np.full((4, 2), 3.0, np.float32),
        np.full((4, 2), 4.0, np.float32),
    )
    learning = dataclasses.replace(learning, events=events)
    tensors = learning.inputs(slice(1, 3))
    assert [spec.name for spec in learning.specs] == [
        'signals',
        'event_code',
        'event_age',
        'code_age',
        'code_count',
    ]
    for tensor, spec in zip(tensors, learning.specs, strict=True):
        assert tuple(tensor.shape[1:]) == spec.shape
        assert str(tensor.dtype) == f'torch.{spec.dtype}'
    assert tensors[1].tolist() == [[0, 1, 2], [0, 1, 2]]


def test_the_hash_is_of_everything_that_is_learned_from(learning):
    same = dataclasses.replace(learning, window=learning.window.copy())
    assert same.sha256 == learning.sha256
    for change in (
        {'labels': 1 - learning.labels},
        {'weight': learning.weight * 0.5},
        {'activities': ('g1', 'g0')},
        {'episode': learning.episode + 1},
        {'tick_period_s': 0.25},
    ):
        assert dataclasses.replace(learning, **change).sha256 != learning.sha256


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_named_with_its_row(learning, bad):
    window = learning.window.copy()
    window[2, 1, 0] = bad
    with pytest.raises(LearningError, match='window: NaN or infinite in 1 rows, first row 2'):
        dataclasses.replace(learning, window=window)


def test_labels_outside_of_0_to_1_are_refused(learning):
    labels = learning.labels.copy()
    labels[3, 1] = 2
    with pytest.raises(LearningError, match=r'labels: expected 0...1, found .*2.0\] in row 3'):
        dataclasses.replace(learning, labels=labels)


@pytest.mark.parametrize(
    ('name', 'shape'), [('valid', (4, 3, 1)), ('labels', (4, 3)), ('episode', (3,))]
)
def test_a_wrong_shape_is_said(learning, name, shape):
    with pytest.raises(LearningError, match=f'{name}: expected shape'):
        dataclasses.replace(learning, **{name: np.zeros(shape, getattr(learning, name).dtype)})


def test_an_empty_class_is_named(learning):
    learning.check_classes('walk.npz')
    never = learning.labels.copy()
    never[:, 1] = 0
    with pytest.raises(LearningError, match=r"walk.npz: activity 'g1' is an empty class.*calls"):
        dataclasses.replace(learning, labels=never).check_classes('walk.npz')
    always = np.column_stack((learning.labels[:, 0], np.ones(4, np.float32)))
    with pytest.raises(LearningError, match=r"'g1' is an empty class.*does without"):
        dataclasses.replace(learning, labels=always).check_classes('walk.npz')


def test_rows_without_weight_make_no_class(learning):
    weight = learning.weight.copy()
    weight[learning.labels[:, 0] > 0, 0] = 0
    with pytest.raises(LearningError, match="'g0' is an empty class"):
        dataclasses.replace(learning, weight=weight).check_classes('walk.npz')


def episodes(make_learning_set, count=20, rows=15):
    episode = np.repeat(np.arange(count), rows)
    labels = np.zeros((count * rows, 2))
    labels[:, 0] = np.arange(count * rows) % 2
    labels[np.isin(episode, (3, 7, 11)), 1] = 1  # rare: three episodes in all
    return make_learning_set(
        np.random.default_rng(0).random((len(episode), 2, 2)), labels, episode=episode
    )


def test_episodes_are_never_split(make_learning_set):
    parts = split_by_episode(episodes(make_learning_set), (0.7, 0.15, 0.15), seed=3)
    named = [set(part.episode.tolist()) for part in parts]
    assert sum(map(len, named)) == len(set.union(*named)) == 20
    assert [len(part) / 300 for part in parts] == pytest.approx([0.7, 0.15, 0.15], abs=0.06)


def test_a_rare_activity_is_in_every_part(make_learning_set):
    for seed in range(10):
        parts = split_by_episode(episodes(make_learning_set), (0.7, 0.15, 0.15), seed)
        assert all(part.labels[:, 1].any() for part in parts), seed


def test_the_seed_decides_the_split(make_learning_set):
    whole = episodes(make_learning_set)
    one, two, other = (split_by_episode(whole, (0.8, 0.2), seed)[1] for seed in (1, 1, 2))
    assert one.sha256 == two.sha256 != other.sha256


def test_too_few_episodes_to_split_are_said(learning):
    with pytest.raises(LearningError, match='at least 2 episodes to split, found 1'):
        split_by_episode(
            dataclasses.replace(learning, episode=np.zeros(4, np.int64)), (0.5, 0.5), 0
        )


def test_joined_sets_keep_their_episodes_apart(learning):
    joined = concatenate((learning, learning.take(np.array([1, 1]))))
    assert joined.episode.tolist() == [0, 1, 2, 3, 4, 4]
    assert np.array_equal(joined.window[4], learning.window[1])


def test_sets_of_other_signals_are_not_joined(learning):
    other = dataclasses.replace(learning, tick_period_s=1.0)
    with pytest.raises(LearningError, match=r'differ in tick_period_s: 0.5 and 1.0'):
        concatenate((learning, other))
