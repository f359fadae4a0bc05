# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy run`: the nodes as processes, and what they think."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.plan import DEFAULT_SCENARIO, Plan
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.running import carry_out

EXAMPLES = """\b
Examples:
  thinking-policy run
  thinking-policy run --config turtlebot3 --namespace /robot1
  thinking-policy run --bag walk_bag --rate 5 --json > activations.jsonl
  thinking-policy run --duration 20 --ros-args -p minimum_hold_s:=1.0
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
def run(
    context: typer.Context,
    simulate: Annotated[
        str,
        typer.Option(
            metavar='SCENARIO',
            help=f'Simulated robot that lives through SCENARIO; without --config, --bag and '
            f'--live: {DEFAULT_SCENARIO}.',
        ),
    ] = '',
    bag: Annotated[
        Path | None, typer.Option(metavar='PATH', help='Play this bag (rosbag2 or ROS 1).')
    ] = None,
    live: Annotated[
        bool,
        typer.Option('--live', help="Hear this robot's own topics; implied by --config alone."),
    ] = False,
    config: Annotated[
        str,
        typer.Option(
            metavar='FILE',
            help='Robot file (ROS parameter file), or the name of a shipped one, such as '
            'turtlebot3.',
        ),
    ] = '',
    policy: Annotated[
        Path | None, typer.Option(metavar='FILE', help='Policy file; default: the bundled one.')
    ] = None,
    namespace: Annotated[
        str, typer.Option(metavar='NAME', help='Namespace, such as /robot1.')
    ] = '',
    robot_id: Annotated[
        str, typer.Option(metavar='NAME', help="This robot's name in episodes.")
    ] = '',
    rate: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar='X',
            help='With --bag: X times real time; 0: in lockstep, as fast as possible.',
        ),
    ] = 1.0,
    loop: Annotated[
        bool, typer.Option('--loop', help='With --bag: begin again at its end.')
    ] = False,
    duration: Annotated[
        float, typer.Option(min=0.0, metavar='S', help='End after S seconds; 0: never.')
    ] = 0.0,
    json_lines: Annotated[
        bool, typer.Option('--json', help='One JSON object a line for each ThinkingActivations.')
    ] = False,
) -> None:
    """Start the nodes as processes and show what the robot should think about.

    Without a terminal it prints plain lines: one for each change, one every few seconds.
    Ctrl-C ends it. What follows --ros-args goes to the policy node.
    """
    if sum((bool(simulate), bag is not None, live)) > 1:
        raise ThinkingPolicyError('run: --simulate, --bag and --live exclude each other')
    if bag is None and (loop or rate != 1.0):
        raise ThinkingPolicyError('run: --loop and --rate need --bag PATH')
    scenario = simulate or ('' if bag is not None or live or config else DEFAULT_SCENARIO)
    plan = Plan(
        config=find_configuration(config),
        scenario=scenario,
        bag=None if bag is None else the_bag(_existing(bag, 'bag')),
        rate=rate,
        loop=loop,
        policy=None if policy is None else _existing(policy, 'policy'),
        namespace=namespace,
        robot_id=robot_id,
        ros_args=context.obj.ros_args,
    )
    raise typer.Exit(carry_out(plan, duration, json_lines))


def the_bag(path: Path) -> Path:
    """Return the one bag in a folder of folders, as data sets are often laid; else the path."""
    from thinking_policy.bags.locating import bags_in

    found = bags_in(path)
    if len(found) != 1 or found[0] == path:
        return path
    print(
        f'thinking-policy: {path.name} holds one bag: {found[0].relative_to(path)}',
        file=sys.stderr,
    )
    return found[0]


def _existing(path: Path, what: str) -> Path:
    if not path.exists():
        raise ThinkingPolicyError(f'--{what} {path}: no such file or folder')
    return path.absolute()
