# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a batch is changed by, and what stays."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from thinking_policy.training.augmentation import augment, mask_strength
from thinking_policy.training.errors import LearningError
from thinking_policy.training.networks import random_words
from thinking_policy.training.recipe import Augmentation, Recipe

ROWS, T, F = 4000, 10, 7


def batch(seed=0):
    window = torch.rand((ROWS, T, F), generator=torch.Generator().manual_seed(seed))
    return window, torch.ones((ROWS, T, F), dtype=torch.bool)


def changed(augmentation, strength=1.0, seed=1):
    return augment(*batch(), augmentation, strength, torch.Generator().manual_seed(seed))


def test_nothing_asked_for_changes_nothing():
    window, valid = batch()
    new, seen = augment(window, valid, Augmentation(), 1.0, torch.Generator())
    assert new is window
    assert seen is valid


def test_offset_moves_a_signal_as_a_whole():
    moved = changed(Augmentation(offset=0.2))[0] - batch()[0]
    assert moved.std(1).max() < 1e-6
    assert moved.abs().max() == pytest.approx(0.2, abs=1e-3)
    assert abs(moved.mean()) < 0.005


def test_gain_keeps_the_mean_and_stretches_the_swing():
    window, new = batch()[0], changed(Augmentation(gain=0.5))[0]
    assert torch.allclose(new.mean(1), window.mean(1), atol=1e-5)
    ratio = new.std(1) / window.std(1)
    assert ratio.min() == pytest.approx(np.exp(-0.5), abs=0.01)
    assert ratio.max() == pytest.approx(np.exp(0.5), abs=0.01)


def test_noise_has_a_level_for_each_signal_and_row():
    noise = changed(Augmentation(noise=0.1))[0] - batch()[0]
    assert noise.std() == pytest.approx(0.1 / 3**0.5, rel=0.05)
    assert noise.std(1).max() < 0.25


def test_up_to_the_given_share_of_samples_gets_lost():
    new, seen = changed(Augmentation(drop=0.6))
    lost = 1 - seen.float().mean((1, 2))
    assert lost.mean() == pytest.approx(0.3, abs=0.02)
    assert lost.max() < 0.8
    assert not new[~seen].any()
    assert torch.equal(new[seen], batch()[0][seen])


def test_whole_signals_go_missing_in_some_rows_but_never_all():
    _, seen = changed(Augmentation(missing=0.5))
    gone = ~seen.any(1)
    assert torch.equal(gone, ~seen.all(1))  # all samples of a signal or none
    assert gone.any(1).float().mean() == pytest.approx(0.43, abs=0.04)
    assert not gone.all(1).any()


def test_a_window_that_has_just_begun_lacks_its_oldest_samples():
    _, seen = changed(Augmentation(short=1.0))
    number = seen[:, :, 0].sum(1)
    assert set(number.tolist()) == set(range(1, T))
    assert torch.equal(seen, seen.flip(1).cummin(1).values.flip(1) | seen)
    for row in range(50):
        assert seen[row, T - int(number[row]) :].all()


def test_masks_wait_for_their_share_of_the_steps():
    later = Augmentation(drop=0.5, masks_from=0.5)
    assert [mask_strength(later, p) for p in (0.0, 0.5, 0.6, 0.7, 1.0)] == pytest.approx(
        [0, 0, 0.5, 1, 1], abs=1e-6
    )
    assert mask_strength(Augmentation(drop=0.5), 0.0) == 1.0
    assert changed(later, strength=0.0)[1].all()


def test_random_words_are_uniform():
    words = random_words(200_001, torch.Generator().manual_seed(0)).numpy()
    assert words.shape == (200_001,)
    counts = np.bincount((words.astype(np.int64) + 2**15) >> 12, minlength=16)
    assert counts.min() > 12_000
    assert counts.max() < 13_000
    # Neighbours come from one draw of 64 bits and have nothing to do with each other.
    assert abs(np.corrcoef(words[:-1], words[1:])[0, 1]) < 0.01


@pytest.mark.parametrize(
    'wrong', [{'steps': -1}, {'balance': 2}, {'learning_rate': float('nan')}, {'threads': 0}]
)
def test_a_recipe_out_of_range_is_refused(wrong):
    with pytest.raises(LearningError, match=f'recipe: {next(iter(wrong))}: expected'):
        Recipe(**wrong)
    with pytest.raises(LearningError, match=r'augmentation.drop: expected 0...1'):
        Augmentation(drop=1.5)
