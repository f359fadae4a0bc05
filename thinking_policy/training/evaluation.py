# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How good a policy is on labelled situations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.activities import ThinkingActivity
from thinking_policy.policy.manifest import Manifest
from thinking_policy.training.errors import LearningError
from thinking_policy.training.export import Predict, predictor
from thinking_policy.training.learning_files import Source, load_learning_set
from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.metrics import (
    Confusion,
    Scores,
    confusion,
    expected_calibration_error,
    micro,
    reliability,
)

INVALID_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class Evaluation:
    """Figures of one policy on one learning set.

    Attributes:
        activities: G ids.
        on: G thresholds.
        rows: N.
        due: int64 [G], rows that call for each activity.
        counts: Found, falsely named, missed, left out.
        calibration_error: Over all activities; see `metrics.expected_calibration_error`.
        calibration_errors: Of each activity.
        active_when_due: [G, G], share of the rows that call for the activity of the row of this
            table in which that of the column is active; NaN where none calls for it.
        reliability: [3, bins], mean probability, share of due ones, number.
    """

    activities: tuple[str, ...]
    on: tuple[float, ...]
    rows: int
    due: NDArray[np.int64]
    counts: Confusion
    calibration_error: float
    calibration_errors: tuple[float, ...]
    active_when_due: NDArray[np.float64]
    reliability: NDArray[np.float64]

    @property
    def overall(self) -> Scores:
        """Micro-averaged scores."""
        return self.counts.micro()

    @property
    def scores(self) -> tuple[Scores, ...]:
        """Scores of each activity."""
        return self.counts.scores()

    @property
    def false_activation(self) -> NDArray[np.float64]:
        """Share of the rows without need in which each activity is active, [G]."""
        counts = self.counts
        return np.asarray(counts.false / np.maximum(1, counts.false + counts.left_out))

    def figures(self) -> dict[str, float]:
        """Return figures by name, as a manifest carries them."""
        overall = self.overall
        figures = {
            'f1': overall.f1,
            'precision': overall.precision,
            'recall': overall.recall,
            'ece': self.calibration_error,
            'rows': float(self.rows),
        }
        for index, name in enumerate(self.activities):
            score = self.scores[index]
            figures[f'f1.{name}'] = score.f1
            figures[f'precision.{name}'] = score.precision
            figures[f'recall.{name}'] = score.recall
            figures[f'ece.{name}'] = self.calibration_errors[index]
        return {name: round(value, 4) for name, value in figures.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {
            'rows': self.rows,
            'overall': {**vars(self.overall), 'ece': self.calibration_error},
            'activities': {
                name: {
                    'on': self.on[index],
                    'due': int(self.due[index]),
                    **vars(self.scores[index]),
                    'ece': self.calibration_errors[index],
                    'false_activation': float(self.false_activation[index]),
                    'found': int(self.counts.found[index]),
                    'false': int(self.counts.false[index]),
                    'missed': int(self.counts.missed[index]),
                    'left_out': int(self.counts.left_out[index]),
                    'active_when_due': {
                        other: None if np.isnan(share) else float(share)
                        for other, share in zip(
                            self.activities, self.active_when_due[index], strict=True
                        )
                    },
                }
                for index, name in enumerate(self.activities)
            },
            'reliability': {
                name: column.tolist()
                for name, column in zip(
                    ('probability', 'share_due', 'pairs'), self.reliability, strict=True
                )
            },
        }


def evaluate(
    probability: NDArray[np.float32], learning: LearningSet, on: Sequence[float]
) -> Evaluation:
    """Compare probabilities [N, G] with labels, at on-thresholds [G]."""
    labels, weight = learning.labels, learning.weight
    due, sure = labels >= 0.5, weight > 0
    active = probability >= np.asarray(on, np.float32)
    together = np.full((len(on), len(on)), np.nan)
    for index in range(len(on)):
        rows = due[:, index] & sure[:, index]
        if rows.any():
            together[index] = active[rows].mean(axis=0)
    return Evaluation(
        learning.activities,
        tuple(float(value) for value in on),
        len(learning),
        (due & sure).sum(axis=0),
        confusion(active, labels, weight),
        expected_calibration_error(probability, labels, weight),
        tuple(
            expected_calibration_error(probability[:, g], labels[:, g], weight[:, g])
            for g in range(len(on))
        ),
        together,
        reliability(probability, labels, weight),
    )


def robustness(
    predict: Predict, learning: LearningSet, on: Sequence[float], seed: int = 0
) -> dict[str, dict[str, float]]:
    """Return micro-averaged F1 where samples get lost and where whole signals are missing.

    Args:
        predict: The policy.
        learning: Labelled situations; what they lack already stays lacking.
        on: G thresholds.
        seed: Decides which samples get lost.

    Returns:
        `invalid`: F1 by share of samples lost; `missing`: F1 by the signal that is missing.
    """
    random = np.random.default_rng(seed)
    lost = random.random(learning.valid.shape, np.float32)

    def f1(valid: NDArray[np.bool_]) -> float:
        masked = dataclasses.replace(
            learning, valid=valid, window=np.where(valid, learning.window, np.float32(0))
        )
        probability = predict(*masked.packed())
        return micro(probability, learning.labels, learning.weight, np.asarray(on, 'f4')).f1

    missing = {}
    for index, signal in enumerate(learning.signals):
        valid = learning.valid.copy()
        valid[:, :, index] = False
        missing[signal.name] = f1(valid)
    return {
        'invalid': {
            f'{share:g}': f1(learning.valid & (lost >= share)) for share in INVALID_SHARES
        },
        'missing': missing,
    }


def prepared(
    policy: Path, manifest: Manifest, data: Source, name: str
) -> tuple[Predict, LearningSet]:
    """Return what a policy says, and labelled situations as it takes them.

    Args:
        policy: Policy file.
        manifest: What it says about itself.
        data: Learning set.
        name: What errors call it.

    Raises:
        LearningError: The data can't be read, or don't fit the policy; says which.
    """
    learning = load_learning_set(
        data,
        taxonomy=[activity.id for activity in manifest.activities],
        vocabulary=manifest.event_vocabulary,
        recent_events=manifest.recent_events,
    )
    check_fit(manifest, learning, str(policy), name)
    return predictor(policy.read_bytes()), aligned(learning, manifest.activities)


def aligned(learning: LearningSet, activities: Sequence[ThinkingActivity]) -> LearningSet:
    """Return the set with all activities of a policy; those not labelled have no weight."""
    ids = tuple(activity.id for activity in activities)
    if learning.activities == ids:
        return learning
    labels = np.zeros((len(learning), len(ids)), np.float32)
    weight = np.zeros_like(labels)
    columns = [ids.index(name) for name in learning.activities]
    labels[:, columns], weight[:, columns] = learning.labels, learning.weight
    return dataclasses.replace(learning, labels=labels, weight=weight, activities=ids)


def check_fit(manifest: Manifest, learning: LearningSet, policy: str, data: str) -> None:
    """Check that situations are what a policy was trained for.

    Args:
        manifest: Of the policy.
        learning: The situations.
        policy: File named in errors.
        data: File named in errors.

    Raises:
        LearningError: Other signals, units, ranges, periods or lengths; says which.
    """
    if not len(learning):
        raise LearningError(f'{data}: expected situations, found none')
    pairs = (
        ('signals', [s.name for s in manifest.signals], [s.name for s in learning.signals]),
        ('samples per signal', manifest.window_length, learning.length),
        ('tick period in seconds', manifest.tick_period_s, learning.tick_period_s),
        ('event codes', list(manifest.event_vocabulary), list(learning.vocabulary)),
        ('recent events', manifest.recent_events, learning.recent_events),
    )
    for what, wanted, found in pairs:
        if wanted != found:
            raise LearningError(f'{policy}: {what}: made for {wanted}, found {found} in {data}')
    for ours, theirs in zip(manifest.signals, learning.signals, strict=True):
        if ours != theirs:
            raise LearningError(
                f'{policy}: signal {ours.name}: trained for {ours.nominal_low:g}...'
                f'{ours.nominal_high:g} {ours.unit}, every {ours.period_s:g} s; {data} has '
                f'{theirs.nominal_low:g}...{theirs.nominal_high:g} {theirs.unit}, every '
                f'{theirs.period_s:g} s; export it again with the ranges of the policy'
            )
