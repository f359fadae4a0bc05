# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy evaluate`: figures of a policy on labelled situations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli import fitting
from thinking_policy.cli.robot_files import BUNDLED
from thinking_policy.cli.scores import print_robustness, print_scores
from thinking_policy.shipped import config_folder

EXAMPLES = """\b
Examples:
  thinking-policy evaluate policy.onnx bags/ --config my_robot.yaml --labels labels.csv
  thinking-policy evaluate policy.onnx held_out.npz
  thinking-policy evaluate policy.onnx held_out/ --robustness --plot figures.png
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def evaluate(
    policy: Annotated[
        Path,
        typer.Argument(
            metavar='POLICY', readable=False, help=f'Policy file (.onnx), or {BUNDLED}.'
        ),
    ],
    data: fitting.ManyData,
    labels: fitting.Labels = None,
    config: fitting.Config = '',
    namespace: fitting.Namespace = '',
    clock: fitting.Clock = 'auto',
    robustness: Annotated[
        bool,
        typer.Option(
            '--robustness', help='Also F1 with up to half of the samples or a signal missing.'
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar='FILE.png', readable=False, help='Picture: scores and reliability.'),
    ] = None,
    as_json: Annotated[bool, typer.Option('--json', help='Print one JSON object.')] = False,
    force: fitting.Force = False,
) -> None:
    """Measure a policy: precision, recall, F1, calibration and confusion per activity.

    At the thresholds of the policy file, without hysteresis. ECE is the expected calibration
    error: |mean probability - share of due rows|, averaged over 15 bins of equal number.
    """
    from thinking_policy.cli.learning_data import learning_data
    from thinking_policy.policy import PolicyRuntime
    from thinking_policy.training import evaluation

    if policy == Path(BUNDLED):
        policy = config_folder() / 'policy.onnx'
    if plot is not None:
        _check_plot(plot, [path for path in (policy, *data, labels) if path is not None], force)
    # Loading is what a robot does: a file that it would refuse is refused here.
    manifest = PolicyRuntime.load(policy).manifest
    ids = [activity.id for activity in manifest.activities]
    taken = learning_data(data, labels, fitting.configuration(config), namespace, clock, ids)
    predict, learning = evaluation.prepared(policy, manifest, taken.source, taken.name)
    on = [activity.threshold for activity in manifest.activities]
    found = evaluation.evaluate(predict(*learning.packed()), learning, on)
    missing = evaluation.robustness(predict, learning, on) if robustness else None
    if plot is not None:
        from thinking_policy.training.evaluation_plot import draw_evaluation

        draw_evaluation(plot, found, missing, f'{policy.name} on {Path(taken.name).name}')
    if as_json:
        answer = {'policy': str(policy), 'version': manifest.version, 'data': taken.name}
        more = {'robustness': missing} if missing else {}
        print(json.dumps({**answer, **found.to_dict(), **more}))
        return
    for line in taken.lines:
        print(line)
    print_scores(found, f'{policy.name} (version {manifest.version}) on {len(learning)} rows')
    if missing:
        print_robustness(missing)
    if plot is not None:
        print(f'{plot}: written')


def _check_plot(plot: Path, read: Sequence[Path], force: bool) -> None:
    """Refuse a picture that can't be drawn, before anything is computed.

    Raises:
        ThinkingPolicyError: The name of another file, or of a folder that isn't there.
        ImportError: There is no matplotlib.
    """
    import matplotlib  # noqa: F401  # so that what is missing is said at once

    if not plot.parent.is_dir():
        raise ThinkingPolicyError(f'{plot}: no such folder: {plot.parent}; make it first')
    fitting.check_free(plot, read, force)
    if plot.suffix.lower() != '.png':
        raise ThinkingPolicyError(f'{plot}: expected a name that ends with .png')
