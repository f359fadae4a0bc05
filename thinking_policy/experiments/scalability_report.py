# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How experiment 1 is shown: F1, storage and time against the length of the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thinking_policy.experiments.baselines import NEIGHBOURS
from thinking_policy.experiments.experiment import Results, Stat, Table
from thinking_policy.experiments.lookup import FLAT, HNSW, SEARCH_ALONE, SUMMARY, stored
from thinking_policy.experiments.plotting import Series, lines
from thinking_policy.experiments.policies import REFERENCE_NAME, ROBOT_NAME
from thinking_policy.experiments.query_cost import (
    REFERENCE_ONNX,
    REFERENCE_TORCH,
    ROBOT_ONNX,
    STATES,
)
from thinking_policy.experiments.report import plus_minus, verdict
from thinking_policy.experiments.signals import RECORD_BYTES
from thinking_policy.experiments.timing import IDENTITY

TIMING = 'timing'
METHODS = (SUMMARY, FLAT, HNSW, REFERENCE_NAME, ROBOT_NAME)
# Table I of the paper; "Proposed" is set beside both policies.
_EXACT = Stat(1.0, 0.0, 5)
PAPER_SUMMARY = {
    500: Stat(0.528, 0.068, 5),
    2_000: Stat(0.518, 0.042, 5),
    10_000: Stat(0.499, 0.073, 5),
    30_000: Stat(0.495, 0.071, 5),
}
PAPER_FLAT_MS = {500: 0.0186, 2_000: 0.0309, 10_000: 0.1533, 30_000: 0.3636}
PAPER_POLICY_MS, PAPER_POLICY_BYTES = 0.0382, 7_358_240
PAPER_CONTENT = {
    'f1': {
        f'N{count}': {
            SUMMARY: asdict(found),
            FLAT: asdict(_EXACT),
            REFERENCE_NAME: asdict(_EXACT),
        }
        for count, found in PAPER_SUMMARY.items()
    },
    'sequence_rag_mb': {str(count): RECORD_BYTES * count / 1e6 for count in PAPER_SUMMARY},
    'sequence_rag_ms': {str(count): ms for count, ms in PAPER_FLAT_MS.items()},
    'policy_mb': 7.358,
    'policy_ms': PAPER_POLICY_MS,
    'crossover_records': 2.36e4,
    'time_ratio_at_30000': 9.53,
}
_MB = 1e6
_TICKS_MS = (0.01, 0.03, 0.1, 0.3, 1.0)


def condition(history: int) -> str:
    """Return the name of the cells of a history."""
    return f'N{history}'


def tables(results: Results) -> list[Table]:
    """Return F1, storage and time."""
    return [_f1_table(results), _storage_table(results), *_time_tables(results)]


def draw(results: Results, figure: Figure) -> None:
    """Draw F1, storage and time against the length of the history."""
    figure.set_size_inches(10.5, 3.9)
    f1, storage, time = figure.subplots(1, 3)
    counts = _histories(results)
    _draw_f1(results, f1)
    _draw_storage(results, storage)
    _draw_time(results, time)
    for axes in (f1, storage, time):
        axes.set_xscale('log')
        axes.set_xticks(counts, [f'{count:,}' for count in counts])
        axes.minorticks_off()
        axes.set_xlabel('stored situations')
        axes.legend(fontsize=7, loc='lower center', bbox_to_anchor=(0.5, 1.0), ncols=2)


def crossover(policy_bytes: float) -> float:
    """Return how many stored situations take as many bytes as a policy."""
    return policy_bytes / RECORD_BYTES


