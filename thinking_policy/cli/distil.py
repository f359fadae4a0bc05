# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy distil`: a small policy learns what a large one says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thinking_policy.cli import fitting

EXAMPLES = """\b
Examples:
  thinking-policy distil big.onnx walks.npz -o policy.onnx
  thinking-policy distil big.onnx unlabelled/ -o policy.onnx --mix 1
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def distil(
    teacher: Annotated[
        Path, typer.Argument(metavar='TEACHER', readable=False, help='Policy file to learn from.')
    ],
    data: fitting.Data,
    output: fitting.Output,
    mix: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help='Share of the teacher in the loss; the labels are the rest.',
        ),
    ] = 0.7,
    seed: fitting.Seed = 0,
    steps: fitting.Steps = 0,
    width: fitting.Width = 0,
    validation: fitting.Validation = 0.15,
    test: fitting.Test = 0.15,
    patience: fitting.Patience = -1,
    weights: fitting.Weights = '',
    checkpoint: fitting.CheckpointFile = None,
    fresh: fitting.Fresh = False,
    force: fitting.Force = False,
    robot: fitting.Robot = '',
) -> None:
    """Make a robot policy that says what a teacher says.

    DATA needs no labels: without them the figures tell how well the student agrees with the
    teacher's decisions. With labels, thresholds and figures go by the labels.
    """
    from thinking_policy.policy import read_artifact
    from thinking_policy.training.distil import teach
    from thinking_policy.training.networks import RobotPolicy
    from thinking_policy.training.train import Plan, recipe_of, train_policy

    checkpoint = fitting.checkpoint_of(output, checkpoint, (teacher, data), force)
    artifact = read_artifact(teacher)
    lesson = teach(artifact, data, mix, validation, test, seed)
    plan = Plan(
        'robot',
        recipe_of('robot', seed, steps, patience=patience),
        width or RobotPolicy.WIDTH,
        fitting.stored_as(weights),
        robot=robot or artifact.manifest.robot,
        parent=artifact.manifest.version,
        created=fitting.created(data),
        training={'distilled': mix, 'labelled': float(lesson.labelled)},
    )
    trained = fitting.run_fit(
        lambda progress, state: train_policy(
            lesson.parts,
            artifact.manifest.activities,
            plan,
            truth=lesson.truth,
            progress=progress,
            checkpoint=state,
        ),
        output,
        checkpoint,
        fresh,
        'asking the teacher',
    )
    if not lesson.labelled:
        print(f'{data} has no labels: the figures compare with what {teacher} decides')
    fitting.print_trained(output, trained, ())
