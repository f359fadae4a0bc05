# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy bag`: look into bags, turn tables into bags, export tensors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from thinking_policy.bags import open_bag
from thinking_policy.bags.csv_map import load_csv_map
from thinking_policy.bags.errors import BagError
from thinking_policy.bags.export import export_situations
from thinking_policy.bags.from_csv import STORAGES, CsvReport, bag_from_csv
from thinking_policy.bags.locating import named_bags
from thinking_policy.bags.lockstep import CLOCKS
from thinking_policy.cli import bag_exporting, bag_inspecting, bag_lines, replay_policy
from thinking_policy.cli.bag_places import bag_places
from thinking_policy.cli.bag_proposing import check_proposal, proposed
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.robot_sections import configuration_of
from thinking_policy.shipped import config_folder

INFO_EXAMPLES = """\b
Examples:
  thinking-policy bag info walking_bag
  thinking-policy bag info walking_bag --config turtlebot3
  thinking-policy bag info walking_bag --propose my_robot.yaml
  thinking-policy bag info folder_of_bags --json
"""
SITUATIONS_EXAMPLES = """\b
Examples:
  thinking-policy bag situations walking_bag --config turtlebot3 -o walk.npz
  thinking-policy bag situations folder_of_bags --config turtlebot3 -o situations
  python -c "import numpy; print(numpy.load('walk.npz')['window'].shape)"
"""
FROM_CSV_EXAMPLES = """\b
Examples:
  thinking-policy bag from-csv valve1/0.csv --map skab -o skab_valve1_0
  thinking-policy bag from-csv valve1/*.csv --map skab -o bags
  thinking-policy bag info skab_valve1_0 --config skab
"""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help='Look into bags, turn tables into bags, export tensors.',
)
app.command('replay-policy', epilog=replay_policy.EXAMPLES)(replay_policy.replay_policy)

BagPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar='BAG|FOLDER',
        readable=False,
        help='rosbag2 folder, .db3, .mcap or .zstd file, ROS 1 .bag, or a folder of any of them.',
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
    paths: BagPaths,
    config: Annotated[str, typer.Option(metavar='FILE', help=CONFIG_HELP)] = '',
    namespace: Namespace = '',
    quick: Annotated[
        bool,
        typer.Option('--quick', help='Counts only: do not read all messages for gaps and clocks.'),
    ] = False,
    propose: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE.yaml', readable=False, help='Write a robot file that fits the bags.'
        ),
    ] = None,
    every_signal: Annotated[
        bool,
        typer.Option(
            '--every-signal',
            help='Propose all signals that topics can feed, not only those of the bundled policy.',
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option('--json', help='One JSON object instead.')] = False,
    force: Force = False,
) -> None:
    """Show what bags hold: topics, types, counts, rates, gaps, and how clocks stand.

    Of several bags a line each, from their counts alone. With --config also which signals the
    topics would feed, which not and why. With --propose it writes such a configuration.
    """
    bags = named_bags(paths)
    if propose is not None:
        check_proposal(propose, bags.values(), force)
    file = find_configuration(config) if config else None
    configuration = configuration_of(file, namespace) if file else None
    label = file.name if file else ''
    if len(bags) == 1:
        ((name, path),) = bags.items()
        one = bag_inspecting.inspect(path, name, configuration, namespace, quick=quick)
        made = bag_inspecting.as_json(one, label)
        lines = bag_inspecting.lines(one, label)
    else:
        several = bag_inspecting.inspect_all(bags, configuration, namespace)
        made = {
            'bags': [bag_inspecting.as_json(bag, label) for bag in several.bags],
            'broken': several.broken,
        }
        lines = bag_inspecting.table(several, label)
        bags = {name: path for name, path in bags.items() if name not in several.broken}
    if as_json:
        print(json.dumps(made))
    else:
        print('\n'.join(lines))
    if propose is not None:
        for line in proposed(propose, bags, namespace, every_signal=every_signal):
            print(line, file=sys.stderr if as_json else sys.stdout)


