# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy calibrate`: what is normal for a robot, from a stretch that was."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.calibrated import Calibrated, lines, robot_file, write_robot_file
from thinking_policy.cli.calibration_plot import check_plot, draw
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.robot_sections import sections_for
from thinking_policy.cli.stretch import (
    Recorded,
    cut_off,
    cut_out,
    recorded_in_bag,
    recorded_in_npz,
)
from thinking_policy.policy import FALSE_ALARMS, HealthyStretch, with_baseline
from thinking_policy.policy.nominal import NominalRanges, nominal_ranges
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
    _check_outputs(recording, output, plot, force)
    sections = sections_for(source, namespace)
    before = load_configuration(source, sections)
    cut = functools.partial(cut_out, begin_s=begin_s, end_s=end_s, episodes=episode or [])
    read = functools.partial(_read, recording, source=source, namespace=namespace)
    whole = read(before)
    ranges = nominal_ranges(before, cut(whole).values)
    if keep_ranges:
        ranges = NominalRanges(before, ranges.values, {})
    elif lost := cut_off(cut(whole), ranges.config):
        if _is_npz(recording):
            raise ThinkingPolicyError(
                f'{recording}: {lost}; calibrate the bag itself, or export it again with a '
                'nominal range that fits'
            )
        whole = read(ranges.config)  # so nothing is cut off, as on the robot from now on
    chosen = cut(whole)
    found = _calibrated(before, ranges, chosen, false_alarms)
    origin = f'{recording.resolve().name}, {chosen.seconds[0]:g} … {chosen.seconds[-1]:g} s'
    text, comments_kept = robot_file(source, found, origin, sections)
    if plot is not None:
        draw(plot, whole, chosen, found)
    write_robot_file(output, text, found.after, sections)
    for line in lines(found):
        print(line)
    print(f'wrote {output}' + (f' and {plot}' if plot else ''))
    if not comments_kept:
        print(f'the comments of {source} could not be kept')
    words = ['--config', str(output), *(['--namespace', namespace] if namespace else [])]
    print(f'try: thinking-policy run {shlex.join(words)}')


def _check_outputs(recording: Path, output: Path, plot: Path | None, force: bool) -> None:
    """Refuse at once what would be found out after the replay, and what would destroy it."""
    if plot is not None:
        check_plot(plot)
        if plot.resolve() == output.resolve():
            raise ThinkingPolicyError(f'{plot}: is the robot file to write; name another --plot')
    for path in (output, plot):
        if path is None:
            continue
        if _is_part(path, recording):
            raise ThinkingPolicyError(
                f'{path}: is the recording or a part of it; choose another name'
            )
        if path.exists() and not path.is_file():
            raise ThinkingPolicyError(f'{path}: is there and not a file; choose another name')
        if path.exists() and not force:
            raise ThinkingPolicyError(
                f'{path}: exists already; choose another name or replace it with --force'
            )


def _is_part(path: Path, recording: Path) -> bool:
    if _is_npz(recording):
        return path.resolve() == recording.resolve()
    # Reading bags needs an extra; a .npz doesn't.
    from thinking_policy.bags.locating import is_part

    return is_part(path, recording)


def _is_npz(recording: Path) -> bool:
    return recording.suffix == '.npz'


def _read(recording: Path, config: SituationConfig, source: Path, namespace: str) -> Recorded:
    if _is_npz(recording):
        return recorded_in_npz(recording, config, source)
    with showing_progress('replaying') as progress:
        return recorded_in_bag(recording, config, namespace, progress)


def _calibrated(
    before: SituationConfig, ranges: NominalRanges, chosen: Recorded, false_alarms: float
) -> Calibrated:
    stretch = HealthyStretch(chosen.config)
    stretch.add(chosen.window, chosen.valid)
    calibration = stretch.calibrate(ranges.config, false_alarms)
    return Calibrated(
        before,
        with_baseline(ranges.config, calibration),
        calibration,
        ranges.values,
        ranges.problems,
        len(chosen),
    )
