# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Building the bundled policy, with little work."""

from __future__ import annotations

import pytest

from thinking_policy.policy import PolicyError, PolicyRuntime, read_manifest
from thinking_policy.training.build_policy import CREATED, RECIPE, Plan, build, main
from thinking_policy.training.scenarios import ACTIVITIES, SIGNAL_NAMES

LITTLE = Plan(seed=101, lives=30, steps=60, judged=1, width=16)


@pytest.fixture(scope='module')
def built(activity_list):
    return build(LITTLE, activity_list)


def test_the_same_seed_gives_the_same_bytes(built, activity_list):
    assert build(LITTLE, activity_list)[0] == built[0]


def test_another_seed_gives_another_policy(built, activity_list):
    other = build(Plan(**{**vars(LITTLE), 'seed': 102}), activity_list)
    assert other[1].version != built[1].version


def test_the_file_describes_itself(built, tmp_path):
    path = tmp_path / 'policy.onnx'
    path.write_bytes(built[0])
    manifest = PolicyRuntime.load(path).manifest
    assert manifest == built[1]
    assert tuple(s.name for s in manifest.signals) == SIGNAL_NAMES
    assert tuple(a.id for a in manifest.activities) == ACTIVITIES
    assert manifest.created == CREATED
    assert {k: manifest.training[k] for k in ('seed', 'lives', 'steps')} == {
        'seed': 101,
        'lives': 30,
        'steps': 60,
    }
    assert manifest.training['drop'] == RECIPE.augmentation.drop
    assert manifest.event_vocabulary == ()
    assert {f'{what}.{name}' for name in ACTIVITIES for what in ('f1', 'ece')} <= set(
        manifest.metrics
    )


def test_from_the_command_line(tmp_path, activity_list, capsys, monkeypatch):
    monkeypatch.setenv('SOURCE_DATE_EPOCH', '1700000000')
    path = tmp_path / 'policy.onnx'
    code = main(
        [
            '-o',
            str(path),
            '--seed',
            '101',
            '--lives',
            '30',
            '--steps',
            '60',
            '--judged',
            '1',
            '--activities',
            str(activity_list),
        ]
    )
    out = capsys.readouterr().out
    assert code == 0
    assert 'step 60 of 60' in out
    assert read_manifest(path).version in out
    assert read_manifest(path).created == '2023-11-14T22:13:20Z'


def test_activities_that_the_simulator_does_not_know_are_refused(tmp_path):
    other = tmp_path / 'thinking.yaml'
    other.write_text('activities:\n  - {id: dream, title: Dream, directive: Dream.}\n')
    with pytest.raises(PolicyError, match=r"found \['dream'\]"):
        build(LITTLE, other)


def test_a_missing_list_is_said_in_one_line(tmp_path, capsys):
    code = main(['-o', str(tmp_path / 'p.onnx'), '--activities', str(tmp_path / 'none.yaml')])
    assert code == 2
    assert capsys.readouterr().err.count('\n') == 1