@app.command(epilog=SITUATIONS_EXAMPLES)
def situations(
    paths: BagPaths,
    output: Annotated[
        Path,
        typer.Option(
            '--output',
            '-o',
            metavar='FILE.npz|FOLDER',
            readable=False,
            help='File to write, of one bag; or the folder for one file of each bag.',
        ),
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
    """Write the situations of bags: the tensors that a live node makes of them.

    The .npz holds window [N,T,F], valid, stamp_ns, tick, episode, values and states of the
    signals, the events, and meta (JSON). What was left out is counted and shown. In a folder, a
    file that is newer than its bag and made in the same way is kept: to go on, say it again.
    """
    if output.suffix not in ('', '.npz') and not output.is_dir():
        raise BagError(f'{output}: expected a name that ends in .npz, or a folder')
    bags = named_bags(paths)
    file = find_configuration(config)
    how = bag_exporting.Exporting(
        configuration_of(file, namespace), namespace, clock, robot_id, stride, force
    )
    if output.suffix != '.npz' or output.is_dir():
        outcome = bag_exporting.export_all(bags, output, how)
        for line in bag_exporting.lines(outcome, output, how.config):
            print(line)
        return
    if len(bags) > 1:
        raise BagError(f'{output}: expected a folder, as there are {len(bags)} bags: -o FOLDER')
    ((name, path),) = bags.items()
    _situations_of_one(path, name, output, how)


def _situations_of_one(path: Path, name: str, output: Path, how: bag_exporting.Exporting) -> None:
    with open_bag(path) as bag:
        replay = how.replay(bag)
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
                how.config,
                replay,
                output,
                stride=how.stride,
                name=name,
                overwrite=how.force,
                progress=progress,
            )
        for line in bag_lines.exported(output, made, replay):
            print(line)
        for line in bag_lines.problems(bag.problems):
            print(line)


@app.command('from-csv', epilog=FROM_CSV_EXAMPLES)
def from_csv(
    tables: Annotated[
        list[Path], typer.Argument(metavar='CSV', readable=False, help='Tables with a heading.')
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
            '--output',
            '-o',
            metavar='BAG',
            readable=False,
            help='Folder of the new bag; of several tables: the folder for a bag of each.',
        ),
    ],
    storage: Annotated[
        str, typer.Option(metavar='WORD', help=f'Storage of the bag: {" or ".join(STORAGES)}.')
    ] = 'sqlite3',
    force: Force = False,
) -> None:
    """Turn tables into bags with typed messages, one per row and topic."""
    csv_map = load_csv_map(_find_map(map_file))
    places = bag_places(tables, output, force)
    reports: dict[Path, CsvReport] = {}
    broken: dict[str, str] = {}
    for table, place in places.items():
        try:
            with showing_progress(f'{table.name}, rows', None) as progress:
                reports[place] = bag_from_csv(
                    table, csv_map, place, storage=storage, overwrite=force, progress=progress
                )
        except BagError as error:
            if len(places) == 1:
                raise
            broken[str(table)] = bag_inspecting.without_path(str(error), table)
    if not reports:
        reasons = '; '.join(bag_lines.by_reason(broken))
        raise BagError(f'none of the {len(broken)} tables can be used: {reasons}')
    if len(places) == 1:
        lines = bag_lines.converted(output, reports[output])
    else:
        lines = bag_lines.all_converted(reports)
    for line in lines:
        print(line)
    if len(places) > 1:
        print(f'{output}: {len(reports)} bags of {len(places)} tables')
    for line in bag_lines.left_alone(broken):
        print(line)


def _find_map(name: str) -> Path:
    path = Path(name)
    if path.parent != Path():  # a shipped one is named without a folder
        return path
    shipped = config_folder() / 'csv' / f'{name.removesuffix(".yaml")}.yaml'
    if path.is_file() or not shipped.is_file():
        return path
    return shipped
