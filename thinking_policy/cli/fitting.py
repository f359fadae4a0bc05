# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `train` and `distil` have in common: options, reading, Ctrl-C, writing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.scores import print_scores
from thinking_policy.whole_file import check_writable

if TYPE_CHECKING:
    from thinking_policy.training.fit import Progress
    from thinking_policy.training.learning_files import Source
    from thinking_policy.training.stored_weights import WeightFormat
    from thinking_policy.training.train import Trained

INTERRUPTED = 130

Data = Annotated[
    Path,
    typer.Argument(
        metavar='DATA', readable=False, help='Learning set: an .npz file or a folder of them.'
    ),
]
ManyData = Annotated[
    list[Path],
    typer.Argument(
        metavar='DATA',
        readable=False,
        help='Bags, folders of bags, .npz files or folders of these.',
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        metavar='FILE', readable=False, help='Table of labels (.csv, .parquet) of `label`.'
    ),
]
Config = Annotated[
    str,
    typer.Option(
        metavar='FILE', help='For bags: robot file, or the name of a shipped one, such as skab.'
    ),
]
Namespace = Annotated[str, typer.Option(metavar='NAME', help="The robot's namespace in the bags.")]
Clock = Annotated[
    str, typer.Option(metavar='WORD', help='Whose time the ticks follow: auto, record, clock.')
]
Output = Annotated[
    Path,
    typer.Option('--output', '-o', metavar='FILE.onnx', readable=False, help='File to write.'),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help='Decides everything that is random.')
]
Steps = Annotated[int, typer.Option(min=0, help="Optimiser steps; 0: the recipe's own number.")]
Validation = Annotated[
    float, typer.Option(metavar='SHARE', help='Share of the rows to choose thresholds on.')
]
Test = Annotated[
    float,
    typer.Option(
        metavar='SHARE', help='Share of the rows that figures are of; 0: the validation rows.'
    ),
]
Width = Annotated[
    int,
    typer.Option(min=0, max=4096, help="Units of a robot policy's hidden layers; 0: as usual."),
]
Patience = Annotated[
    int,
    typer.Option(
        min=-1,
        help='Stop after so many evaluations without a better one; 0: never; -1: as the recipe.',
    ),
]
Weights = Annotated[
    str,
    typer.Option(
        metavar='WORD',
        help='How weights are stored: float32, float16, int8 (default: int8, reference float32).',
    ),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        metavar='FILE',
        readable=False,
        help='State to go on from after Ctrl-C (default: the output with .checkpoint).',
    ),
]
Force = Annotated[bool, typer.Option('--force', help='Replace what is there.')]
Fresh = Annotated[bool, typer.Option('--fresh', help='Start anew, whatever checkpoint is there.')]
Robot = Annotated[
    str, typer.Option(metavar='NAME', help='Robot or robot family, as the file will say.')
]


def stored_as(word: str) -> WeightFormat | None:
    """Return a weight format; None for an empty word: as usual.

    Raises:
        ThinkingPolicyError: No such format.
    """
    from thinking_policy.training.stored_weights import WEIGHT_FORMATS

    for known in WEIGHT_FORMATS:
        if word == known:
            return known
    if word:
        raise ThinkingPolicyError(
            f'--weights: expected one of {list(WEIGHT_FORMATS)}, found {word!r}'
        )
    return None


def configuration(name: str) -> Path | str:
    """Return the robot file that --config means; empty where none was named."""
    return name and find_configuration(name)


def created(data: Source) -> str:
    """Return the time for a manifest: SOURCE_DATE_EPOCH, or that of the newest situation.

    Never the clock: the same data and options give the same bytes.

    Raises:
        ThinkingPolicyError: SOURCE_DATE_EPOCH is no time.
    """
    from thinking_policy.training.learning_files import newest_stamp_ns
    from thinking_policy.training.source_date import iso_time, source_date
    from thinking_policy.training.train import CREATED

    asked = source_date()
    if asked is not None:
        return iso_time(asked)
    seconds = newest_stamp_ns(data) // 10**9
    # A robot's clock may never have been set.
    return iso_time(seconds) if 0 < seconds < 2**33 else CREATED


def robot_name(data: Path) -> str:
    """Return what a robot is called that nobody has named: as its data are, without an ending."""
    # "." and ".." have no name of their own, nor has "/".
    named = data.name not in ('', '..')
    return (data if named else data.resolve()).stem or 'robot'


