# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How experiment 5 is shown: the paper's table, the stream of life, the fresh seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thinking_policy.experiments.experiment import Results, Stat, Table
from thinking_policy.experiments.plotting import Series, lines
from thinking_policy.experiments.report import plus_minus, verdict

NAME = 'rare'
REFERENCE, REFERENCE_BETTER = 'reference, plain', 'reference, better'
PLAIN, BETTER = 'robot, plain', 'robot, better'
METHODS = (REFERENCE, REFERENCE_BETTER, PLAIN, BETTER)
ALWAYS_FIVE, ALL_EIGHT = 'always the five', 'always all eight'
HISTORIES = (100, 250, 500, 1_000, 2_000, 4_000, 8_000)
FRESH_HISTORIES = (100, 250)
# Shares of false activation at which recognition is read off.
ROC = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
_ALLOWED = 0.01
# Table V of the paper.
PAPER = {
    100: Stat(0.777, 0.077, 5),
    250: Stat(0.912, 0.051, 5),
    500: Stat(0.996, 0.005, 5),
    1_000: Stat(0.995, 0.006, 5),
    2_000: Stat(0.998, 0.003, 5),
    4_000: Stat(0.999, 0.001, 5),
    8_000: Stat(0.999, 0.001, 5),
}


def condition(history: int) -> str:
    """Return the name of the cells of a history."""
    return f'N{history}'


def fresh_condition(history: int) -> str:
    """Return the name of the cells of a history for the fresh seeds."""
    return f'fresh-N{history}'


PAPER_CONTENT = {condition(count): {REFERENCE: asdict(stat)} for count, stat in PAPER.items()}


def tables(results: Results) -> list[Table]:
    """Return the paper's table, that of the stream, and that of the fresh seeds."""
    return [_paper_table(results), _stream_table(results), _fresh_table(results)]


def draw(results: Results, figure: Figure) -> None:
    """Draw F1 against the length of the history, and recognition against false activation."""
    figure.set_size_inches(10.0, 4.2)
    curve, roc = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    _draw_curve(results, curve)
    _draw_roc(results, roc)
    for axes in (curve, roc):
        axes.legend(fontsize=7.5, loc='lower right')


def _paper_table(results: Results) -> Table:
    rows = []
    for count in _histories(results):
        name = condition(count)
        first = results.stat(name, REFERENCE)
        rows.append(
            [
                f'{count:,}',
                str(count // 25),
                plus_minus(PAPER[count]),
                f'{plus_minus(first)} {verdict(first, PAPER[count])}' if first.n else '–',
                *(plus_minus(results.stat(name, method)) for method in METHODS[1:]),
            ]
        )
    always = [
        f'{results.stat(condition(_histories(results)[0]), method).mean:.3f}'
        for method in (ALWAYS_FIVE, ALL_EIGHT)
    ]
    return Table(
        "Micro-F1 on the rare pattern alone (the paper's table); components never met",
        ('N', 'rare', 'paper', *METHODS),
        rows,
        (
            'A test of nothing but the rare pattern can be gamed: always naming its five '
            f'activities gives {always[0]}, always naming all eight {always[1]}.',
        ),
    )


def _stream_table(results: Results) -> Table:
    rows = []
    for count in _histories(results):
        name = condition(count)
        for method in (*METHODS, ALWAYS_FIVE, ALL_EIGHT):
            # Who always says the same says it whatever the history.
            idle = method in (ALWAYS_FIVE, ALL_EIGHT)
            if results.stat(name, method).n and (not idle or count == _histories(results)[0]):
                rows.append(
                    ['any' if idle else f'{count:,}', method, *_stream(results, name, method)]
                )
    rows.sort(key=lambda row: row[0] == 'any')
    return Table(
        'The stream of life: 4 % rare, 4 % near misses, all five active together',
        ('N', 'policy', 'found', 'false', 'ROC, 1 %', '≥ 0.5', 'false', 'common F1', 'near F1'),
        rows,
        (
            'found, false: threshold chosen on further situations of the components of the '
            'history, none of them rare, such that 0.25 % are above it. ROC: found where the '
            'threshold leaves 1 % of the other situations of the test itself. ≥ 0.5: found with '
            'that threshold, and the false ones with it. common, near F1: micro-F1 on the common '
            'patterns and on the near misses.',
        ),
    )


def _stream(results: Results, name: str, method: str) -> list[str]:
    def share(metric: str) -> str:
        return f'{results.stat(name, method, metric).mean:.2%}'

    return [
        plus_minus(results.stat(name, method, 'found')),
        share('false'),
        plus_minus(results.stat(name, method, f'roc {_ALLOWED:g}')),
        f'{results.stat(name, method, "found at 0.5").mean:.3f}',
        share('false at 0.5'),
        plus_minus(results.stat(name, method, 'common f1')),
        f'{results.stat(name, method, "near miss f1").mean:.3f}',
    ]


def _fresh_table(results: Results) -> Table:
    rows = []
    for count in FRESH_HISTORIES:
        name = fresh_condition(count)
        for method in (PLAIN, BETTER):
            found = results.values(name, method)
            if found:
                least = f'{min(found):.3f}'
                f1 = plus_minus(results.stat(name, method))
                rows.append([f'{count:,}', method, f1, least, *_stream(results, name, method)[:2],
                             plus_minus(results.stat(name, method, 'common f1'))])  # fmt: skip
    seeds = sorted({r.cell.seed for r in results.cells if r.cell.name.startswith('fresh')})
    return Table(
        f'{len(seeds)} fresh seed{"s" if len(seeds) != 1 else ""} ({_span(seeds)})',
        ('N', 'policy', 'F1, rare alone', 'least', 'found', 'false', 'common F1'),
        rows,
    )


def _span(seeds: Sequence[int]) -> str:
    return f'{seeds[0]}–{seeds[-1]}' if len(seeds) > 1 else ', '.join(map(str, seeds))


def _histories(results: Results) -> list[int]:
    there = {result.cell.name for result in results.cells}
    return [count for count in HISTORIES if condition(count) in there]


def _draw_curve(results: Results, axes: Axes) -> None:
    counts = _histories(results)
    shown = [
        Series(method, counts, [results.stat(condition(count), method) for count in counts])
        for method in METHODS
        if results.stat(condition(counts[0]), method).n
    ]
    paper = Series('paper', counts, [PAPER[count] for count in counts], paper=True)
    lines(axes, [*shown, paper])
    axes.set_xscale('log')
    axes.set_xticks(counts, [f'{count:,}\n({count // 25})' for count in counts])
    axes.minorticks_off()
    axes.set_ylim(0.6, 1.03)
    axes.set_xlabel('situations in the history (rare ones)')
    axes.set_ylabel('micro-F1, rare pattern alone')


def _draw_roc(results: Results, axes: Axes) -> None:
    count = max(n for n in _histories(results) if n <= max(FRESH_HISTORIES))
    name = condition(count)
    shown = [
        Series(method, ROC, [results.stat(name, method, f'roc {share:g}') for share in ROC])
        for method in METHODS
        if results.stat(name, method).n
    ]
    lines(axes, shown)
    axes.axvline(_ALLOWED, color='black', linewidth=0.8, linestyle=':')
    axes.set_xscale('log')
    axes.set_xticks(ROC, [f'{share:.1%}' for share in ROC], fontsize=7.5)
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.05)
    axes.set_xlabel(f'false activation in the stream, N = {count:,}')
    axes.set_ylabel('share of rare situations found')
