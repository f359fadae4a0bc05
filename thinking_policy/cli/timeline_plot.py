# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A timeline as a picture: signals, then a row for each activity, then the novelty."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.cli.timeline import NOVELTY, Span
from thinking_policy.cli.timeline_lines import Replayed
from thinking_policy.situation import SituationConfig
from thinking_policy.whole_file import whole_file

_LINE = 18  # characters of a name beside its row
SIGNAL, ACTIVITY, UNUSUAL = '#33658a', '#2e7d32', '#7b2d8b'


def draw_timeline(path: Path, replayed: Replayed, config: SituationConfig) -> None:
    """Draw a timeline; the file appears whole or not at all.

    Args:
        path: Its ending says which kind of picture.
        replayed: At least one tick.
        config: Units and nominal ranges of the signals.

    Raises:
        ThinkingPolicyError: It cannot be written.
    """
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    timeline = replayed.timeline
    values = timeline.values
    shown = [i for i in range(values.shape[1]) if np.isfinite(values[:, i]).any()]
    count = len(shown) + len(timeline.ids) + 1
    figure, axes = plt.subplots(
        count, 1, sharex=True, figsize=(10, 0.9 * count + 1.2), layout='constrained'
    )
    axes = np.atleast_1d(axes)
    for axis, index in zip(axes, shown, strict=False):
        signal = config.signals[index]
        axis.plot(*_broken(replayed, values[:, index]), linewidth=0.7, color=SIGNAL)
        axis.axhspan(signal.nominal_low, signal.nominal_high, color='#86bbd8', alpha=0.25)
        _name(axis, f'{signal.name}\n{signal.unit}')
    _draw_answers(axes[len(shown) :], replayed)
    axes[0].set_title(f'{replayed.bag}, asked {replayed.policy}', fontsize=10)
    axes[-1].set_xlabel(
        'seconds of the bag\nblue band: nominal range; dotted: threshold; shaded: active, novel'
    )
    try:
        with whole_file(path) as draft:
            figure.savefig(
                draft, dpi=100, format=path.suffix[1:].lower(), metadata=_plain(path.suffix)
            )
    finally:
        plt.close(figure)


def _draw_answers(axes: Any, replayed: Replayed) -> None:
    timeline, settings, spans = replayed.timeline, replayed.settings, replayed.spans()
    probability = timeline.probability
    for column, (axis, name) in enumerate(zip(axes, timeline.ids, strict=False)):
        axis.plot(*_broken(replayed, probability[:, column]), linewidth=0.8, color=ACTIVITY)
        axis.axhline(settings.thresholds[name][0], color=ACTIVITY, linestyle=':', linewidth=0.9)
        axis.set_ylim(-0.05, 1.05)
        _shade(axis, replayed, spans[name], ACTIVITY)
        _name(axis, _wrapped(name))
    limit = settings.novelty_threshold
    axes[-1].plot(*_broken(replayed, timeline.novelty), linewidth=0.8, color=UNUSUAL)
    axes[-1].axhline(limit, color=UNUSUAL, linestyle=':', linewidth=0.9)
    if timeline.novelty.max() > 10 * limit:  # an anomaly may be a hundred
        axes[-1].set_yscale('symlog', linthresh=max(limit, 1e-3))
    axes[-1].set_ylim(bottom=0.0)
    _shade(axes[-1], replayed, replayed.novel_spans(), UNUSUAL)
    _name(axes[-1], NOVELTY)


def _broken(
    replayed: Replayed, values: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and values with a gap in the line between two episodes."""
    timeline = replayed.timeline
    times = (timeline.stamp_ns - replayed.start_ns) / 1e9
    borders = np.flatnonzero(np.diff(timeline.episode) != 0) + 1
    return (
        np.insert(times, borders, times[borders]),
        np.insert(values.astype(np.float64), borders, np.nan),
    )


def _shade(axis: Any, replayed: Replayed, spans: list[Span], colour: str) -> None:
    half = replayed.tick_s / 2  # one tick alone is to be seen too
    axis.broken_barh(
        [
            (replayed.seconds(s.start_ns) - half, (s.end_ns - s.start_ns) / 1e9 + 2 * half)
            for s in spans
        ],
        (0, 1),
        transform=axis.get_xaxis_transform(),
        color=colour,
        alpha=0.18,
        linewidth=0,
    )


def _name(axis: Any, text: str) -> None:
    axis.set_ylabel(text, rotation=0, ha='right', va='center', fontsize=8)
    axis.tick_params(labelsize=7)


def _wrapped(name: str) -> str:
    """Return a name in lines of some 16 characters, broken after underscores."""
    lines = ['']
    for word in re.findall('[^_]*_|[^_]+', name):
        if lines[-1] and len(lines[-1] + word) > _LINE:
            lines.append('')
        lines[-1] += word
    return '\n'.join(lines)


def _plain(suffix: str) -> dict[str, Any]:
    """Return metadata without the time, so that the same answers give the same file."""
    return {'.svg': {'Date': None}, '.pdf': {'CreationDate': None}}.get(suffix.lower(), {})