def _f1_table(results: Results) -> Table:
    rows = []
    for count in _histories(results):
        name = condition(count)
        paper = PAPER_SUMMARY[count]
        found = [results.stat(name, method) for method in METHODS]
        exact = [_with_verdict(stat, _EXACT) for stat in (found[1], *found[3:])]
        rows.append(
            [
                f'{count:,}',
                _with_verdict(found[0], paper),
                plus_minus(paper),
                exact[0],
                plus_minus(found[2]),
                *exact[1:],
            ]
        )
    recall = [
        f'{results.stat(condition(count), HNSW, "recall@4").mean:.2f}'
        for count in _histories(results)
    ]
    return Table(
        'Micro-F1, majority of the nearest four; the paper has 1.000 for Sequence-RAG and policy',
        ('N', SUMMARY, 'paper', FLAT, HNSW, REFERENCE_NAME, ROBOT_NAME),
        rows,
        (f'HNSW finds {", ".join(recall)} of the exact nearest four, at these N.',),
    )


def _storage_table(results: Results) -> Table:
    rows = []
    for count in _histories(results):
        name = condition(count)
        sequence, reference = (
            results.stat(name, method, 'bytes').mean / _MB for method in (FLAT, REFERENCE_NAME)
        )
        tokens = results.stat(name, FLAT, 'context tokens').mean
        whole = results.stat(name, FLAT, 'history tokens').mean
        rows.append(
            [
                f'{count:,}',
                f'{sequence:.3f}',
                f'{RECORD_BYTES * count / _MB:.3f}',
                f'{results.stat(name, SUMMARY, "bytes").mean / _MB:.3f}',
                '–' if reference != reference else f'{reference:.3f}',
                f'{results.stat(name, ROBOT_NAME, "bytes").mean / _MB:.3f}',
                f'{count:,} / 0',
                f'{tokens:.0f} / 0',
                f'{whole:,.0f} / 0',
            ]
        )
    robot = results.stat(condition(_histories(results)[0]), ROBOT_NAME, 'bytes').mean
    notes = (
        f'A record is {RECORD_BYTES} bytes. As many bytes as the reference policy take '
        f'{crossover(PAPER_POLICY_BYTES):,.0f} records (paper: 2.36×10⁴); as many as the robot '
        f'policy, {crossover(robot):,.0f}.',
        f'Tokens are estimated: retrieval / policies, for the {NEIGHBOURS} records of a query '
        f'and for the whole history written out.',
    )
    columns = ('N', 'Seq. MB', 'paper', 'Summary MB', 'reference MB', 'robot MB',
               'online records', 'context tokens', 'whole history')  # fmt: skip
    return Table('Storage (MB = 10⁶ bytes), online records and tokens', columns, rows, notes)


def _time_tables(results: Results) -> list[Table]:
    names = [IDENTITY, ROBOT_ONNX, REFERENCE_ONNX, REFERENCE_TORCH]
    names += [
        stored(kind, count)
        for kind in (SUMMARY, SEARCH_ALONE, HNSW, FLAT)
        for count in _histories(results)
    ]
    floor = _ms(results, IDENTITY, 'warm')
    rows = []
    for name in names:
        paper = [f'{ms:.4f}' for count, ms in PAPER_FLAT_MS.items() if name == stored(FLAT, count)]
        cells = [f'{_ms(results, name, state):.4f}' for state in STATES]
        rows.append([name, *cells, *(paper or ['–']), f'{_ms(results, name, "warm") / floor:.1f}'])
    longest = _histories(results)[-1]
    ratios = [
        _times(_ms(results, stored(FLAT, longest), state) / _ms(results, policy, state))
        for policy in (ROBOT_ONNX, REFERENCE_ONNX)
        for state in ('warm', 'batched')
    ]
    hnsw = _ms(results, ROBOT_ONNX, 'warm') / _ms(results, stored(HNSW, longest), 'warm')
    notes = (
        f'Sequence-RAG (flat) at {longest:,} takes {ratios[0]} times as long as the robot policy '
        f'for a single query ({ratios[1]} in batches), and {ratios[2]} times as long as the '
        f'reference policy by ONNX Runtime ({ratios[3]}); paper: 9.53 at 30,000, in batches on '
        f'an accelerator, where its policy took {PAPER_POLICY_MS} ms.',
        f'The robot policy takes {hnsw:.2f} times as long as HNSW at {longest:,}.',
        f'HNSW at {", ".join(f"{count:,}" for count in _histories(results))}: {_hnsw(results)}.',
        'One thread, all contenders taking turns in one run; after sleep: 100 ms of rest before '
        'the query, as at 10 Hz. Ratios are the result; milliseconds hold for this machine.',
    )
    columns = ('milliseconds per query (median)', *STATES, 'paper', '÷ identity')
    return [Table('Time', columns, rows, notes)]


