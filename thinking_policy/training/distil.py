# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A small policy learns what a large one says."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thinking_policy.policy.artifact import Artifact
from thinking_policy.training.errors import LearningError
from thinking_policy.training.evaluation import aligned, check_fit
from thinking_policy.training.export import Predict, predictor
from thinking_policy.training.learning_files import load_learning_set
from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.train import Parts, split

MIX = 0.7


@dataclass(frozen=True)
class Lesson:
    """What a student learns from.

    Attributes:
        parts: Situations with the teacher's probabilities, mixed with labels.
        truth: The same rows with what thresholds and figures go by: the labels, or where there
            are none, the teacher's decisions.
        labelled: Whether there are labels.
    """

    parts: Parts
    truth: Parts
    labelled: bool


def teach(
    teacher: Artifact, data: Path, mix: float, validation: float, test: float, seed: int
) -> Lesson:
    """Let a teacher label situations.

    Args:
        teacher: A policy file.
        data: Learning set, labelled or not.
        mix: Share of the teacher in the loss, 0...1.
        validation: Share of the rows to choose on.
        test: Share of the rows to measure on; 0: none.
        seed: Decides which.

    Raises:
        LearningError: Data that don't fit the teacher, or neither labels nor teacher are asked.
    """
    manifest = teacher.manifest
    learning = load_learning_set(
        data,
        taxonomy=[activity.id for activity in manifest.activities],
        vocabulary=manifest.event_vocabulary,
        recent_events=manifest.recent_events,
        unlabelled=True,
    )
    check_fit(manifest, learning, str(teacher.path), str(data))
    learning = aligned(learning, manifest.activities)
    labelled = bool((learning.weight > 0).any())
    if not labelled and mix == 0:
        raise LearningError(f'{data}: has no labels, and --mix 0 leaves the teacher out')
    predict = predictor(teacher.data)
    soft = taught(predict, learning, mix)
    if labelled:
        truth = learning
    else:
        on = np.array([activity.threshold for activity in manifest.activities], np.float32)
        decided = (predict(*learning.packed()) >= on).astype(np.float32)
        truth = dataclasses.replace(learning, labels=decided, weight=np.ones_like(decided))
    # Split by the true labels, and the soft ones likewise: the same episodes in each part.
    parts = split(truth, validation, test, seed, str(data))
    return Lesson(_same_split(soft, parts), parts, labelled)


def taught(teacher: Predict, learning: LearningSet, mix: float = MIX) -> LearningSet:
    """Return the situations with the teacher's probabilities as labels.

    The loss is mix · cross-entropy to the teacher's probability + (1 - mix) · cross-entropy to
    the label, which is the cross-entropy to the mean of both. Where a label has no weight, the
    teacher alone is asked, with weight `mix`.

    The teacher sees each situation as it is. Augmentation changes only what the student sees,
    so that where samples are lost, it learns what the teacher would say on average if they were
    there.

    Args:
        teacher: Packed inputs to probabilities.
        learning: Situations, labelled or not.
        mix: Share of the teacher, 0...1.
    """
    said = np.clip(teacher(*learning.packed()), 0.0, 1.0).astype(np.float32)
    own = (1 - mix) * learning.weight
    weight = mix + own
    labels = (mix * said + own * learning.labels) / np.maximum(weight, 1e-9)
    return dataclasses.replace(
        learning,
        labels=np.clip(labels, 0.0, 1.0).astype(np.float32),
        weight=weight.astype(np.float32),
    )


def _same_split(learning: LearningSet, parts: Parts) -> Parts:
    def taken(part: LearningSet) -> LearningSet:
        return learning.take(np.isin(learning.episode, part.episode))

    return Parts(
        taken(parts.learning),
        taken(parts.choosing),
        taken(parts.measuring) if parts.measuring is not None else None,
    )
