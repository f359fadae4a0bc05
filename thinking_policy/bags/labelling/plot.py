# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of a labelled recording as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thinking_policy.bags.labelling import drawing
from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.picture import CLASH, NO, UNSURE, Bar, Line, Picture
from thinking_policy.whole_file import whole_file

_LANE_INCH, _PANEL_INCH = 0.26, 0.62
_PIXELS = 1000  # across, about


def write_png(path: Path, picture: Picture) -> None:
    """Draw a recording: signals above, a lane for each activity below.

    Raises:
        LabelError: It can't be written.
    """
    from matplotlib.figure import Figure

    signals, lanes = len(picture.lines), max(1, len(picture.lanes))
    heights = [*[_PANEL_INCH] * signals, _LANE_INCH * lanes + 0.1]
    figure = Figure(figsize=(11.5, sum(heights) + 1.5), dpi=110)
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[
        :, 0
    ]
    for axis, line in zip(axes, picture.lines, strict=False):
        _signal(axis, line)
    for axis in axes:
        axis.set_xlim(0, max(picture.length_s, 1e-9))
        for piece in picture.pieces[1:]:
            axis.axvline(piece.begin_s, color='#555555', linestyle=(0, (4, 3)), linewidth=0.8)
        for side in ('top', 'right', 'bottom', 'left'):
            axis.spines[side].set_visible(False)
        axis.tick_params(length=0, labelsize=8, labelcolor='#5d6670')
        axis.grid(axis='x', color='#e6eaee', linewidth=0.8)
        axis.set_axisbelow(True)
    _lanes(axes[-1], picture)
    _events(axes[0], picture)
    begins = drawing.moment(picture.pieces[0].stamp_ns) if picture.pieces else 'empty'
    figure.suptitle(
        f'{picture.name}   {begins}, {picture.labelled:,} of {picture.rows:,} situations labelled',
        x=0.01,
        ha='left',
        fontsize=10.5,
    )
    _legend(figure, picture)
    figure.align_ylabels()
    inches = sum(heights) + 1.5
    figure.subplots_adjust(
        left=0.19, right=0.985, top=1 - 0.62 / inches, bottom=0.72 / inches, hspace=0.22
    )
    with whole_file(path, LabelError) as draft:
        figure.savefig(draft, format='png')


def _signal(axis: Any, line: Line) -> None:
    scale = line.scale
    axis.axhspan(scale.nominal_low, scale.nominal_high, color=drawing.NOMINAL, linewidth=0)
    # One line with breaks: a call for each of some thousand runs takes seconds.
    gap = (np.full(1, np.nan),) * 3
    parts = [part for run in line.runs for part in (run, gap)]
    seconds, lows, highs = (np.concatenate(column) for column in zip(*parts, strict=True))
    axis.plot(seconds, (lows + highs) / 2, color=drawing.SIGNAL, linewidth=0.9)
    axis.fill_between(seconds, lows, highs, color=drawing.SIGNAL, alpha=0.35, linewidth=0)
    alone = [run for run in line.runs if len(run[0]) == 1]
    if alone:
        axis.plot(
            np.concatenate([run[0] for run in alone]),
            np.concatenate([run[1] for run in alone]),
            '.',
            color=drawing.SIGNAL,
            markersize=2,
        )
    axis.set_ylim(*drawing.bounds(line))
    axis.set_facecolor('#fafbfc')
    if line.high > line.low:
        axis.set_yticks([line.low, line.high], [drawing.number(v) for v in (line.low, line.high)])
    else:
        axis.set_yticks([line.low], [drawing.number(line.low)])
    unit = f'  {scale.unit}' if scale.unit else ''
    _named(axis, f'{scale.name}{unit}', 0.5)


def _named(axis: Any, name: str, height: float) -> None:
    """Write a name at the left edge; it is cut rather than run into the numbers."""
    short, size = (name, 8.5) if len(name) <= 28 else (name, 7.4)
    short = short if len(short) <= 34 else f'{short[:33]}…'
    axis.text(
        -0.228, height, short, transform=axis.transAxes, va='center', fontsize=size, clip_on=False
    )


def _lanes(axis: Any, picture: Picture) -> None:
    count = max(1, len(picture.lanes))
    axis.set_ylim(count, 0)
    axis.set_yticks([])
    for place, (activity, bars) in enumerate(picture.lanes.items()):
        axis.axhspan(place + 0.08, place + 0.92, color='#f4f6f8', linewidth=0)
        _named(axis, activity, 1 - (place + 0.5) / count)
        for alike, spans in _alike(bars, picture.length_s / _PIXELS).items():
            _bars(axis, alike, spans, place)
    for begin, end in picture.unlabelled:
        axis.axvspan(begin, end, color='white', alpha=0.8, linewidth=0, zorder=5)
    ticks = drawing.ticks(picture.length_s)
    axis.set_xticks(ticks, [drawing.clock(at, picture.length_s) for at in ticks])


