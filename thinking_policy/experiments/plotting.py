# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How figures look: readable in print, without colour, and for the colour-blind."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Stat
from thinking_policy.whole_file import whole_file

# Of Okabe and Ito's palette, in an order that also differs in lightness.
BLUE, ORANGE, GREEN, PURPLE, BLACK = '#0072B2', '#E69F00', '#009E73', '#CC79A7', '#000000'
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, BLACK)
PAPER_GREY = '#8C8C8C'
MARKERS = ('o', 's', '^', 'D', 'v')
_DPI = 200
_WIDTH_IN, _HEIGHT_IN = 7.0, 4.2
_STYLE: dict[Any, Any] = {
    'font.size': 9,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.axisbelow': True,
    'grid.color': '#E3E3E3',
    'legend.frameon': False,
    'errorbar.capsize': 3,
}


@dataclass(frozen=True)
class Series:
    """A line with error bars, means and deviations at x; dashed where it is the paper's."""

    label: str
    x: Sequence[float]
    y: Sequence[Stat]
    paper: bool = False


def write_figure(draw: Callable[[Figure], None], path: Path, title: str = '') -> None:
    """Draw a figure and write it as PNG; the same figures give the same bytes.

    Args:
        draw: Fills an empty figure.
        path: The file.
        title: Above everything; empty: none.
    """
    with rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), dpi=_DPI, layout='constrained')
        FigureCanvasAgg(figure)
        draw(figure)
        if title:
            figure.suptitle('\n'.join(textwrap.wrap(title, 95)), fontsize=8, color='#B00000')
        with whole_file(path, ExperimentError) as draft:
            figure.savefig(draft, format='png', metadata={'Software': ''})


def compare_bars(
    axes: Axes, labels: Sequence[str], ours: Sequence[Stat], paper: Sequence[Stat | None]
) -> None:
    """Draw a pair of bars for each method: ours, and the paper's hatched, with deviations."""
    width = 0.38
    for place, (our, theirs) in enumerate(zip(ours, paper, strict=True)):
        first = place == 0
        here = place - width / 2 if theirs is not None else place
        axes.bar(
            here,
            our.mean,
            width,
            yerr=our.sd,
            color=BLUE,
            label='measured, mean ± sd' if first else None,
        )
        _write_value(axes, here, our)
        if theirs is not None:
            axes.bar(
                place + width / 2,
                theirs.mean,
                width,
                yerr=theirs.sd,
                facecolor='white',
                edgecolor=PAPER_GREY,
                hatch='///',
                label='paper' if first else None,
            )
            _write_value(axes, place + width / 2, theirs)
    axes.set_xticks(range(len(labels)), labels)
    axes.grid(axis='x', visible=False)
    axes.set_ylim(0, 1.19)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.set_ylabel('micro-F1')
    axes.legend(ncols=2, loc='upper right')


def lines(axes: Axes, series: Sequence[Series], joined: bool = True) -> None:
    """Draw lines with error bars; each has a colour and a marker of its own.

    Without `joined` only the markers: where x has no order, a line would say something.

    A line of the paper has the colour of ours with the same place among the paper's, is dashed
    and has hollow markers.
    """
    ours = paper = 0
    for entry in series:
        place = paper if entry.paper else ours
        ours, paper = ours + (not entry.paper), paper + entry.paper
        axes.errorbar(
            entry.x,
            [stat.mean for stat in entry.y],
            [stat.sd for stat in entry.y],
            label=entry.label,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markerfacecolor='white' if entry.paper else None,
            linestyle='' if not joined else '--' if entry.paper else '-',
            alpha=0.7 if entry.paper else 1.0,
            # Where lines lie on each other, the rims of the earlier ones can still be seen.
            markersize=max(4.0, 9.0 - 1.5 * place),
        )


def _write_value(axes: Axes, x: float, stat: Stat) -> None:
    axes.text(
        x, stat.mean + stat.sd + 0.02, f'{stat.mean:.3f}', ha='center', va='bottom', fontsize=8
    )