def checkpoint_of(
    output: Path, checkpoint: Path | None, read: Sequence[Path], force: bool
) -> Path:
    """Return where the checkpoint is, after checking that both files may be written.

    Before anything is read: a fit of minutes is not to end at a name.

    Args:
        output: File to write.
        checkpoint: None: beside the output.
        read: Files and folders that the command reads.
        force: Whether an output that is there may be replaced.

    Raises:
        ThinkingPolicyError: One of them is read, is there and not a file, or can't be written;
            or the output is there.
    """
    if output.name in ('', '..'):
        raise ThinkingPolicyError(f'{output}: is a folder; expected the name of a file to write')
    checkpoint = checkpoint or output.with_name(output.name + '.checkpoint')
    if checkpoint.resolve() == output.resolve():
        raise ThinkingPolicyError(f'{checkpoint}: is the output; choose another --checkpoint')
    check_free(output, read, force)
    if output.suffix != '.onnx':
        raise ThinkingPolicyError(f'{output}: expected a name that ends in .onnx')
    check_free(checkpoint, read, overwrite=True)
    return checkpoint


def check_free(path: Path, read: Sequence[Path], overwrite: bool) -> None:
    """Refuse a place whose content is not ours to replace, or that can't be written.

    Args:
        path: File to write.
        read: Files and folders that the command reads.
        overwrite: Whether a file that is there may be replaced.

    Raises:
        ThinkingPolicyError: It is one of them, or data in one of them, or no file, or there
            already; or writing fails.
    """
    place = path.resolve()
    for source in read:
        inside = place.suffix == '.npz' and place.parent == source.resolve()
        if place == source.resolve() or (inside and place.exists()):
            raise ThinkingPolicyError(f'{path}: is read by this command; choose another name')
    if path.exists() and not path.is_file():
        raise ThinkingPolicyError(f'{path}: is there and not a file; choose another name')
    if path.exists() and not overwrite:
        raise ThinkingPolicyError(
            f'{path}: exists already; choose another name or replace it with --force'
        )
    check_writable(path)


def run_fit(
    make: Callable[[Progress, Path], Trained],
    output: Path,
    checkpoint: Path,
    fresh: bool,
    before: str,
) -> Trained:
    """Fit with a bar and a checkpoint, write the policy, say how to go on after Ctrl-C.

    Args:
        make: Fits, given what to tell and where the checkpoint is.
        output: File to write.
        checkpoint: From `checkpoint_of`.
        fresh: Whether a checkpoint that is there is to be forgotten.
        before: What goes on until the first step.

    Raises:
        typer.Exit: Ctrl-C, after saying how to go on.
    """
    from thinking_policy.training.export import write_artifact
    from thinking_policy.training.progress import shown

    if fresh:
        checkpoint.unlink(missing_ok=True)
    try:
        with shown(before) as progress:
            trained = make(progress, checkpoint)
        write_artifact(output, trained.data)
    except KeyboardInterrupt as interrupt:
        if checkpoint.exists():
            print(
                f'interrupted; the state is in {checkpoint}: the same command goes on from '
                f'there, with --fresh it starts anew',
                file=sys.stderr,
            )
        else:
            print('interrupted before a state was kept; nothing was written', file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from interrupt
    checkpoint.unlink(missing_ok=True)
    return trained


def print_trained(output: Path, trained: Trained, left_out: Sequence[str]) -> None:
    """Print what was made and its figures."""
    fitted, manifest = trained.fitted, trained.manifest
    early = ', stopped early' if fitted.stopped_early else ''
    rows = 'validation rows' if manifest.training['measured_on_validation'] else 'test rows'
    print_scores(trained.evaluation, f'{trained.evaluation.rows} {rows}, never learned from')
    if left_out:
        print(f'not learned, since no label names them: {", ".join(left_out)}')
    if trained.calibrated:
        print(f'calibrated on the validation rows: {", ".join(trained.calibrated)}')
    print(
        f'{output}: {len(trained.data)} bytes, {manifest.network}, {manifest.parameters} '
        f'parameters, version {manifest.version}'
    )
    print(f'  {fitted.steps} steps in {fitted.seconds:.0f} s{early}, loss {fitted.loss:.4f}')
