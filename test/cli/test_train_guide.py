# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/train_from_bags.md on tables like the pump's, from end to end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thinking_policy.cli.main import main
from thinking_policy.policy import PolicyRuntime
from thinking_policy.shipped import config_folder
from thinking_policy.situation import load_configuration

pytest.importorskip('torch')
pytest.importorskip('rosbags')

COLUMNS = (
    'Accelerometer1RMS',
    'Accelerometer2RMS',
    'Current',
    'Pressure',
    'Temperature',
    'Thermocouple',
    'Voltage',
    'Volume Flow RateRMS',
    'anomaly',
    'changepoint',
)


def test_the_guide_runs_from_tables_to_a_policy_that_the_robot_loads(
    tmp_path, monkeypatch, capsys
):
    """Tables as SKAB's, the shipped files, the commands of docs/train_from_bags.md."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(7)
    for run in range(4):
        lines = [';'.join(('datetime', *COLUMNS))]
        for second in range(120):
            wrong = 60 <= second < 100
            noise = random.standard_normal(8) * 0.01
            values = (
                np.array([0.027, 0.04, 1.0, 0.05, 75.0, 25.0, 230.0, 32.0 - 5 * wrong]) + noise
            )
            stamp = f'2020-03-0{run + 1} 10:{second // 60:02d}:{second % 60:02d}'
            numbers = (*(f'{value:.4f}' for value in values), f'{wrong:.1f}', '0.0')
            lines.append(';'.join((stamp, *numbers)))
        (tmp_path / f'{run}.csv').write_text('\n'.join(lines))
    outcomes = config_folder() / 'labels/robots/skab_outcomes.yaml'
    common = ('--config', str(outcomes), '--rules', 'skab_outcomes')
    for words in (
        ('bag', 'from-csv', '0.csv', '1.csv', '2.csv', '--map', 'skab', '-o', 'train'),
        ('bag', 'from-csv', '3.csv', '--map', 'skab', '-o', 'bags_test/3'),
        ('label', 'train', *common, '-o', 'train.csv'),
        ('label', 'bags_test', *common, '-o', 'test.csv'),
        ('train', 'train', '--config', 'skab', '--labels', 'train.csv', '--robot', 'pump',
         '--steps', '100', '-o', 'policy.onnx'),
    ):  # fmt: skip
        assert main([*words]) == 0, words
    runtime = PolicyRuntime.load(
        tmp_path / 'policy.onnx', config=load_configuration(config_folder() / 'robots/skab.yaml')
    )
    assert 'anomaly' not in [signal.name for signal in runtime.manifest.signals]
    assert [activity.id for activity in runtime.manifest.activities] == ['hazard', 'cause']
    capsys.readouterr()
    given = ('--config', 'skab', '--labels', 'test.csv', '--json')
    assert main(['evaluate', 'policy.onnx', 'bags_test', *given]) == 0
    assert json.loads(capsys.readouterr().out)['overall']['f1'] > 0.9
    assert (
        main(['bag', 'replay-policy', 'policy.onnx', 'bags_test', '--config', 'skab', '--json'])
        == 0
    )
    (span,) = json.loads(capsys.readouterr().out)['spans']['hazard']
    begins = 60 + 1_583_316_000  # 2020-03-04 10:00:00
    assert begins <= span['start_ns'] // 10**9 <= begins + 10
