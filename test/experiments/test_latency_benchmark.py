# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The latency benchmark in small: every contender of the table, the targets, the files."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from thinking_policy.experiments.timing import Protocol

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / 'benchmarks'))
    for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
        monkeypatch.setenv(name, '1')  # it sets them; here they are put back
    for name in ('inference', 'latency', 'machine'):
        sys.modules.pop(name, None)
    return importlib.import_module


@pytest.mark.slow
def test_all_contenders_are_timed_and_compared(benchmark, tmp_path):
    inference, latency = benchmark('inference'), benchmark('latency')
    protocol = Protocol(warm=2, settle=1, in_a_row=2, slept=1, batched=1, batch=4, sleep_s=0.0)
    found = inference.measure_inference(ROOT / 'config' / 'policy.onnx', protocol, (100, 200))
    retrieval = {
        f'{name}, {count}'
        for count in (100, 200)
        for name in (
            'Sequence-RAG, flat',
            'Sequence-RAG, HNSW',
            'HNSW search alone',
            'Summary-RAG',
        )
    }
    assert set(found['timings']) == retrieval | {
        'identity graph',
        'robot policy, ONNX Runtime',
        'robot policy, whole',
        'reference policy, ONNX Runtime',
        'reference policy, torch',
    }
    for states in found['timings'].values():
        for state in ('warm', 'after sleep'):
            assert 0 < states[state]['p50'] <= states[state]['p99']
    timings = found['timings']
    assert 'batched' not in timings['robot policy, whole']
    assert (
        timings['reference policy, torch']['warm']['p50']
        > timings['identity graph']['warm']['p50']
    )
    assert [s['recall@4'] >= 0.75 for s in found['hnsw'].values()] == [True, True]

    # A table with known figures: one millisecond for the floor, two and a half for the network.
    for states in timings.values():
        for state in states:
            states[state] = {'p50': 1000.0, 'p99': 2000.0}
    timings['robot policy, ONNX Runtime']['warm']['p50'] = 2500.0
    table = inference.table(found)
    assert '| robot policy, ONNX Runtime | 2.5000 | 2.0000 | 2.50 | 2.50 | 1.0000 |' in table
    assert 'ONNX Runtime: 2.5 times the identity graph, at most 3.0 wanted: reached' in table
    assert 'ONNX Runtime: 2.5 times HNSW at 200, at most 0.7 wanted: not reached' in table

    latency.write(tmp_path, {'machine': latency.machine(), 'quick': True, 'x': found}, [table])
    assert 'not for comparing' in (tmp_path / 'latency.md').read_text()
    assert json.loads((tmp_path / 'latency.json').read_text())['x']['histories'] == [100, 200]
