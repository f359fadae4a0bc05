# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy run`: the nodes as processes, and what they think."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.lines import Summary
from thinking_policy.cli.plan import (
    DEFAULT_SCENARIO,
    Plan,
    environment_for,
    policy_process,
    source_process,
)
from thinking_policy.cli.processes import Ended, Processes
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.shows import Show, choose_show

if TYPE_CHECKING:
    from thinking_policy.cli.bag_coverage import Coverage
    from thinking_policy.cli.listener import Listener

REFRESH_S = 0.1
DISCOVERY_S = 1.0  # to see who is there already
MATCH_S = 20.0  # for the policy node to appear before its source is started without it
# How the policy node says that it stays inactive; nobody here would wake it later.
NEVER_ACTIVE = ('ERROR not configured', 'ERROR not activated')
BAG_MARK = 'metadata.yaml'
DRAIN_S = 1.0  # silence after the end of a bag that means that the last tick was heard

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


def carry_out(plan: Plan, duration_s: float, json_lines: bool) -> int:
    """Run the plan until its source ends, its duration is over or a signal comes.

    Returns:
        0; 1 where a node failed or no activation was heard.
    """
    coverage = _coverage(plan)
    os.environ.update(environment_for(plan, os.environ))
    from thinking_policy.cli.listener import Listener  # after the environment is set: it joins ROS

    listener = Listener(plan.namespace, details=not json_lines, started_here=True)
    processes = Processes()
    show = choose_show(json_lines)
    summary = Summary()
    failures: list[Ended] = []
    try:
        with stop_on_signals() as stop:
            processes.start(policy_process(plan))
            failures = _follow(plan, listener, processes, show, summary, duration_s, stop)
            failures += processes.stop()
            for name, line in processes.output():
                show.log(name, line)
    finally:
        processes.stop()
        show.close(_account(summary, coverage))
        topic = listener.topic
        listener.close()
    return _verdict(failures, summary, topic)


def _follow(
    plan: Plan,
    listener: Listener,
    processes: Processes,
    show: Show,
    summary: Summary,
    duration_s: float,
    stop: threading.Event,
) -> list[Ended]:
    """Show what is heard until the run is over; return the children that failed."""
    source = source_process(plan)
    started = heard = time.monotonic()
    mixed = source_over = False
    while not stop.is_set():
        now = time.monotonic()
        if source is not None and _is_time(plan, listener, now - started):
            _refuse_to_mix(plan, listener)
            processes.start(source)
            source = None
        for message in listener.spin(REFRESH_S):
            heard = time.monotonic()
            picture = listener.picture_of(message)
            summary.add(picture)
            show.message(message, picture)
        for name, line in processes.output():
            show.log(name, line)
            if any(words in line for words in NEVER_ACTIVE):
                return [Ended(name, 1, (line,))]
        show.refresh(listener.picture())
        if listener.publishers > 1 and not mixed:
            mixed = True
            show.log(
                'run',
                f'WARN another node publishes {listener.topic} too: what is shown '
                'mixes both; set another ROS_DOMAIN_ID or --namespace',
            )
        ended = processes.ended()
        failed = [end for end in ended if end.code != 0 or end.name == 'policy_node']
        if failed:
            return failed
        if ended:  # the source came to its end
            source_over, heard = True, time.monotonic()
        if source_over and now - heard > DRAIN_S:
            break
        if 0 < duration_s <= now - started:
            break
    return []


def _is_time(plan: Plan, listener: Listener, waited_s: float) -> bool:
    """Whether to start the source: a bag not before its first messages can be heard."""
    if plan.bag is None:
        return waited_s >= DISCOVERY_S
    return (waited_s >= DISCOVERY_S and listener.matched()) or waited_s > MATCH_S


def _refuse_to_mix(plan: Plan, listener: Listener) -> None:
    """Keep a simulation or a bag away from a robot, or another simulation, that is there.

    Raises:
        ThinkingPolicyError: Somebody publishes a topic that we are about to publish too.
    """
    from thinking_policy.situation.configuration import load_configuration  # NumPy

    config = load_configuration(plan.config)
    topics = {signal.topic for signal in config.signals if signal.topic}
    taken = listener.published(sorted(topics | ({'/clock'} if plan.bag is not None else set())))
    if taken:
        raise ThinkingPolicyError(
            f'run: {", ".join(taken)} {"is" if len(taken) == 1 else "are"} published already, '
            'by a robot or another run: hear it with --live, or keep apart with --namespace or '
            'another ROS_DOMAIN_ID'
        )


def _account(summary: Summary, coverage: Coverage | None) -> list[str]:
    if coverage is None:
        return summary.lines() if summary.ticks else []
    return [*(summary.lines(coverage.remarks) if summary.ticks else ()), *coverage.lines]


def _verdict(failures: list[Ended], summary: Summary, topic: str) -> int:
    for end in failures:
        print(
            f'thinking-policy: error: {end.name} ended with {end.reason}'
            f'{"; its last lines:" if end.last_lines else ""}',
            file=sys.stderr,
        )
        for line in end.last_lines:
            print(f'  {line}', file=sys.stderr)
    if not failures and not summary.ticks:
        print(
            f'thinking-policy: error: nothing was heard on {topic}; see `thinking-policy doctor`',
            file=sys.stderr,
        )
    return 1 if failures or not summary.ticks else 0


def _coverage(plan: Plan) -> Coverage | None:
    """Return what the bag holds of the signals; a bad bag is said before anything starts."""
    if plan.bag is None:
        return None
    from thinking_policy.cli.bag_coverage import cover  # needs the extra [bags]

    return cover(plan.bag, plan.config, plan.namespace)


def the_bag(path: Path) -> Path:
    """Return the one bag in a folder of folders, as data sets are often laid; else the path."""
    if not path.is_dir() or any(path.glob('*.db3*')) or any(path.glob('*.mcap*')):
        return path
    found = [file.parent for depth in range(4) for file in path.glob('*/' * depth + BAG_MARK)]
    if len(found) != 1 or found[0] == path:
        return path
    print(f'thinking-policy: {path} holds one bag: {found[0].relative_to(path)}', file=sys.stderr)
    return found[0]


def _existing(path: Path, what: str) -> Path:
    if not path.exists():
        raise ThinkingPolicyError(f'--{what} {path}: no such file or folder')
    return path.absolute()


@contextlib.contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Turn Ctrl-C, SIGTERM and a closed terminal into an event while the block runs."""
    stop = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
