# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The candidates for a robot's network, and how the comparison judges them."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from thinking_policy.experiments.ordering import draw_sets
from thinking_policy.experiments.timing import IDENTITY, Protocol
from thinking_policy.training.export import predictor

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def architectures(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / 'benchmarks'))
    for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
        monkeypatch.setenv(name, '1')  # it sets them; here they are put back
    for name in ('architectures', 'candidates', 'machine', 'storing'):
        sys.modules.pop(name, None)
    return importlib.import_module('architectures')


def test_every_candidate_reads_the_packed_window_and_can_be_exported(architectures):
    rows = np.random.default_rng(0).random((5, 140), np.float32)
    for name, make in architectures.candidates().items():
        network = architectures.untrained(make, 10, 7, 8)
        with torch.no_grad():
            wanted = torch.sigmoid(network(torch.from_numpy(rows))).numpy()
        found = predictor(architectures.exported(network, 'float32'))(rows)
        assert found == pytest.approx(wanted, abs=1e-5), name


def test_models_are_judged_whole_and_with_half_of_the_samples_lost(architectures):
    """A model that says 'yes' where the first signal's last sample is seen, else 'no'."""

    class Seen(torch.nn.Module):
        def forward(self, signals):
            return (signals[:, 70 + 63 :][:, :1] - 0.5).repeat(1, 8) * 20

    test = draw_sets(100, 4, 400).test
    test = dataclasses.replace(test, labels=np.ones_like(test.labels))
    whole, half = architectures.judge(architectures.exported(Seen()), test)
    assert whole == 1.0
    # Precision 1, recall a half: F1 two thirds.
    assert half == pytest.approx(2 / 3, abs=0.05)


def test_nodes_and_times_tell_a_perceptron_from_a_recurrent_network(architectures):
    made = architectures.candidates()
    models = {
        name: architectures.exported(architectures.untrained(made[name], 10, 7, 8))
        for name in ('perceptron 64-64', architectures.CHOSEN, 'GRU, 48')
    }
    nodes = {name: architectures.nodes_when_loaded(model) for name, model in models.items()}
    assert nodes['perceptron 64-64'] == 3
    assert nodes[architectures.CHOSEN] == 11
    times = architectures.timed(models, Protocol(warm=20, slept=0, batched=0, batch=1))
    assert times[IDENTITY] < times['perceptron 64-64'] < times['GRU, 48']