def _draw_f1(results: Results, axes: Axes) -> None:
    counts = _histories(results)
    series = [
        Series(method, counts, [results.stat(condition(count), method) for count in counts])
        for method in (SUMMARY, FLAT, REFERENCE_NAME, ROBOT_NAME)
    ]
    paper = Series(f'{SUMMARY}, paper', counts, [PAPER_SUMMARY[count] for count in counts], True)
    lines(axes, [*series, paper])
    axes.set_ylabel('micro-F1')
    axes.set_ylim(0, 1.05)


def _draw_storage(results: Results, axes: Axes) -> None:
    counts = _histories(results)
    lines(
        axes,
        [
            Series(
                method,
                counts,
                [_plain(results.stat(condition(count), method, 'bytes'), _MB) for count in counts],
            )
            for method in (SUMMARY, FLAT, REFERENCE_NAME, ROBOT_NAME)
        ],
    )
    axes.set_yscale('log')
    axes.set_ylabel('stored, MB')


def _draw_time(results: Results, axes: Axes) -> None:
    counts = _histories(results)

    def constant(name: str) -> list[Stat]:
        return [_plain(Stat(_ms(results, name, 'warm'), 0.0, 1))] * len(counts)

    retrieval = [
        Series(
            kind,
            counts,
            [Stat(_ms(results, stored(kind, count), 'warm'), 0.0, 1) for count in counts],
        )
        for kind in (SUMMARY, FLAT)
    ]
    policies = [
        Series(REFERENCE_ONNX.replace(' Runtime', ''), counts, constant(REFERENCE_ONNX)),
        Series(ROBOT_ONNX.replace(' Runtime', ''), counts, constant(ROBOT_ONNX)),
    ]
    linked = [Stat(_ms(results, stored(HNSW, count), 'warm'), 0.0, 1) for count in counts]
    lines(axes, [*retrieval, *policies, Series(HNSW, counts, linked)])
    axes.set_yscale('log')
    axes.set_yticks(_TICKS_MS, [f'{tick:g}' for tick in _TICKS_MS])
    axes.set_ylabel('one query, ms (median, warm)')


def _histories(results: Results) -> Sequence[int]:
    counts = [result.cell.settings.get('history') for result in results.cells]
    return sorted({int(count) for count in counts if count is not None})


def _times(ratio: float) -> str:
    return f'{ratio:,.0f}' if ratio >= 10 else f'{ratio:.2f}'


def _ms(results: Results, name: str, state: str) -> float:
    return results.stat(TIMING, name, f'{state} p50 ms').mean


def _hnsw(results: Results) -> str:
    """Return how the indexes were made that were timed."""
    found = []
    for count in _histories(results):
        m, build, search, recall = (
            results.stat(TIMING, stored(HNSW, count), metric).mean
            for metric in ('M', 'efConstruction', 'efSearch', 'recall@4')
        )
        found.append(
            f'M {m:.0f}, efConstruction {build:.0f}, efSearch {search:.0f}, recall@4 {recall:.2f}'
        )
    return '; '.join(found)


def _with_verdict(ours: Stat, paper: Stat) -> str:
    return f'{plus_minus(ours)} {verdict(ours, paper)}' if ours.n else '–'


def _plain(stat: Stat, unit: float = 1.0) -> Stat:
    return Stat(stat.mean / unit, stat.sd / unit, stat.n)
