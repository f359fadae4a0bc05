# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy bag replay-policy`: what a policy says of a recording, without ROS."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.bags.export import check_free
from thinking_policy.bags.locating import named_bags
from thinking_policy.bags.lockstep import CLOCKS
from thinking_policy.cli import bag_lines
from thinking_policy.cli.robot_files import BUNDLED, find_configuration
from thinking_policy.shipped import config_folder

if TYPE_CHECKING:
    from thinking_policy.cli.replaying import Asking
    from thinking_policy.cli.timeline_lines import Replayed
    from thinking_policy.situation import SituationConfig

EXAMPLES = """\b
Examples:
  thinking-policy bag replay-policy bundled walking_bag --config turtlebot3
  thinking-policy bag replay-policy policy.onnx folder_of_bags --config turtlebot3 --json
  thinking-policy bag replay-policy policy.onnx walking_bag --config my_robot.yaml --plot walk.png
  thinking-policy bag replay-policy policy.onnx walking_bag --config turtlebot3 --csv walk.csv
"""


def replay_policy(
    policy: Annotated[
        str, typer.Argument(metavar='POLICY', help=f'Policy file (.onnx), or {BUNDLED}.')
    ],
    bag: Annotated[
        Path,
        typer.Argument(metavar='BAG', readable=False, help='One bag, or a folder of bags.'),
    ],
    config: Annotated[
        str,
        typer.Option(
            metavar='FILE', help='Robot file, or the name of a shipped one, such as turtlebot3.'
        ),
    ],
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE.png',
            readable=False,
            help='Draw the timeline (.png, .svg, .pdf); a folder: a .png of each bag.',
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE.csv',
            readable=False,
            help='Write one row for each tick; a folder: a table of each bag.',
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option('--json', help='One JSON object with summary and spans instead.')
    ] = False,
    namespace: Annotated[
        str,
        typer.Option(
            metavar='NAME', help="The robot's namespace in the bag, for relative topics."
        ),
    ] = '',
    clock: Annotated[
        str,
        typer.Option(metavar='WORD', help=f'Whose time the ticks follow: {", ".join(CLOCKS)}.'),
    ] = 'auto',
    force: Annotated[bool, typer.Option('--force', help='Replace what is there.')] = False,
) -> None:
    """Show when a policy would have thought what: the answers of a node that hears the bag.

    Thresholds, hold, novelty threshold, baseline and public key are the robot file's, as for a
    node. Spans are from the first tick at which an activity was active to the last one. Of a
    folder of bags each is replayed in turn; a folder for --plot or --csv takes a file of each.
    """
    from thinking_policy.cli import replaying

    bags = named_bags([bag])
    places = _Places(_places(plot, '.png', bags), _places(csv, '.csv', bags))
    path = config_folder() / 'policy.onnx' if policy == BUNDLED else Path(policy)
    _check_outputs(places, bag, path, force)
    ask = replaying.asking(path, find_configuration(config), namespace, clock)
    other = sys.stderr if as_json else sys.stdout
    for line in ask.remarks:
        print(line, file=other)
    if len(bags) > 1:
        _show_all(bags, ask, places, as_json=as_json)
        return
    ((name, place),) = bags.items()
    replayed, notes = replaying.replayed_bag(name, place, ask)
    _show(replayed, notes, as_json=as_json)
    for line in places.write(replayed, ask.config):
        print(line, file=other)


def _show(replayed: Replayed, notes: list[str], *, as_json: bool) -> None:
    from thinking_policy.cli import timeline_lines

    if as_json:
        print(json.dumps(timeline_lines.as_json(replayed), allow_nan=False))
    else:
        for line in timeline_lines.lines(replayed):
            print(line)
    for line in notes:
        print(line, file=sys.stderr if as_json else sys.stdout)


def _show_all(bags: dict[str, Path], ask: Asking, places: _Places, *, as_json: bool) -> None:
    """Show each of several bags when it is done, and all of them in a table."""
    from thinking_policy.cli import replaying, timeline_lines

    def show(replayed: Replayed, notes: list[str]) -> None:
        if as_json:
            for line in notes:
                print(line if not line else f'{replayed.bag}: {line.strip()}', file=sys.stderr)
        else:
            _show(replayed, notes, as_json=False)
        for line in places.write(replayed, ask.config):
            print(line, file=sys.stderr if as_json else sys.stdout)
        if not as_json:
            print()

    outcome = replaying.replay_all(bags, ask, show)
    if as_json:
        answer = {'bags': list(outcome.done.values()), 'broken': outcome.broken}
        print(json.dumps(answer, allow_nan=False))
        return
    for line in timeline_lines.table(outcome.done):
        print(line)
    print(f'\n{len(outcome.done)} of {len(bags)} bags replayed')
    for line in bag_lines.left_alone(outcome.broken):
        print(line)


@dataclass(frozen=True)
class _Places:
    """Where the picture and the table of each bag go, by the bags' names."""

    pictures: dict[str, Path]
    tables: dict[str, Path]

    def write(self, replayed: Replayed, config: SituationConfig) -> list[str]:
        """Write what is asked for of one bag; return what to say about it."""
        said = []
        if (table := self.tables.get(replayed.bag)) is not None:
            from thinking_policy.cli.timeline import write_table

            write_table(table, replayed.timeline, replayed.start_ns)
            said.append(f'{table}: written')
        if (picture := self.pictures.get(replayed.bag)) is not None and len(replayed.timeline):
            from thinking_policy.cli.timeline_plot import draw_timeline

            draw_timeline(picture, replayed, config)
            said.append(f'{picture}: written')
        return said


def _places(given: Path | None, suffix: str, bags: dict[str, Path]) -> dict[str, Path]:
    """Return the file of each bag: the one that was named, or one in the folder.

    Raises:
        ThinkingPolicyError: One file for several bags.
    """
    if given is None:
        return {}
    if not given.suffix or given.is_dir():
        from thinking_policy.bags.labelling.plot import file_names

        return {name: given / f'{file}{suffix}' for name, file in file_names(list(bags)).items()}
    if len(bags) > 1:
        raise ThinkingPolicyError(
            f'{given}: is one file, and there are {len(bags)} bags; name a folder, which takes '
            f'a {suffix} of each'
        )
    return dict.fromkeys(bags, given)


def _check_outputs(places: _Places, bag: Path, policy: Path, force: bool) -> None:
    """Refuse, before any work, what could not be written in the end or is not ours."""
    if places.pictures:
        from thinking_policy.cli.calibration_plot import check_plot

        for picture in places.pictures.values():
            check_plot(picture)
    for table in places.tables.values():
        if table.suffix != '.csv':
            raise ThinkingPolicyError(f'{table}: expected a name that ends in .csv, or a folder')
    for place in (*places.pictures.values(), *places.tables.values()):
        check_free(place, bag, overwrite=force)
        if place.resolve() == policy.resolve():
            raise ThinkingPolicyError(f'{place}: is the policy; choose another name')
