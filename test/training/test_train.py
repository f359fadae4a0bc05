# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""From a learning set to a policy file, and from that to a smaller one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from thinking_policy.policy import PolicyRuntime, load_activities, read_artifact
from thinking_policy.training.distil import taught, teach
from thinking_policy.training.errors import LearningError
from thinking_policy.training.evaluation import evaluate, robustness
from thinking_policy.training.export import predictor
from thinking_policy.training.learning_files import save_learning_set
from thinking_policy.training.learning_set import EventRows
from thinking_policy.training.recipe import Augmentation, Recipe
from thinking_policy.training.train import (
    Parts,
    Plan,
    chosen_activities,
    make_network,
    recipe_of,
    split,
    train_policy,
)

QUICK = Plan('robot', Recipe(steps=400, batch=64, learning_rate=2e-2), width=16)


@pytest.fixture
def activities(two_activities):
    return load_activities(two_activities)[:2]


@pytest.fixture
def trained(situations, activities):
    return train_policy(split(situations(), 0.2, 0.2, 0), activities, QUICK)


def test_a_policy_learns_and_describes_itself(trained, situations, tmp_path):
    path = tmp_path / 'policy.onnx'
    path.write_bytes(trained.data)
    manifest = PolicyRuntime.load(path).manifest
    assert manifest == trained.manifest
    assert manifest.metrics['f1'] >= 0.99
    assert manifest.metrics['ece'] <= 0.05
    assert {f'{m}.g1' for m in ('f1', 'precision', 'recall', 'ece')} <= set(manifest.metrics)
    assert manifest.metrics['rows'] == 120
    assert manifest.training['steps'] == 400
    assert manifest.training['rows'] == 360
    assert manifest.training['measured_on_validation'] == 0
    assert manifest.training_data_sha256 == split(situations(), 0.2, 0.2, 0).learning.sha256
    assert [signal.name for signal in manifest.signals] == ['s0', 's1']


def test_the_same_data_and_options_give_the_same_bytes(trained, situations, activities):
    again = train_policy(split(situations(), 0.2, 0.2, 0), activities, QUICK)
    assert again.data == trained.data
    other = dataclasses.replace(QUICK, recipe=dataclasses.replace(QUICK.recipe, seed=1))
    parts = split(situations(), 0.2, 0.2, 0)
    assert train_policy(parts, activities, other).data != trained.data


def test_thresholds_are_not_chosen_on_the_rows_that_figures_are_of(situations, activities):
    parts = split(situations(), 0.2, 0.2, 0)
    spoilt = dataclasses.replace(
        parts.measuring, labels=1 - parts.measuring.labels, weight=parts.measuring.weight
    )
    one = train_policy(parts, activities, QUICK)
    two = train_policy(Parts(parts.learning, parts.choosing, spoilt), activities, QUICK)
    assert two.manifest.activities == one.manifest.activities
    assert two.manifest.graph_sha256 == one.manifest.graph_sha256
    assert two.manifest.metrics['f1'] < 0.1


def test_without_rows_for_measuring_the_figures_say_so(situations, activities):
    parts = split(situations(), 0.3, 0, 0)
    assert parts.measuring is None
    made = train_policy(parts, activities, QUICK)
    assert made.manifest.training['measured_on_validation'] == 1
    assert made.evaluation.rows == len(parts.choosing)


@pytest.mark.parametrize('shares', [(0.0, 0.2), (0.6, 0.4), (1.2, 0.0), (0.5, -0.1)])
def test_impossible_shares_are_refused(situations, shares):
    with pytest.raises(LearningError, match='expected shares'):
        split(situations(), *shares, 0)


def test_a_reference_policy_can_be_trained_too(situations, activities):
    plan = Plan('reference', Recipe(steps=2, batch=8))
    made = train_policy(split(situations(200), 0.3, 0, 0), activities, plan)
    assert made.manifest.network == 'transformer 4x192'
    assert made.manifest.parameters == 1_839_560 - 192 * 5 - 193 * 6  # fewer signals, labels
    assert len(made.data) > 4 * made.manifest.parameters  # in float32


def test_the_reference_refuses_events_and_long_windows(situations, make_learning_set):
    learning = situations(4)
    ages = np.zeros((4, 1), np.float32)
    events = EventRows(('a',), np.zeros((4, 1), np.int64), ages, ages, ages)
    with pytest.raises(LearningError, match='reads no events'):
        make_network('reference', dataclasses.replace(learning, events=events))
    with pytest.raises(LearningError, match='up to 100 samples per signal, found 101'):
        make_network('reference', make_learning_set(np.zeros((2, 101, 1)), [[0], [1]]))


def test_a_robot_policy_reads_the_events_of_its_vocabulary(situations, activities):
    learning = situations()
    happened = np.random.default_rng(1).random(len(learning)) < 0.5
    ages = np.where(happened, 1.0, -1.0).astype(np.float32)[:, None]
    code = happened.astype(np.int64)[:, None]
    events = EventRows(('bump',), code, ages, ages, happened.astype(np.float32)[:, None])
    labels = learning.labels.copy()
    labels[:, 1] = happened
    learning = dataclasses.replace(learning, labels=labels, events=events)
    made = train_policy(split(learning, 0.2, 0.2, 0), activities, QUICK)
    assert made.manifest.event_vocabulary == ('bump',)
    assert made.manifest.recent_events == 1
    assert made.manifest.metrics['f1.g1'] >= 0.99


