# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Fitting learns, repeats itself, goes on where it was interrupted."""

from __future__ import annotations

import dataclasses
import signal
import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn

from thinking_policy.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from thinking_policy.training.errors import LearningError
from thinking_policy.training.fit import fit, make_deterministic
from thinking_policy.training.networks import Dropout
from thinking_policy.training.recipe import Augmentation, Recipe

RECIPE = Recipe(steps=200, batch=64, learning_rate=2e-2)


@pytest.fixture
def problem(make_learning_set):
    """Return rows whose label is whether the first value exceeds the second."""

    def make(rows=512, seed=1, labels=None, weight=None):
        window = np.random.default_rng(seed).random((rows, 2, 2), np.float32)
        truth = window[:, 0, :1] > window[:, 0, 1:]
        return make_learning_set(window, truth if labels is None else labels, weight=weight)

    return make


def network(seed=0, dropout=0.0):
    make_deterministic(seed)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), Dropout(dropout), nn.Linear(16, 1))


def right(fitted, learning):
    with torch.no_grad():
        said = fitted(*learning.inputs()).numpy() > 0
    return (said == (learning.labels > 0.5)).mean()


def same(one, other):
    return all(
        torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True)
    )


def test_it_learns(problem):
    learning, made = problem(), network()
    done = fit(made, learning, RECIPE)
    assert done.loss < 0.15
    assert done.steps == 200
    assert not done.stopped_early
    assert right(made, learning) > 0.97


def test_the_same_seed_gives_the_same_weights_to_the_bit(problem):
    recipe = Recipe(steps=40, batch=64, augmentation=Augmentation(0.1, 0.1, 0.01, 0.5, 0.3, 0.2))
    one, two, other = network(dropout=0.2), network(dropout=0.2), network(dropout=0.2)
    fit(one, problem(), recipe)
    fit(two, problem(), recipe)
    fit(other, problem(), Recipe(**{**vars(recipe), 'seed': 1}))
    assert same(one, two)
    assert not same(one, other)


def test_rows_without_weight_teach_nothing(problem):
    truth = problem().labels.copy()
    truth[::2] = 1 - truth[::2]
    weight = np.ones_like(truth)
    weight[::2] = 0
    made = network()
    fit(made, problem(labels=truth, weight=weight), RECIPE)
    assert right(made, problem()) > 0.95


def test_progress_is_told_every_step(problem):
    told = []
    fit(
        network(),
        problem(),
        Recipe(steps=5, batch=64),
        progress=lambda *what: told.append(what),
    )
    assert [(step, steps) for step, steps, _ in told] == [(k, 5) for k in range(1, 6)]
    assert all(loss == pytest.approx(0.7, abs=0.2) for *_, loss in told)


def test_the_network_is_left_in_evaluation_mode(problem):
    made = network()
    fit(made, problem(), Recipe(steps=1, batch=8))
    assert not made.training


def test_nothing_to_learn_from_is_said(problem):
    with pytest.raises(LearningError, match='no row has a weight'):
        fit(network(), problem(weight=np.zeros((512, 1), np.float32)), RECIPE)


def test_a_loss_that_is_no_number_is_said_with_its_step(problem):
    with pytest.raises(LearningError, match=r'at step \d+; lower the learning rate'):
        fit(network(), problem(), Recipe(steps=300, batch=64, learning_rate=1000, warm_up=0))


AUGMENTED = Augmentation(0.1, 0.1, 0.01, 0.3, 0.3, 0.2, masks_from=0.3)
LITTLE = Recipe(steps=60, batch=32, learning_rate=1e-2, augmentation=AUGMENTED)


def test_a_balanced_fit_sees_rare_labels_as_often_as_common_ones(problem):
    learning = problem()
    rare = learning.take(
        np.concatenate(
            (np.flatnonzero(learning.labels[:, 0] == 0), [int(learning.labels.argmax())])
        )
    )
    plain, balanced = network(), network()
    fit(plain, rare, RECIPE)
    fit(balanced, rare, dataclasses.replace(RECIPE, balance=1.0))
    found = [
        (made(*learning.inputs()).detach().numpy()[learning.labels > 0] > 0).mean()
        for made in (plain, balanced)
    ]
    assert found[1] > found[0] + 0.1


class InterruptedFitError(Exception):
    pass


def stop_at(step):
    def progress(done, steps, loss):
        if done == step:
            raise InterruptedFitError

    return progress


@pytest.mark.parametrize('changes', [{}, {'balance': 0.5}, {'patience': 3, 'evaluate_every': 5}])
def test_an_interrupted_fit_goes_on_to_the_same_bits(problem, tmp_path, monkeypatch, changes):
    monkeypatch.setattr('thinking_policy.training.fit._CHECKPOINT_EVERY_S', 0.0)
    recipe = dataclasses.replace(LITTLE, **changes)
    whole, parts = network(dropout=0.2), network(dropout=0.2)
    done = fit(whole, problem(), recipe, validation=problem(seed=2))
    state = tmp_path / 'state.checkpoint'
    for step in (7, 41):
        with pytest.raises(InterruptedFitError):
            fit(
                parts,
                problem(),
                recipe,
                validation=problem(seed=2),
                checkpoint=state,
                progress=stop_at(step),
            )
        parts = network(seed=9, dropout=0.2)  # everything comes from the file
    again = fit(parts, problem(), recipe, validation=problem(seed=2), checkpoint=state)
    assert same(whole, parts)
    assert (again.steps, again.loss) == (done.steps, done.loss)
    assert again.validation_loss == done.validation_loss


def test_a_finished_fit_is_not_done_again(problem, tmp_path):
    one, two = network(), network(seed=9)
    fit(one, problem(), LITTLE, checkpoint=tmp_path / 'state')
    fit(two, problem(), LITTLE, checkpoint=tmp_path / 'state', progress=stop_at(1))
    assert same(one, two)


