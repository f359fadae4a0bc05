# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Which experiments there are; none is imported before it is asked for."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from thinking_policy.experiments.errors import ExperimentError
from thinking_policy.experiments.experiment import Experiment


@dataclass(frozen=True)
class Entry:
    """Where an experiment's `EXPERIMENT` is, its number in the paper, and what it asks."""

    module: str
    number: str
    asks: str


EXPERIMENTS = {
    'scalability': Entry(
        'thinking_policy.experiments.scalability',
        '1',
        'Can a policy of fixed size replace a history that grows?',
    ),
    'ordering': Entry(
        'thinking_policy.experiments.ordering',
        '2',
        'Does it learn a rule that lies in the order of observations alone?',
    ),
    'evolution': Entry(
        'thinking_policy.experiments.evolution',
        '3',
        'Does it matter how a state was reached?',
    ),
    'rare': Entry(
        'thinking_policy.experiments.rare',
        '5',
        'How is a rare kind of situation learned as a history grows?',
    ),
    'robustness': Entry(
        'thinking_policy.experiments.robustness',
        '–',
        'What is left of a policy where samples, beginnings or signals are missing?',
    ),
    'novelty': Entry(
        'thinking_policy.experiments.novelty',
        '–',
        'Does a robot that was calibrated on 400 s notice that something is wrong? (--data)',
    ),
}


def load(name: str) -> Experiment:
    """Return an experiment by name.

    Raises:
        ExperimentError: There is none of that name.
        ImportError: Something that it needs is not installed.
    """
    entry = EXPERIMENTS.get(name)
    if entry is None:
        raise ExperimentError(
            f'there is no experiment {name!r}; expected one of {", ".join(EXPERIMENTS)}'
        )
    experiment: Experiment = importlib.import_module(entry.module).EXPERIMENT
    return experiment
