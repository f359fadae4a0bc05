# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What can be known of an order at all, when samples are missing.

Where the samples that tell two orders apart are gone, no policy can tell them apart. The bound
here knows everything but the component: the four orders, how components differ, and the noise. It
names the order under which the samples that are left are most probable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thinking_policy.experiments.ordering import activities_of, latent_orders
from thinking_policy.experiments.signals import GAIN_SPREAD, NOISE, OFFSET_SPREAD, label_rows


def most_probable_order(
    window: NDArray[np.float32], valid: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the most probable of the four orders, [N].

    A signal's samples are offset + gain · latent + noise. With offset and gain normal (the gain
    is log-normal: with a spread of a fifth that is close) they are jointly normal, and signals
    are independent of each other.

    Args:
        window: [N, T, F], as `ordering.draw_situations` gives it; whatever where invalid.
        valid: [N, T, F].
    """
    log_probability = [_log_probability(window, valid, latent) for latent in latent_orders()]
    order: NDArray[np.int64] = np.argmax(np.stack(log_probability), axis=0)
    return order


def name_activities(window: NDArray[np.float32], valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return what the most probable order calls for, [N, G]."""
    labels = label_rows([activities_of(order) for order in range(len(latent_orders()))])
    named: NDArray[np.bool_] = labels[most_probable_order(window, valid)] > 0.5
    return named


def _log_probability(
    window: NDArray[np.float32], valid: NDArray[np.bool_], latent: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the log-density of the valid samples but for a constant, [N].

    Woodbury's identity for the covariance noise² · I + U S Uᵀ, where U = [1, latent] at the valid
    samples and S = diag(offset spread², gain spread²): everything comes down to 2 × 2 matrices.
    """
    noise = NOISE**2
    mean_gain = np.exp(GAIN_SPREAD**2 / 2)
    gain_spread = mean_gain * np.sqrt(np.exp(GAIN_SPREAD**2) - 1)
    course = latent.astype(np.float64)[None, :, None] * valid
    rest = (window - mean_gain * latent[None, :, None]) * valid
    one = valid.sum(axis=1) + noise / OFFSET_SPREAD**2
    both = course.sum(axis=1)
    two = (course**2).sum(axis=1) + noise / gain_spread**2
    determinant = one * two - both**2
    first, second = rest.sum(axis=1), (course * rest).sum(axis=1)
    explained = (two * first**2 - 2 * both * first * second + one * second**2) / determinant
    misfit = ((rest**2).sum(axis=1) - explained) / noise
    log_density: NDArray[np.float64] = -0.5 * (misfit + np.log(determinant)).sum(axis=1)
    return log_density