def test_ctrl_c_ends_after_a_step_and_keeps_the_state(problem, tmp_path):
    def progress(step, steps, loss):
        if step == 20:
            signal.raise_signal(signal.SIGINT)

    whole, parts = network(), network()
    fit(whole, problem(), LITTLE)
    with pytest.raises(KeyboardInterrupt):
        fit(parts, problem(), LITTLE, checkpoint=tmp_path / 'state', progress=progress)
    told = []
    fit(
        parts,
        problem(),
        LITTLE,
        checkpoint=tmp_path / 'state',
        progress=lambda step, *rest: told.append(step),
    )
    assert told[0] == 21
    assert same(whole, parts)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ('recipe', 'rows', 'what'),
    [
        (dataclasses.replace(LITTLE, learning_rate=2e-2), 512, 'recipe'),
        (LITTLE, 511, 'learning set'),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(problem, tmp_path, recipe, rows, what):
    fit(network(), problem(), LITTLE, checkpoint=tmp_path / 'state')
    with pytest.raises(LearningError, match=f'of another run, with another {what}; delete it'):
        fit(network(), problem(rows), recipe, checkpoint=tmp_path / 'state')


@pytest.mark.parametrize('content', [b'', b'no checkpoint at all', b'PK\3\4'])
def test_a_damaged_checkpoint_is_said(problem, tmp_path, content):
    (tmp_path / 'state').write_bytes(content)
    with pytest.raises(LearningError, match='not a checkpoint, or damaged; delete it'):
        fit(network(), problem(), LITTLE, checkpoint=tmp_path / 'state')


def test_the_result_depends_on_the_parts_of_a_batch_and_not_on_the_cores(problem, monkeypatch):
    recipe = dataclasses.replace(LITTLE, threads=2)
    made = []
    for cores in (1, 2, 8):
        monkeypatch.setattr('thinking_policy.training.fit.cores', lambda cores=cores: cores)
        made.append(network(dropout=0.2))
        fit(made[-1], problem(), recipe)
    assert same(made[0], made[1])
    assert same(made[0], made[2])


def test_parts_of_a_batch_add_up_to_the_whole(problem):
    plain = Recipe(steps=20, batch=64, learning_rate=1e-2)
    one, two = network(), network()
    fit(one, problem(), plain)
    fit(two, problem(), dataclasses.replace(plain, threads=3))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-4)


def test_a_dropout_without_its_own_generator_is_refused_in_parts(problem):
    make_deterministic(0)
    torch_dropout = nn.Sequential(nn.Linear(8, 4), nn.Dropout(0.1), nn.Linear(4, 1))
    with pytest.raises(LearningError, match=r'needs training.networks.Dropout'):
        fit(torch_dropout, problem(), dataclasses.replace(LITTLE, threads=2))
    fit(torch_dropout, problem(), LITTLE)


def test_fitting_stops_where_validation_gets_no_better_and_keeps_the_best(problem):
    noise = np.random.default_rng(3).random((64, 1)) < 0.5  # nothing to be learned here
    learning, validation = problem(64, labels=noise), problem(256, seed=2)
    recipe = Recipe(steps=300, batch=64, learning_rate=1e-2, patience=4, evaluate_every=10)
    made = network()
    done = fit(made, learning, recipe, validation=validation)
    assert done.stopped_early
    assert done.steps < 200
    last = network()
    further = fit(last, learning, dataclasses.replace(recipe, patience=0), validation=validation)
    assert not further.stopped_early
    assert further.validation_loss > done.validation_loss


def test_patience_begins_when_masks_are_at_full_strength(problem):
    late = Augmentation(drop=0.5, masks_from=0.5)
    recipe = Recipe(
        steps=200, batch=32, learning_rate=0.0, augmentation=late, patience=1, evaluate_every=10
    )
    done = fit(network(), problem(), recipe, validation=problem(seed=2))
    assert done.stopped_early  # nothing ever gets better without a learning rate
    assert done.steps == 150  # at full strength from 140 on, no better at 150


def test_fitting_needs_no_more_memory_the_longer_it_lasts(problem):
    def peak_after(steps):
        tracemalloc.start()
        fit(network(), problem(), dataclasses.replace(LITTLE, steps=steps))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_after(5)
    assert peak_after(100) < 1.5 * peak_after(20)


def test_a_teachers_probabilities_are_learned_as_they_are(problem):
    soft = np.full((512, 1), 0.3, np.float32)
    made = network()
    fit(made, problem(labels=soft), RECIPE)
    assert torch.sigmoid(made(*problem().inputs())).mean().item() == pytest.approx(0.3, abs=0.03)


def test_what_is_not_valid_is_not_learned_from(problem):
    learning = problem()
    valid = learning.valid.copy()
    valid[:, 0] = False  # the only sample that tells the label
    made = network()
    fit(made, dataclasses.replace(learning, valid=valid), RECIPE)
    assert right(made, learning) < 0.7


def test_a_checkpoint_with_turned_bits_is_not_gone_on_from(tmp_path):
    sums = {'recipe': 'x'}
    path = tmp_path / 'c'
    weights = {'w': torch.arange(4096, dtype=torch.float32)}
    write_checkpoint(path, Checkpoint(sums, 1, 0.0, weights, {}, [], [], {}, 0.0, 0))
    assert torch.equal(read_checkpoint(path, sums).network['w'], weights['w'])
    whole = path.read_bytes()
    for share in (0.2, 0.5, 0.8):  # well inside the weights
        damaged = bytearray(whole)
        damaged[round(len(whole) * share)] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(LearningError, match='not a checkpoint, or damaged'):
            read_checkpoint(path, sums)
