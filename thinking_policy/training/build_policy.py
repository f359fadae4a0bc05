# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Build the bundled policy: `python -m thinking_policy.training.build_policy --seed 0 -o FILE`.

The same seed gives the same bytes with the same versions of numpy, torch and onnx on the same
kind of processor.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thinking_policy import ThinkingPolicyError
from thinking_policy.policy.activities import load_activities
from thinking_policy.policy.errors import PolicyError
from thinking_policy.policy.manifest import Manifest
from thinking_policy.policy.runtime import PolicyRuntime
from thinking_policy.shipped import config_folder
from thinking_policy.training import fit as fitting
from thinking_policy.training.export import assemble, export_graph, predictor, write_artifact
from thinking_policy.training.lives import WINDOW_LENGTH, draw_learning_set
from thinking_policy.training.networks import RobotPolicy, count_parameters
from thinking_policy.training.progress import shown
from thinking_policy.training.recipe import Augmentation, Recipe
from thinking_policy.training.scenarios import ACTIVITIES, SIGNAL_NAMES, TICK_S
from thinking_policy.training.source_date import iso_time, source_date
from thinking_policy.training.train import CREATED, network_name, recipe_numbers
from thinking_policy.training.watched_lives import choose_for_lives, measure, watch_lives

RECIPE = Recipe(
    steps=10_000,
    batch=1024,
    # Far above the usual: what lags behind what is learned late, and below 5e-3 hardly at all.
    learning_rate=8e-3,
    # On top of what the lives lose themselves: other samples at every sight of a row.
    augmentation=Augmentation(offset=0.02, gain=0.05, noise=0.01, drop=0.5),
)
_TICKS = 100


@dataclass(frozen=True)
class Plan:
    """How much work a build is.

    Attributes:
        seed: Decides everything.
        lives: Lives to learn from, of 100 ticks each.
        steps: Optimiser steps.
        judged: Lives for each scenario to choose thresholds on, and as many to measure on.
        width: Units of each hidden layer.
    """

    seed: int = 0
    lives: int = 5000
    steps: int = RECIPE.steps
    judged: int = 60
    width: int = RobotPolicy.WIDTH


def build(
    plan: Plan,
    activities_path: Path,
    created: str = CREATED,
    progress: fitting.Progress | None = None,
) -> tuple[bytes, Manifest]:
    """Simulate, fit, choose thresholds, measure and export.

    Args:
        plan: How much.
        activities_path: Such as `config/thinking.yaml`; its ids are those of the simulator.
        created: ISO 8601 time for the manifest.
        progress: Called while fitting.

    Returns:
        The bytes of the policy file and its manifest.

    Raises:
        PolicyError: The activities can't be used.
    """
    activities = load_activities(activities_path)
    if tuple(activity.id for activity in activities) != ACTIVITIES:
        raise PolicyError(
            f'{activities_path}: the simulator knows {list(ACTIVITIES)}, in this order; found '
            f'{[activity.id for activity in activities]}'
        )
    # Lives to learn from, to choose on and to measure on never share a robot.
    learning, choosing, measuring = (
        np.random.default_rng(s) for s in np.random.SeedSequence(plan.seed).spawn(3)
    )
    fitting.make_deterministic(plan.seed)
    rows = draw_learning_set(plan.lives, _TICKS, learning)
    network = RobotPolicy(WINDOW_LENGTH, len(SIGNAL_NAMES), len(ACTIVITIES), plan.width)
    recipe = dataclasses.replace(RECIPE, steps=plan.steps, seed=plan.seed)
    fitting.fit(network, rows, recipe, progress=progress)
    graph = export_graph(network, rows.specs)
    predict = predictor(graph)
    activities = choose_for_lives(activities, watch_lives(predict, plan.judged, _TICKS, choosing))
    metrics = measure(activities, watch_lives(predict, plan.judged, _TICKS, measuring))
    return assemble(
        graph,
        Manifest(
            robot='simulated',
            signals=rows.signals,
            window_length=WINDOW_LENGTH,
            tick_period_s=TICK_S,
            activities=activities,
            inputs=rows.specs,
            network=network_name(network),
            parameters=count_parameters(network),
            training_data_sha256=rows.sha256,
            training={'lives': plan.lives, **recipe_numbers(recipe)},
            metrics=metrics,
            created=created,
        ),
    )


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m thinking_policy.training.build_policy',
        description='Train the bundled policy in the simulator and write it as one file.',
        epilog='example: python -m thinking_policy.training.build_policy --seed 0 '
        '-o config/policy.onnx',
    )
    default = Plan()
    parser.add_argument('-o', '--output', type=Path, required=True, help='file to write')
    parser.add_argument('--seed', type=int, default=default.seed, help='decides everything')
    parser.add_argument(
        '--activities',
        type=Path,
        help='the kinds of thinking (default: the shipped thinking.yaml)',
    )
    parser.add_argument(
        '--lives',
        type=int,
        default=default.lives,
        help='simulated lives to learn from (default: %(default)s)',
    )
    parser.add_argument(
        '--steps', type=int, default=default.steps, help='optimiser steps (default: %(default)s)'
    )
    parser.add_argument(
        '--judged',
        type=int,
        default=default.judged,
        help='lives for each scenario to choose thresholds on (default: %(default)s)',
    )
    parser.add_argument(
        '--created',
        help=f'time written into the file (default: SOURCE_DATE_EPOCH, or {CREATED})',
    )
    given = parser.parse_args(arguments)
    start = time.monotonic()
    try:
        created = given.created or _created()
        activities = given.activities or config_folder() / 'thinking.yaml'
        with shown('simulating', sys.stdout) as progress:
            data, manifest = build(
                Plan(given.seed, given.lives, given.steps, given.judged),
                activities,
                created,
                progress,
            )
        write_artifact(given.output, data)
        PolicyRuntime.load(given.output)
    except ThinkingPolicyError as error:
        print(error, file=sys.stderr)
        return 2
    quietest = max(v for k, v in manifest.metrics.items() if k.startswith('healthy_active.'))
    print(
        f'{given.output}: {len(data)} bytes, version {manifest.version}, F1 '
        f'{manifest.metrics["f1"]:.3f}, at most {quietest:.2%} of healthy time active, '
        f'{time.monotonic() - start:.0f} s'
    )
    return 0


def _created() -> str:
    seconds = source_date()
    return CREATED if seconds is None else iso_time(seconds)


if __name__ == '__main__':
    sys.exit(main())
