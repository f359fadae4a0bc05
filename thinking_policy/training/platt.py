# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Probabilities that mean what they say: Platt scaling, folded into the last layer.

Each activity's logit becomes scale · logit + shift, fitted on validation data. Since the last
layer is linear, its weights take both: inference costs nothing more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from thinking_policy.training.learning_set import LearningSet
from thinking_policy.training.metrics import expected_calibration_error

Array = NDArray[np.float64]

_STEPS = 50
# A scale outside of these comes from too few rows, not from the network.
_SMALLEST, _LARGEST = 0.2, 5.0
_BATCH = 1024


def calibrate(network: nn.Module, last: nn.Linear, validation: LearningSet) -> tuple[int, ...]:
    """Scale the logits of the activities whose calibration error gets smaller by it.

    Whether it does is judged on other episodes than the scaling is fitted on: each half of them
    judges what was fitted on the other half.

    Args:
        network: Fitted; changed in place.
        last: Its last layer.
        validation: Rows that it was not fitted on.

    Returns:
        The indices of the activities that were scaled.
    """
    logits = logits_of(network, validation).astype(np.float64)
    half = _halves(validation.episode)
    scaled = []
    for index in range(logits.shape[1]):
        sure = validation.weight[:, index] > 0
        z, y, part = logits[sure, index], validation.labels[sure, index], half[sure]
        if min((y >= 0.5).sum(), (y < 0.5).sum()) < 2 or part.all() or not part.any():
            continue
        crossed = np.empty_like(z)
        for one in (True, False):
            scale, shift = _fit(z[part == one], y[part == one])
            crossed[part != one] = scale * z[part != one] + shift
        if _error(crossed, y) < _error(z, y):
            scale, shift = _fit(z, y)
            with torch.no_grad():
                last.weight[index] *= scale
                last.bias[index] = last.bias[index] * scale + shift
            scaled.append(index)
    return tuple(scaled)


def logits_of(network: nn.Module, learning: LearningSet) -> NDArray[np.float32]:
    """Return the logits of all rows, float32 [N, G]."""
    network.eval()
    with torch.no_grad():
        parts = [
            network(*learning.inputs(slice(start, start + _BATCH))).numpy()
            for start in range(0, len(learning), _BATCH)
        ]
    return np.concatenate(parts)


def _fit(logit: Array, label: NDArray[Any]) -> tuple[float, float]:
    """Return scale and shift with the least cross-entropy, by Newton's method.

    Labels are drawn in a little (Platt 1999), or rows that are all right would ask for an
    infinite scale.
    """
    due, not_due = float(label.sum()), float((1 - label).sum())
    target = np.where(label >= 0.5, (due + 1) / (due + 2), 1 / (not_due + 2))
    scale, shift = 1.0, 0.0
    for _ in range(_STEPS):
        p = _sigmoid(scale * logit + shift)
        slope, curve = p - target, np.maximum(p * (1 - p), 1e-9)
        gradient = np.array([(slope * logit).sum(), slope.sum()])
        mixed = (curve * logit).sum()
        hessian = np.array([[(curve * logit**2).sum(), mixed], [mixed, curve.sum()]])
        step = np.linalg.solve(hessian + 1e-6 * np.eye(2), gradient)
        # Half-way at most: Newton's steps overshoot where probabilities are near 0 and 1.
        step *= min(1.0, 0.5 / max(1e-12, float(np.abs(step).max())))
        scale, shift = scale - float(step[0]), shift - float(step[1])
        if np.abs(step).max() < 1e-8:
            break
    if not (_SMALLEST <= scale <= _LARGEST and np.isfinite(shift)):
        return 1.0, 0.0
    return scale, shift


def _error(logit: Array, label: NDArray[Any]) -> float:
    return expected_calibration_error(_sigmoid(logit), label)


def _sigmoid(logit: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(logit, -500, 500))))


def _halves(episode: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which half of the episodes each row belongs to."""
    names, member = np.unique(episode, return_inverse=True)
    return np.asarray(np.random.default_rng(0).permutation(len(names))[member] % 2 == 0)
