# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy calibrate`: what is normal for a robot, from a stretch that was."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.calibrated import (
    Calibrated,
    draw,
    lines,
    robot_file,
    write_robot_file,
)
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.stretch import Recorded, cut_out, recorded_in_bag, recorded_in_npz
from thinking_policy.policy import FALSE_ALARMS, HealthyStretch, with_baseline
from thinking_policy.policy.nominal import nominal_ranges
from thinking_policy.situation import SituationConfig, load_configuration

EXAMPLES = """\b
Examples:
  thinking-policy calibrate ordinary_day_bag --config my_robot.yaml -o calibrated.yaml
  thinking-policy calibrate walk.npz --config turtlebot3 --until 300 -o robot.yaml --plot look.png
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
def calibrate(
    recording: Annotated[
        Path,
        typer.Argument(
            metavar='BAG|NPZ', readable=False, help='Bag, or what `bag situations` made of one.'
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            '--output', '-o', metavar='FILE.yaml', readable=False, help='Robot file to write.'
        ),
    ],
    config: Annotated[
        str,
        typer.Option(
            metavar='FILE', help='Robot file to begin with, or the name of a shipped one.'
        ),
    ] = '',
    begin_s: Annotated[
        float | None,
        typer.Option('--from', metavar='S', help='Begin of the stretch, seconds from the start.'),
    ] = None,
    end_s: Annotated[
        float | None,
        typer.Option('--until', metavar='S', help='End of the stretch, seconds from the start.'),
    ] = None,
    episode: Annotated[
        list[str] | None,
        typer.Option(metavar='NAME', help='Only this episode; may be given several times.'),
    ] = None,
    false_alarms: Annotated[
        float,
        typer.Option(min=1e-6, max=0.2, help='Share of healthy windows that may be called novel.'),
    ] = FALSE_ALARMS,
    keep_ranges: Annotated[
        bool, typer.Option('--keep-ranges', help='Leave the nominal ranges as they are.')
    ] = False,
    namespace: Annotated[
        str,
        typer.Option(metavar='NAME', help="The robot's namespace in the bag."),
    ] = '',
    plot: Annotated[
        Path | None,
        typer.Option(metavar='FILE.png', readable=False, help='Draw signals and novelty.'),
    ] = None,
    force: Annotated[bool, typer.Option('--force', help='Replace what is there.')] = False,
) -> None:
    """Learn what is normal for this robot from a stretch that was, and write its robot file.

    The file is the one that --config names, with other nominal ranges and with the baseline of
    the novelty; comments stay. `run --config`, launch's params_file and `bag situations` take it.
    """
    source = find_configuration(config)
    for path in (output, plot):
        if path is not None and path.exists() and not force:
            raise ThinkingPolicyError(
                f'{path}: exists already; choose another name or replace it with --force'
            )
    whole = _read(recording, load_configuration(source), source, namespace)
    chosen = cut_out(whole, begin_s, end_s, episode or [])
    found = _calibrated(load_configuration(source), chosen, false_alarms, keep_ranges)
    origin = f'{recording.name}, {chosen.seconds[0]:g} … {chosen.seconds[-1]:g} s'
    text, comments_kept = robot_file(source, found, origin)
    write_robot_file(output, text, found.after)
    if plot is not None:
        draw(plot, whole, chosen, found)
    for line in lines(found):
        print(line)
    print(f'wrote {output}' + (f' and {plot}' if plot else ''))
    if not comments_kept:
        print(f'the comments of {source} could not be kept')
    print(f'try: thinking-policy run --config {shlex.quote(str(output))}')


def _read(recording: Path, config: SituationConfig, source: Path, namespace: str) -> Recorded:
    if recording.suffix == '.npz':
        return recorded_in_npz(recording, config, source)
    with showing_progress('replaying') as progress:
        return recorded_in_bag(recording, config, namespace, progress)


def _calibrated(
    before: SituationConfig, chosen: Recorded, false_alarms: float, keep_ranges: bool
) -> Calibrated:
    ranges = nominal_ranges(before, chosen.values)
    ranged = before if keep_ranges else ranges.config
    stretch = HealthyStretch(chosen.config)
    stretch.add(chosen.window, chosen.valid)
    calibration = stretch.calibrate(ranged, false_alarms)
    return Calibrated(
        before,
        with_baseline(ranged, calibration),
        calibration,
        ranges.values,
        {} if keep_ranges else ranges.problems,
        len(chosen),
    )
