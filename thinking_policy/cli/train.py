# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy train`: make a policy file from labelled situations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli import fitting
from thinking_policy.shipped import config_folder

if TYPE_CHECKING:
    from thinking_policy.cli.learning_data import LearningData
    from thinking_policy.training.evaluation import Evaluation
    from thinking_policy.training.learning_set import LearningSet
    from thinking_policy.training.train import Parts

EXAMPLES = """\b
Examples:
  thinking-policy train bags/ --config my_robot.yaml --labels labels.csv -o policy.onnx
  thinking-policy train walks/ -o policy.onnx --activities my_thinking.yaml
  thinking-policy train walks.npz -o big.onnx --recipe reference --steps 800
  thinking-policy distil big.onnx walks.npz -o policy.onnx
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def train(
    data: fitting.ManyData,
    output: fitting.Output,
    recipe: Annotated[
        str,
        typer.Option(metavar='WORD', help='robot: a small network, seconds; reference: minutes.'),
    ] = 'robot',
    activities: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE', readable=False, help='Kinds of thinking (default: the shipped list).'
        ),
    ] = None,
    labels: fitting.Labels = None,
    config: fitting.Config = '',
    namespace: fitting.Namespace = '',
    clock: fitting.Clock = 'auto',
    seed: fitting.Seed = 0,
    steps: fitting.Steps = 0,
    batch: Annotated[int, typer.Option(min=0, help="Rows per step; 0: the recipe's own.")] = 0,
    width: fitting.Width = 0,
    balance: Annotated[
        float, typer.Option(min=0, max=1, help='How much rare sets of labels are favoured, 0...1.')
    ] = 0.0,
    validation: fitting.Validation = 0.15,
    test: fitting.Test = 0.15,
    false_activation: Annotated[
        float,
        typer.Option(
            metavar='SHARE',
            min=0,
            max=1,
            help='Largest share of rows without need to be active in.',
        ),
    ] = 1.0,
    events: Annotated[
        str,
        typer.Option(metavar='CODES', help='Event codes to read: none, all, or a,b,c.'),
    ] = 'none',
    patience: fitting.Patience = -1,
    threads: Annotated[
        int,
        typer.Option(min=0, max=64, help='Parts of a batch to compute side by side; 0: as usual.'),
    ] = 0,
    weights: fitting.Weights = '',
    checkpoint: fitting.CheckpointFile = None,
    fresh: fitting.Fresh = False,
    force: fitting.Force = False,
    robot: fitting.Robot = '',
    parent: Annotated[
        Path | None,
        typer.Option(metavar='FILE', readable=False, help='Policy that this one replaces.'),
    ] = None,
) -> None:
    """Make a policy file from labelled situations.

    DATA are bags, or what `bag situations` writes, with the table of labels that `label` writes
    (--labels); or .npz files with two more arrays: labels [N, G] and the ids activities [G].
    Whole episodes are set aside for choosing thresholds and for measuring; separate bags are
    separate episodes. The same data and options give the same bytes. Ctrl-C keeps the state; the
    same command goes on.
    """
    from thinking_policy.cli.learning_data import learning_data
    from thinking_policy.policy import load_activities, read_manifest
    from thinking_policy.training.evaluation import check_fit
    from thinking_policy.training.networks import RobotPolicy
    from thinking_policy.training.recipe import RECIPES
    from thinking_policy.training.train import (
        Plan,
        chosen_activities,
        recipe_of,
        train_policy,
    )

    if recipe not in RECIPES:
        raise ThinkingPolicyError(f'--recipe: expected one of {list(RECIPES)}, found {recipe!r}')
    activities = activities or config_folder() / 'thinking.yaml'
    read = [path for path in (*data, labels, activities, parent) if path is not None]
    checkpoint = fitting.checkpoint_of(output, checkpoint, read, force)
    listed = load_activities(activities)
    ids = [activity.id for activity in listed]
    robot_file = fitting.configuration(config)
    found = learning_data(data, labels, robot_file, namespace, clock, listed=ids)
    learning = _learning(found, ids, events)
    version = ''
    if parent is not None:
        replaced = read_manifest(parent)
        check_fit(replaced, learning, str(parent), found.name)
        version = replaced.version
    plan = Plan(
        recipe,
        recipe_of(recipe, seed, steps, batch, threads, patience, balance),
        width or RobotPolicy.WIDTH,
        fitting.stored_as(weights),
        false_activation,
        robot or fitting.robot_name(data[0]),
        version,
        fitting.created(found.source),
        sources=found.origin,
    )
    parts = _parts(learning, found, validation, test, seed)
    used = chosen_activities(listed, learning)
    trained = fitting.run_fit(
        lambda progress, state: train_policy(
            parts, used, plan, progress=progress, checkpoint=state
        ),
        output,
        checkpoint,
        fresh,
        'preparing',
    )
    for line in found.lines:
        print(line)
    fitting.print_trained(output, trained, [a.id for a in listed if a not in used])
    for line in too_often(trained.evaluation, false_activation):
        print(line)


def _parts(
    learning: LearningSet, data: LearningData, validation: float, test: float, seed: int
) -> Parts:
    """Set episodes aside; where they are too few since labels are missing, say that."""
    from thinking_policy.training.errors import LearningError
    from thinking_policy.training.train import split

    try:
        return split(learning, validation, test, seed, data.name)
    except LearningError as error:
        if not data.without:
            raise
        raise LearningError(f'{error}; {data.without}') from error


def too_often(found: Evaluation, largest: float) -> Iterator[str]:
    """Yield a line where activities are active without need in more rows than asked for.

    No threshold may keep to it, or it was kept to on the rows that it was chosen on.
    """
    beyond = [
        f'{name} {share:.4f}'
        for name, share in zip(found.activities, found.false_activation, strict=True)
        if share > largest
    ]
    if beyond:
        yield f'more often active without need than {largest:g} of the rows: {", ".join(beyond)}'


def _learning(data: LearningData, taxonomy: Sequence[str], events: str) -> LearningSet:
    """Return what is learned from.

    Raises:
        ThinkingPolicyError: As `load_learning_set`; or an activity has an empty class.
    """
    from thinking_policy.training.learning_files import load_learning_set

    learning = load_learning_set(data.source, taxonomy=taxonomy, vocabulary=_codes(events, data))
    if data.origin:  # a rule that never held is no fault of the data
        learning = learning.without_unused(data.name)
    learning.check_classes(data.name)
    return learning


def _codes(words: str, data: LearningData) -> tuple[str, ...] | None:
    """Return the event codes to read; None: those of events that the data bring packed.

    Raises:
        ThinkingPolicyError: No codes, one twice, or one that never occurs.
    """
    from thinking_policy.training.learning_files import exported_codes

    if words == 'none':
        return ()
    found = exported_codes(data.source)
    if words == 'all':
        return found or None
    codes = tuple(word.strip() for word in words.split(','))
    if '' in codes or len(set(codes)) < len(codes):
        raise ThinkingPolicyError(
            f'--events: expected none, all, or codes as in a,b,c, each once, found {words!r}'
        )
    # Weights of an input that is always the same are never fitted.
    unknown = [code for code in codes if found and code not in found]
    if unknown:
        raise ThinkingPolicyError(
            f'--events: {unknown} never occur in {data.name}, which has {list(found)}; '
            'leave them out'
        )
    return codes
