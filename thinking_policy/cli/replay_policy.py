# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy bag replay-policy`: what a policy says of a recording, without ROS."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.bags import Bag, Replay, open_bag, situations_of
from thinking_policy.bags.export import check_free
from thinking_policy.bags.locating import named_bags
from thinking_policy.bags.lockstep import CLOCKS
from thinking_policy.cli import bag_lines
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.robot_sections import sections_for

if TYPE_CHECKING:
    from thinking_policy.cli.timeline_lines import Replayed
    from thinking_policy.policy import PolicyRuntime, ThinkingSettings
    from thinking_policy.situation import SituationConfig

EXAMPLES = """\b
Examples:
  thinking-policy bag replay-policy policy.onnx walking_bag --config turtlebot3
  thinking-policy bag replay-policy policy.onnx walking_bag --config my_robot.yaml --plot walk.png
  thinking-policy bag replay-policy policy.onnx walking_bag --config turtlebot3 --csv walk.csv
"""


def replay_policy(
    policy: Annotated[
        Path, typer.Argument(metavar='POLICY', readable=False, help='Policy file (.onnx).')
    ],
    bag: Annotated[
        Path,
        typer.Argument(metavar='BAG', readable=False, help='One bag, or a folder that holds one.'),
    ],
    config: Annotated[
        str,
        typer.Option(
            metavar='FILE', help='Robot file, or the name of a shipped one, such as turtlebot3.'
        ),
    ],
    plot: Annotated[
        Path | None,
        typer.Option(metavar='FILE.png', readable=False, help='Draw the timeline; .svg, .pdf.'),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar='FILE.csv', readable=False, help='Write one row for each tick.'),
    ] = None,
    as_json: Annotated[
        bool, typer.Option('--json', help='One JSON object with spans and ticks instead.')
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
    node. Spans are from the first tick at which an activity was active to the last one.
    """
    from thinking_policy.cli import timeline_lines

    bags = named_bags([bag])
    if len(bags) > 1:
        raise ThinkingPolicyError(
            f'{bag}: expected one bag, found {len(bags)}: {", ".join(list(bags)[:4])}'
            f'{" ..." if len(bags) > 4 else ""}; name one of them'
        )
    ((name, path),) = bags.items()
    _check_outputs(plot, csv, path, policy, force)
    file = find_configuration(config)
    with open_bag(path) as opened:
        runtime, situation, settings, remarks = _loaded(policy, file, namespace)
        replay = situations_of(opened, situation, clock=clock, namespace=namespace)
        replayed = _replayed(name, opened, replay, runtime, situation, settings)
        problems = [*bag_lines.problems(opened.problems)]
    if as_json:
        print(json.dumps(timeline_lines.as_json(replayed), allow_nan=False))
    else:
        for line in timeline_lines.lines(replayed):
            print(line)
    other = sys.stderr if as_json else sys.stdout
    for line in [*_silent(replay), *remarks, *problems, *_written(plot, csv, replayed, situation)]:
        print(line, file=other)


def _loaded(
    policy: Path, file: Path, namespace: str
) -> tuple[PolicyRuntime, SituationConfig, ThinkingSettings, list[str]]:
    """Return policy, configuration, settings and remarks, as a node with that file has them."""
    from thinking_policy.policy import PolicyRuntime, baseline_of, thinking_settings
    from thinking_policy.policy.thinker import alike
    from thinking_policy.situation import load_configuration
    from thinking_policy.situation.robot_file import load_parameters

    section = sections_for(file, namespace)
    config = load_configuration(file, section)
    values: dict[str, Any] = load_parameters(file, section)
    key = values.get('public_key_path', '')
    runtime = PolicyRuntime.load(
        policy,
        config=config,
        public_key=Path(str(key)) if key else None,
        baseline=baseline_of(config),
    )
    settings = thinking_settings(runtime.manifest.activities, values, str(file))
    unknown = sorted(set(values.get('thresholds', {})) - set(settings.thresholds))
    remarks = [f'{policy.name}: {warning}' for warning in alike(runtime.warnings)]
    remarks += [f'{file.name}: thresholds.{name}: not in the policy, unused' for name in unknown]
    return runtime, config, settings, remarks


def _replayed(
    name: str,
    bag: Bag,
    replay: Replay,
    runtime: PolicyRuntime,
    config: SituationConfig,
    settings: ThinkingSettings,
) -> Replayed:
    from thinking_policy.cli.timeline import Timeline
    from thinking_policy.cli.timeline_lines import Replayed
    from thinking_policy.policy import Thinker

    thinker = Thinker(runtime, config.window_length)
    thinker.set_thresholds(settings.thresholds, settings.minimum_hold_s)
    timeline = Timeline(thinker.ids, config.names)
    feeds = {f.source.name: f.source.count for f in replay.feeds if f.source and not f.problem}
    with showing_progress('replaying', sum(feeds.values())) as progress:
        for situation in replay:
            timeline.add(situation, *thinker.think(situation))
            progress(replay.played)
    start_ns = bag.start_ns if replay.clock == 'record' else 0
    if not start_ns and len(timeline):  # as labels count
        start_ns = int(timeline.stamp_ns[0]) - config.tick_period_ns
    manifest, tick_s = runtime.manifest, config.tick_period_s
    return Replayed(name, runtime.path.name, manifest, settings, start_ns, tick_s, timeline)


def _silent(replay: Replay) -> list[str]:
    """Return a line for each topic that the bag does not feed."""
    return [f'{feed.topic}: not fed: {feed.problem}' for feed in replay.feeds if feed.problem]


def _check_outputs(
    plot: Path | None, csv: Path | None, bag: Path, policy: Path, force: bool
) -> None:
    """Refuse, before any work, what could not be written in the end or is not ours."""
    if plot is not None:
        from thinking_policy.cli.calibration_plot import check_plot

        check_plot(plot)
    if csv is not None and csv.suffix != '.csv':
        raise ThinkingPolicyError(f'{csv}: expected a name that ends in .csv')
    for place in (plot, csv):
        if place is None:
            continue
        check_free(place, bag, overwrite=force)
        if place.resolve() == policy.resolve():
            raise ThinkingPolicyError(f'{place}: is the policy; choose another name')


def _written(
    plot: Path | None, csv: Path | None, replayed: Replayed, config: SituationConfig
) -> list[str]:
    said = []
    if csv is not None:
        from thinking_policy.cli.timeline import write_table

        write_table(csv, replayed.timeline, replayed.start_ns)
        said.append(f'{csv}: written')
    if plot is not None and len(replayed.timeline):
        from thinking_policy.cli.timeline_plot import draw_timeline

        draw_timeline(plot, replayed, config)
        said.append(f'{plot}: written')
    return said
