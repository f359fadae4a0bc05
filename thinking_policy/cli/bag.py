# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy bag`: look into bags, turn tables into bags, export tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thinking_policy.bags import open_bag, situations_of
from thinking_policy.bags.csv_map import load_csv_map
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.export import export_situations
from thinking_policy.bags.from_csv import STORAGES, bag_from_csv
from thinking_policy.bags.info import advice, inspect_feeds, inspect_signals
from thinking_policy.bags.lockstep import CLOCKS
from thinking_policy.cli import bag_lines
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.shipped import config_folder
from thinking_policy.situation import load_configuration

INFO_EXAMPLES = """\b
Examples:
  thinking-policy bag info walking_bag
  thinking-policy bag info walking_bag --config turtlebot3
"""
SITUATIONS_EXAMPLES = """\b
Example:
  thinking-policy bag situations walking_bag --config turtlebot3 -o walk.npz
  python -c "import numpy; print(numpy.load('walk.npz')['window'].shape)"
"""
FROM_CSV_EXAMPLES = """\b
Example:
  thinking-policy bag from-csv valve1/0.csv --map skab -o skab_valve1_0
  thinking-policy bag info skab_valve1_0 --config skab
"""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help='Look into bags, turn tables into bags, export tensors.',
)

BagPath = Annotated[
    Path,
    typer.Argument(
        metavar='PATH',
        readable=False,
        help='rosbag2 folder, .db3, .mcap or .zstd file, or ROS 1 .bag.',
    ),
]
Namespace = Annotated[
    str,
    typer.Option(metavar='NAME', help="The robot's namespace in the bag, for relative topics."),
]
CONFIG_HELP = 'Robot file (ROS parameter file), or the name of a shipped one, such as turtlebot3.'
Force = Annotated[bool, typer.Option('--force', help='Replace what is there.')]


@app.command(epilog=INFO_EXAMPLES)
def info(
    path: BagPath,
    config: Annotated[str, typer.Option(metavar='FILE', help=CONFIG_HELP)] = '',
    namespace: Namespace = '',
) -> None:
    """Show topics, types, counts, rates and times of a bag.

    With --config also which signals it would feed, which not and why, and how the header
    times of their topics stand to the times of recording.
    """
    with open_bag(path) as bag:
        for line in bag_lines.overview(bag):
            print(line)
        if config:
            file = find_configuration(config)
            configuration = load_configuration(file)
            signals = inspect_signals(bag, configuration, namespace)
            with showing_progress('reading', bag.message_count) as progress:
                feeds = inspect_feeds(bag, configuration, namespace, progress)
            print()
            for line in bag_lines.signals(file.name, signals, feeds):
                print(line)
            for line in advice(bag, configuration, feeds):
                print(f'  {line}')
        for line in bag_lines.problems(bag.problems):
            print(line)


@app.command(epilog=SITUATIONS_EXAMPLES)
def situations(
    path: BagPath,
    output: Annotated[
        Path,
        typer.Option('--output', '-o', metavar='FILE.npz', readable=False, help='File to write.'),
    ],
    config: Annotated[str, typer.Option(metavar='FILE', help=CONFIG_HELP)],
    namespace: Namespace = '',
    stride: Annotated[
        int, typer.Option(min=1, help='Keep every n-th tick; events of all ticks are kept.')
    ] = 1,
    clock: Annotated[
        str,
        typer.Option(
            metavar='WORD',
            help=f'Whose time the ticks follow: {", ".join(CLOCKS)} (auto: the '
            'recorded /clock where there is one).',
        ),
    ] = 'auto',
    robot_id: Annotated[
        str, typer.Option(metavar='NAME', help='Begins the names of episodes.')
    ] = '',
    force: Force = False,
) -> None:
    """Write the situations of a bag: the tensors that a live node makes of it.

    The .npz holds window [N,T,F], valid, stamp_ns, tick, episode, values and states of the
    signals, the events, and meta (JSON). What was left out is counted and shown.
    """
    if output.suffix != '.npz':
        raise BagError(f'{output}: expected a name that ends in .npz')
    configuration = load_configuration(find_configuration(config))
    with open_bag(path) as bag:
        replay = situations_of(bag, configuration, robot_id, clock, namespace)
        total = sum(
            {
                feed.source.name: feed.source.count
                for feed in replay.feeds
                if feed.source and not feed.problem
            }.values()
        )
        with showing_progress('replaying', total) as progress:
            made = export_situations(
                bag,
                configuration,
                replay,
                output,
                stride=stride,
                overwrite=force,
                progress=progress,
            )
        for line in bag_lines.exported(output, made, replay):
            print(line)
        for line in bag_lines.problems(bag.problems):
            print(line)


@app.command('from-csv', epilog=FROM_CSV_EXAMPLES)
def from_csv(
    table: Annotated[
        Path, typer.Argument(metavar='CSV', readable=False, help='Table with a heading.')
    ],
    map_file: Annotated[
        str,
        typer.Option(
            '--map',
            metavar='FILE',
            help='What goes where, YAML; or the name of a shipped one, such as skab.',
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            '--output', '-o', metavar='BAG', readable=False, help='Folder of the new bag.'
        ),
    ],
    storage: Annotated[
        str, typer.Option(metavar='WORD', help=f'Storage of the bag: {" or ".join(STORAGES)}.')
    ] = 'sqlite3',
    force: Force = False,
) -> None:
    """Turn a table into a bag with typed messages, one per row and topic."""
    csv_map = load_csv_map(_find_map(map_file))
    with showing_progress('rows', None) as progress:
        report = bag_from_csv(
            table, csv_map, output, storage=storage, overwrite=force, progress=progress
        )
    for line in bag_lines.converted(output, report):
        print(line)


def _find_map(name: str) -> Path:
    path = Path(name)
    if path.parent != Path():  # a shipped one is named without a folder
        return path
    shipped = config_folder() / 'csv' / f'{name.removesuffix(".yaml")}.yaml'
    if path.is_file() or not shipped.is_file():
        return path
    return shipped