def _alike(
    bars: Sequence[Bar], pixel_s: float
) -> dict[tuple[str, str, float], list[tuple[float, float]]]:
    """Return begin and length of bars that look the same; those closer than a pixel are one.

    Thousands of flickering labels would take minutes to draw, and end in the same few pixels.
    """
    found: dict[tuple[str, str, float], list[tuple[float, float]]] = {}
    for bar in bars:
        spans = found.setdefault((bar.said, drawing.colour_of(bar.origin), bar.confidence), [])
        if spans and bar.begin_s - sum(spans[-1]) < pixel_s:
            spans[-1] = spans[-1][0], max(bar.end_s - spans[-1][0], spans[-1][1])
        else:
            spans.append((bar.begin_s, max(bar.end_s - bar.begin_s, pixel_s)))
    return found


def _bars(
    axis: Any, alike: tuple[str, str, float], spans: list[tuple[float, float]], place: int
) -> None:
    said, colour, confidence = alike
    if said == CLASH:
        look = {'color': drawing.CLASH, 'linewidth': 0, 'zorder': 4}
        axis.broken_barh(spans, (place + 0.02, 0.2), **look)
    elif said == UNSURE:
        look = {'facecolor': drawing.UNSURE_PAPER, 'edgecolor': drawing.UNSURE_INK}
        axis.broken_barh(spans, (place + 0.08, 0.84), **look, hatch='////', linewidth=0, zorder=2)
    elif said == NO:
        look = {'facecolor': 'white', 'edgecolor': colour, 'linewidth': 1.2, 'zorder': 3}
        axis.broken_barh(spans, (place + 0.22, 0.56), **look)
    else:
        look = {'color': colour, 'alpha': 0.45 + 0.55 * confidence, 'linewidth': 0, 'zorder': 3}
        axis.broken_barh(spans, (place + 0.08, 0.84), **look)


def _events(axis: Any, picture: Picture) -> None:
    """Mark events above the first panel, with words where there is room."""
    step = picture.length_s * 0.0075
    following_s = [*(at for at, _ in picture.events[1:]), picture.length_s]
    for (at, code), following in zip(picture.events, following_s, strict=False):
        axis.plot(
            [at],
            [1.06],
            'v',
            color=drawing.EVENT,
            markersize=4,
            clip_on=False,
            transform=axis.get_xaxis_transform(),
        )
        if at + step * (len(code) + 1) < following:
            axis.text(
                at + step,
                1.05,
                code,
                transform=axis.get_xaxis_transform(),
                fontsize=7,
                color='#5d6670',
                clip_on=False,
            )


def _legend(figure: Any, picture: Picture) -> None:
    from matplotlib.patches import Patch

    bars = [bar for lane in picture.lanes.values() for bar in lane]
    kinds = {bar.origin.partition(':')[0] for bar in bars if bar.said != CLASH}
    shown: list[Patch] = [
        Patch(facecolor=drawing.COLOURS[kind], label=f'{words} says so')
        for kind, words in drawing.KINDS.items()
        if kind in kinds
    ]
    said = {bar.said for bar in bars}
    if NO in said:
        shown.append(Patch(facecolor='white', edgecolor='#555555', label='said not to be'))
    if UNSURE in said:
        shown.append(
            Patch(
                facecolor=drawing.UNSURE_PAPER,
                edgecolor=drawing.UNSURE_INK,
                hatch='////',
                label='unsure',
                linewidth=0,
            )
        )
    if CLASH in said:
        shown.append(Patch(facecolor=drawing.CLASH, label='conflict'))
    shown.append(Patch(facecolor=drawing.NOMINAL, label='nominal range'))
    figure.legend(
        handles=shown,
        loc='lower left',
        bbox_to_anchor=(0.005, 0.0),
        ncols=len(shown),
        frameon=False,
        fontsize=8,
        handlelength=1.6,
        columnspacing=1.6,
    )


def png_names(names: Sequence[str]) -> dict[str, str]:
    """Return the file name for each recording's picture; all are different."""
    return {name: f'{plain}.png' for name, plain in file_names(names).items()}


def file_names(names: Sequence[str]) -> dict[str, str]:
    """Return for each recording the name of a file without an ending; all are different."""
    taken: dict[str, str] = {}
    for name in names:
        plain = ''.join(c if c.isalnum() or c in '-_.' else '_' for c in name).strip('.') or 'bag'
        unique, count = plain, 1
        while unique in taken.values():
            count += 1
            unique = f'{plain}_{count}'
        taken[name] = unique
    return taken
