# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `calibrate` found, as a picture."""

from __future__ import annotations

import dataclasses
import importlib
import math
from pathlib import Path

import numpy as np

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.calibrated import Calibrated
from thinking_policy.cli.stretch import Recorded
from thinking_policy.policy import (
    NOVELTY_THRESHOLD,
    NoveltyHold,
    baseline_of,
    novelty_from_sums,
)
from thinking_policy.situation import SituationConfig
from thinking_policy.training.source_date import source_date
from thinking_policy.whole_file import whole_file

_KINDS = ('.png', '.svg', '.pdf')


def check_plot(path: Path) -> None:
    """Refuse what could not be drawn in the end.

    Raises:
        ThinkingPolicyError: Another kind of file than can be drawn, or no time for it.
        ImportError: matplotlib isn't there.
    """
    if path.suffix.lower() not in _KINDS:
        raise ThinkingPolicyError(f'{path}: expected a name that ends with {", ".join(_KINDS)}')
    importlib.import_module('matplotlib')
    source_date()  # matplotlib reads it for .pdf and .svg, after the work and without a check


def novelties(whole: Recorded, config: SituationConfig) -> list[float]:
    """Return the novelty [N] that a node with a configuration says at each tick."""
    baseline, hold = baseline_of(_scaled_as(whole, config)), NoveltyHold(config.window_length)
    sums = np.where(whole.valid, whole.window, np.float32(0.0)).sum(axis=1).tolist()
    counts = whole.valid.sum(axis=1).tolist()
    return [
        hold.update(novelty_from_sums(s, c, baseline, config.window_length), episode)
        for s, c, episode in zip(sums, counts, whole.episode.tolist(), strict=True)
    ]


def draw(path: Path, whole: Recorded, chosen: Recorded, found: Calibrated) -> None:
    """Draw every signal with its range before and after, and the novelty with its threshold."""
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    shown = [i for i, s in enumerate(found.after.signals) if np.isfinite(whole.values[:, i]).any()]
    figure, axes = plt.subplots(
        len(shown) + 1, 1, sharex=True, figsize=(9, 1.6 * len(shown) + 2.4), layout='constrained'
    )
    for axis, index in zip(axes, shown, strict=False):
        signal = found.after.signals[index]
        axis.plot(whole.seconds, whole.values[:, index], linewidth=0.7, color='#33658a')
        axis.axhspan(signal.nominal_low, signal.nominal_high, color='#86bbd8', alpha=0.25)
        if not math.isnan(signal.baseline_mean):
            reach = NOVELTY_THRESHOLD * signal.baseline_spread
            for level in (signal.baseline_mean - reach, signal.baseline_mean + reach):
                axis.axhline(level, color='#7b2d8b', linestyle=':', linewidth=0.9)
        # A signal that wanders may reach far beyond what there is to see.
        low = min(float(np.nanmin(whole.values[:, index])), signal.nominal_low)
        high = max(float(np.nanmax(whole.values[:, index])), signal.nominal_high)
        axis.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
        axis.set_ylabel(f'{signal.name}\n{signal.unit}', rotation=0, ha='right', va='center')
    axes[-1].plot(whole.seconds, novelties(whole, found.after), linewidth=0.8, color='#7b2d8b')
    axes[-1].axhline(NOVELTY_THRESHOLD, color='#7b2d8b', linestyle=':')
    axes[-1].set_yscale('symlog', linthresh=NOVELTY_THRESHOLD)  # an anomaly may be a hundred
    axes[-1].set_ylim(bottom=0.0, top=max(axes[-1].get_ylim()[1], 2 * NOVELTY_THRESHOLD))
    axes[-1].set_ylabel('novelty', rotation=0, ha='right', va='center')
    axes[-1].set_xlabel(
        'seconds (grey: the stretch that was learned from)\n'
        'blue: nominal range; dotted: beyond it the mean over a window is novel'
    )
    for axis in axes:
        axis.tick_params(labelsize=8)
        axis.axvspan(chosen.seconds[0], chosen.seconds[-1], color='#444444', alpha=0.07)
    try:
        with whole_file(path) as draft:
            figure.savefig(draft, dpi=100, format=path.suffix[1:].lower())
    finally:
        plt.close(figure)


def _scaled_as(whole: Recorded, config: SituationConfig) -> SituationConfig:
    """Return a configuration with the nominal ranges that the windows are scaled to."""
    signals = tuple(
        dataclasses.replace(s, nominal_low=w.nominal_low, nominal_high=w.nominal_high)
        for s, w in zip(config.signals, whole.config.signals, strict=True)
    )
    return dataclasses.replace(config, signals=signals)
