# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy experiment`: the paper's experiments, each beside the paper's figures."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from thinking_policy.cli.experiment_progress import shown
from thinking_policy.cli.remedies import extra_remedy
from thinking_policy.cli.tables import columns
from thinking_policy.experiments.catalogue import EXPERIMENTS, load
from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Experiment, Options, Results
from thinking_policy.experiments.experiment import Table as Figures

EXAMPLES = """\b
Examples:
  thinking-policy experiment list
  thinking-policy experiment ordering --quick
  thinking-policy experiment scalability --seeds 0-4 --out results/scalability
  thinking-policy experiment ordering --seeds 0 --write-data data
"""
NEEDED = ('faiss', 'matplotlib', 'onnx', 'sklearn', 'torch')
FULL_SEEDS, QUICK_SEEDS = '0-4', '0,1'
_MOST_SEEDS = 1000
_LARGEST_SEED = 2**31 - 1  # the libraries that draw by it take 32 bits
_FILE_WIDTH = 120
_SIGNALLED = 130  # the exit code of a program that Ctrl-C has ended

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def experiment(
    name: Annotated[
        str, typer.Argument(metavar='NAME', help=f'{", ".join(EXPERIMENTS)}; or list.')
    ],
    seeds: Annotated[
        str,
        typer.Option(
            metavar='LIST',
            help=f'Such as 0-4 or 0,1,2 (default: {FULL_SEEDS}; quick: {QUICK_SEEDS}).',
        ),
    ] = '',
    quick: Annotated[
        bool, typer.Option('--quick', help='A smaller form, in a minute or two; it says so.')
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar='DIR', readable=False, help='Folder for results (default: results/NAME).'
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            metavar='N',
            min=0,
            show_default=False,
            help='Processes of one thread each (default: one for each core).',
        ),
    ] = 0,
    plots: Annotated[bool, typer.Option(help='Draw the figure.')] = True,
    fresh: Annotated[
        bool, typer.Option('--fresh', help='Throw away what an earlier run left in the folder.')
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar='DIR', readable=False, help='Measured data, for experiments that use some.'
        ),
    ] = None,
    write_data: Annotated[
        Path | None,
        typer.Option(
            metavar='DIR',
            readable=False,
            help='Write what each seed learns from and is judged on, for train and evaluate; '
            'run nothing.',
        ),
    ] = None,
) -> None:
    """Run one of the paper's experiments and show it beside the paper's figures.

    Writes results.json, table.md and a figure. What is finished is kept: the same command goes
    on after Ctrl-C, and does nothing where everything is there.
    """
    if name == 'list':
        print_list()
        return
    check_installed()
    chosen = load(name)
    options = Options(parse_seeds(seeds or (QUICK_SEEDS if quick else FULL_SEEDS)), quick, data)
    if write_data is not None:
        write_sets(chosen, options, write_data)
        return
    folder = out or Path('results') / (f'{name}-quick' if quick else name)
    run_and_report(chosen, options, folder, jobs or os.cpu_count() or 1, plots, fresh)


def run_and_report(
    chosen: Experiment, options: Options, out: Path, jobs: int, plots: bool, fresh: bool
) -> None:
    """Run what is missing, print the tables, write the files."""
    from thinking_policy.experiments.report import heading, write_report
    from thinking_policy.experiments.run import run

    # A file or a pipe has no width of its own.
    console = Console(
        highlight=False, markup=False, width=None if sys.stdout.isatty() else _FILE_WIDTH
    )
    console.print(heading(chosen, options), style='bold', soft_wrap=True)
    try:
        with shown(out) as watching:
            results = run(chosen, options, out, jobs=jobs, fresh=fresh, watching=watching)
    except KeyboardInterrupt:
        kept = len(list((out / 'cells').glob('*.json')))
        print(f'\nstopped; {kept} finished cells are kept in {out}; the same command goes on')
        raise typer.Exit(_SIGNALLED) from None
    print_results(console, chosen, results)
    for path in write_report(chosen, results, out, plots):
        print(f'written: {path}')


def print_results(console: Console, chosen: Experiment, results: Results) -> None:
    """Print the tables of an experiment."""
    for table in chosen.tables(results):
        console.print()
        console.print(rich_table(table), crop=False)
        for note in table.notes:
            console.print(note, soft_wrap=True)
    console.print()


def rich_table(table: Figures) -> Table:
    """Return a table for a terminal; on a narrow one headings are folded, numbers never are."""
    shown_table = Table(title=table.title, title_justify='left', title_style='', box=SIMPLE_HEAD)
    for place, column in enumerate(table.columns):
        words = [word for row in table.rows for word in row[place].split()]
        shown_table.add_column(
            column,
            justify='right' if place else 'left',
            overflow='fold',
            min_width=max((len(word) for word in words), default=0),
        )
    for row in table.rows:
        shown_table.add_row(*row)
    return shown_table


def write_sets(chosen: Experiment, options: Options, folder: Path) -> None:
    """Write the sets of each seed as .npz files, and the list of their activities.

    Raises:
        ExperimentError: The experiment generates none, or the folder can't take them.
    """
    from thinking_policy.experiments.folder import write_text
    from thinking_policy.experiments.signals import ACTIVITIES
    from thinking_policy.training.learning_files import save_learning_set

    if chosen.data_sets is None:
        raise ExperimentError(f'--write-data: {chosen.name} has no data of its own to write')
    entries = []
    for name in ACTIVITIES:
        words = name.replace('_', ' ')
        entries.append(f'  - {{id: {name}, title: {words}, directive: Think about {words}.}}\n')
    listed, text = folder / 'thinking.yaml', 'activities:\n' + ''.join(entries)
    try:
        if listed.exists() and listed.read_bytes() != text.encode():
            raise ExperimentError(
                f'{listed}: is there already with other content, such as the thinking of a robot; '
                f'choose another --write-data'
            )
    except OSError as error:
        raise ExperimentError(f'{listed}: cannot be read: {error.strerror or error}') from error
    write_text(listed, text)
    for seed in options.seeds:
        for part, learning in chosen.data_sets(seed, options.quick).items():
            path = folder / f'{chosen.name}-seed{seed}-{part}.npz'
            save_learning_set(path, learning)
            print(f'written: {path} ({len(learning)} situations)')
    print(f'written: {listed} (for train --activities)')


def print_list() -> None:
    """Print which experiments there are."""
    for line in columns((name, entry.number, entry.asks) for name, entry in EXPERIMENTS.items()):
        print(line)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of a list such as `0-4,7`.

    Raises:
        ExperimentError: It is no such list.
    """
    seeds: list[int] = []
    try:
        for word in text.split(','):
            first, dash, last = word.partition('-')
            wanted = range(int(first), int(last if dash else first) + 1)
            if not 0 < len(wanted) <= _MOST_SEEDS:
                raise ValueError
            seeds += wanted
    except ValueError:
        seeds = []
    if not seeds or len(set(seeds)) < len(seeds) or len(seeds) > _MOST_SEEDS:
        raise ExperimentError(
            f'--seeds {text}: expected whole numbers from 0 on, each once, at most '
            f'{_MOST_SEEDS:,} of them, such as 0-4 or 0,1,2'
        )
    if max(seeds) > _LARGEST_SEED:
        raise ExperimentError(f'--seeds {text}: expected seeds up to {_LARGEST_SEED:,}')
    return tuple(seeds)


def check_installed() -> None:
    """Refuse to begin without what experiments need, all of it in one line.

    Raises:
        ExperimentError: Names what is missing and the extra that brings it.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ExperimentError(f'{", ".join(missing)} not installed; {extra_remedy("experiments")}')
