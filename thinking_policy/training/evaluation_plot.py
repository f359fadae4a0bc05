# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of an evaluation: scores per activity, reliability, robustness."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from thinking_policy.training.errors import LearningError
from thinking_policy.training.evaluation import Evaluation

# Told apart in grey and by the colour-blind (Okabe, Ito).
_PRECISION, _RECALL, _F1 = '#56B4E9', '#E69F00', '#222222'


def draw_evaluation(
    path: Path,
    evaluation: Evaluation,
    missing: Mapping[str, Mapping[str, float]] | None,
    title: str,
) -> None:
    """Write a PNG.

    Args:
        path: File to write.
        evaluation: Figures.
        missing: From `evaluation.robustness`; None: that panel is left out.
        title: Heading.

    Raises:
        LearningError: The file can't be written.
    """
    panels = 3 if missing else 2
    figure = Figure(figsize=(4.6 * panels + 2, 4.6), layout='constrained')
    axes = figure.subplots(1, panels, width_ratios=[1.4, 1.0, 1.0][:panels])
    figure.suptitle(title)
    _scores(axes[0], evaluation)
    _reliability(axes[1], evaluation)
    if missing:
        _robustness(axes[2], missing)
    try:
        figure.savefig(path, format='png', dpi=120)
    except OSError as error:
        raise LearningError(f'{path}: cannot be written: {error.strerror or error}') from error


def _scores(axis: Any, evaluation: Evaluation) -> None:
    places = np.arange(len(evaluation.activities))[::-1]
    for shift, name, colour in (
        (0.27, 'precision', _PRECISION),
        (0.0, 'recall', _RECALL),
        (-0.27, 'f1', _F1),
    ):
        values = [getattr(score, name) for score in evaluation.scores]
        label = 'F1' if name == 'f1' else name
        axis.barh(places + shift, values, 0.25, color=colour, label=label)
    axis.set_yticks(places, evaluation.activities)
    axis.set_xlim(0, 1)
    axis.set_title(f'micro-F1 {evaluation.overall.f1:.3f}')
    axis.legend(loc='upper center', bbox_to_anchor=(0.5, -0.07), ncols=3, frameon=False)
    axis.grid(axis='x', alpha=0.3)


def _reliability(axis: Any, evaluation: Evaluation) -> None:
    said, due, count = evaluation.reliability
    axis.plot([0, 1], [0, 1], color='#999999', linestyle='--', linewidth=1)
    axis.plot(said, due, color=_F1, linewidth=1)
    axis.scatter(said, due, s=24, color=_RECALL, edgecolors=_F1, zorder=3)
    axis.set_xlabel('mean probability')
    axis.set_ylabel('share called for')
    axis.set_xlim(-0.02, 1.02)
    axis.set_ylim(-0.02, 1.02)
    axis.set_title(
        f'calibration error {evaluation.calibration_error:.3f}\n'
        f'{len(count)} bins of {round(float(count.sum()) / max(1, len(count)))} pairs each'
    )
    axis.grid(alpha=0.3)


def _robustness(axis: Any, missing: Mapping[str, Mapping[str, float]]) -> None:
    rows = [(f'{float(share):.0%} of samples', f1) for share, f1 in missing['invalid'].items()]
    rows += list(missing['missing'].items())
    places = np.arange(len(rows))[::-1]
    lost = len(missing['invalid'])
    colours = [_PRECISION] * lost + [_RECALL] * (len(rows) - lost)
    axis.barh(places, [f1 for _, f1 in rows], 0.7, color=colours)
    axis.set_yticks(places, [name for name, _ in rows])
    for place, (_, f1) in zip(places, rows, strict=True):
        axis.annotate(f'{f1:.3f}', (0.02, place), va='center', fontsize=8)
    axis.set_xlim(0, 1)
    axis.set_title('micro-F1 where this is missing')
    axis.grid(axis='x', alpha=0.3)