def test_presets_can_be_changed_in_part():
    recipe = recipe_of('robot', seed=5, steps=10, patience=0)
    assert (recipe.seed, recipe.steps, recipe.patience) == (5, 10, 0)
    assert recipe.batch == recipe_of('robot', seed=0).batch
    assert recipe_of('reference', 0).threads == 1


def test_only_labelled_activities_are_learned(two_activities, situations):
    listed = load_activities(two_activities)
    assert [a.id for a in chosen_activities(listed, situations(4))] == ['g0', 'g1']


def test_evaluation_has_the_right_values(situations):
    learning = situations(4).take(np.arange(4))
    learning = dataclasses.replace(
        learning, labels=np.array([[1, 0], [1, 0], [0, 1], [0, 0]], np.float32)
    )
    said = np.array([[0.9, 0.6], [0.4, 0.1], [0.6, 0.9], [0.1, 0.2]], np.float32)
    found = evaluate(said, learning, [0.5, 0.5])
    assert found.overall.f1 == pytest.approx(4 / 7)
    assert found.due.tolist() == [2, 1]
    assert found.active_when_due.tolist() == [[0.5, 0.5], [1.0, 1.0]]
    assert found.false_activation.tolist() == [0.5, 1 / 3]
    assert found.figures()['recall'] == 0.6667
    entry = found.to_dict()['activities']['g1']
    assert (entry['found'], entry['false'], entry['missed'], entry['left_out']) == (1, 1, 0, 2)


def test_robustness_tells_which_signal_matters(trained, situations):
    learning = situations(300, seed=7)
    figures = robustness(predictor(trained.data), learning, [0.5, 0.5])
    assert list(figures['invalid']) == ['0', '0.1', '0.2', '0.3', '0.4', '0.5']
    assert figures['invalid']['0'] > 0.99
    assert figures['invalid']['0.5'] < figures['invalid']['0.1']
    assert set(figures['missing']) == {'s0', 's1'}
    assert max(figures['missing'].values()) < 0.9


def test_a_teachers_probabilities_are_mixed_with_labels(situations):
    learning = situations(4)
    weight = np.ones_like(learning.labels)
    weight[0] = 0
    labels = np.ones_like(learning.labels)
    learning = dataclasses.replace(learning, labels=labels, weight=weight)
    mixed = taught(lambda packed: np.full((len(packed), 2), 0.2, np.float32), learning, 0.75)
    assert mixed.labels[1].tolist() == pytest.approx([0.4, 0.4])
    assert mixed.labels[0].tolist() == pytest.approx([0.2, 0.2])  # the teacher alone
    assert mixed.weight[:2].tolist() == [[0.75, 0.75], [1.0, 1.0]]


def distilled(trained, data, tmp_path, mix=0.7):
    teacher = tmp_path / 'teacher.onnx'
    teacher.write_bytes(trained.data)
    lesson = teach(read_artifact(teacher), data, mix, 0.2, 0.2, 0)
    recipe = dataclasses.replace(QUICK.recipe, augmentation=Augmentation(drop=0.3, missing=0.1))
    plan = dataclasses.replace(QUICK, recipe=recipe, width=8)
    made = train_policy(lesson.parts, trained.manifest.activities, plan, truth=lesson.truth)
    return lesson, made


def test_a_student_learns_from_labels_and_teacher(trained, situations, tmp_path):
    save_learning_set(tmp_path / 'data.npz', situations(600, seed=4))
    lesson, student = distilled(trained, tmp_path / 'data.npz', tmp_path)
    assert lesson.labelled
    assert set(np.unique(lesson.truth.learning.labels)) == {0.0, 1.0}
    assert len(np.unique(lesson.parts.learning.labels)) > 50
    assert student.manifest.metrics['f1'] >= 0.99
    assert student.manifest.parameters < trained.manifest.parameters


def test_a_student_learns_from_situations_without_labels(trained, situations, tmp_path):
    path = tmp_path / 'data.npz'
    learning = situations(600, seed=4)
    save_learning_set(path, learning)
    with np.load(path) as file:
        content = {n: file[n] for n in file.files if n not in ('labels', 'weight', 'activities')}
    np.savez(path, **content)
    lesson, student = distilled(trained, path, tmp_path)
    assert not lesson.labelled
    assert student.manifest.metrics['f1'] >= 0.98  # agreement with the teacher
    assert (
        evaluate(predictor(student.data)(*learning.packed()), learning, [0.5, 0.5]).overall.f1
        > 0.98
    )
    with pytest.raises(LearningError, match='--mix 0 leaves the teacher out'):
        distilled(trained, path, tmp_path, mix=0.0)


def test_a_teacher_of_other_signals_is_refused(trained, situations, tmp_path):
    learning = situations(100)
    wider = dataclasses.replace(learning.signals[1], nominal_high=2.0)
    save_learning_set(
        tmp_path / 'data.npz',
        dataclasses.replace(learning, signals=(learning.signals[0], wider)),
    )
    with pytest.raises(LearningError, match=r'signal s1: trained for 0...1 .*has 0...2'):
        distilled(trained, tmp_path / 'data.npz', tmp_path)
