# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiment 5: a rare kind of situation, and what must not be taken for it."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from thinking_policy.cli import main
from thinking_policy.experiments import rare
from thinking_policy.experiments.experiment import Options
from thinking_policy.experiments.rare_situations import (
    ACTIVITIES_OF,
    COMMON,
    NEAR_MISSES,
    RARE,
    draw_situations,
    patterns_of_history,
)
from thinking_policy.experiments.signals import ACTIVITIES, SIGNAL_NAMES, draw_identities

STRAINED = [SIGNAL_NAMES.index(name) for name in ('current', 'vibration', 'load')]


def drawn(pattern: str, count: int = 400) -> np.ndarray:
    random = np.random.default_rng(100)
    return draw_situations([pattern] * count, draw_identities(20, random), random).window


@pytest.mark.parametrize(
    ('history', 'found'),
    [(100, 4), (250, 10), (500, 20), (1000, 40), (2000, 80), (4000, 160), (8000, 320)],
)
def test_one_situation_in_25_is_the_rare_one(history, found):
    counts = Counter(patterns_of_history(history))
    assert counts[RARE] == found
    assert sum(counts[name] for name in NEAR_MISSES) == found
    common = [counts[name] for name in COMMON]
    assert max(common) - min(common) <= 1


def test_a_longer_history_begins_with_a_shorter_one():
    short, long = rare.sets_of(100, 100), rare.sets_of(100, 250)
    np.testing.assert_array_equal(short.history.window, long.history.window[:100])
    np.testing.assert_array_equal(short.stream.window, long.stream.window)


def test_the_rare_pattern_calls_for_what_the_paper_names():
    assert set(ACTIVITIES_OF[RARE]) == {
        'trend',
        'hazard',
        'cause',
        'future_impact',
        'information_seeking',
    }
    others = [ACTIVITIES_OF[name] for name in (*COMMON, *NEAR_MISSES)]
    assert all(any(name in names for names in others) for name in ACTIVITIES)
    assert all(set(names) != set(ACTIVITIES_OF[RARE]) for names in others)


def test_rare_situations_and_near_misses_look_normal_for_seven_samples():
    normal = drawn('normal')
    for name in (RARE, *NEAR_MISSES):
        # Neither the level nor the change up to there tells them from normal ones.
        change = (drawn(name)[:, 6] - drawn(name)[:, 0])[:, STRAINED]
        usual = (normal[:, 6] - normal[:, 0])[:, STRAINED]
        assert abs(change.mean() - usual.mean()) < 0.01
        assert change.std() == pytest.approx(usual.std(), rel=0.15)


def test_only_the_rare_pattern_accelerates():
    steps = np.diff(drawn(RARE)[:, 6:, STRAINED].mean(axis=(0, 2)))
    assert steps[0] > 0.02
    assert steps[1] > 2 * steps[0]
    assert steps[2] > 1.4 * steps[1]
    back = np.diff(drawn('returning')[:, 6:, STRAINED].mean(axis=(0, 2)))
    assert back[0] > 0.1
    assert back[1] < -0.05
    assert back[2] < -0.05
    unquiet = drawn('unquiet')[:, 7:, STRAINED]
    assert abs(unquiet.mean() - drawn('normal')[:, 7:, STRAINED].mean()) < 0.02
    assert unquiet.std(axis=1).mean() > 3 * drawn('normal')[:, 7:, STRAINED].std(axis=1).mean()


def test_what_the_threshold_is_chosen_on_holds_nothing_rare_and_no_row_of_the_others():
    sets = rare.sets_of(100, 250)
    five = sets.choosing.labels[:, [name in ACTIVITIES_OF[RARE] for name in ACTIVITIES]]
    assert not five.all(axis=1).any()
    assert (sets.patterns == RARE).mean() == 0.04
    firsts = [set(part.window[:, 0, 0].tolist()) for part in (sets.history, sets.choosing)]
    assert not firsts[0] & firsts[1]
    assert not (firsts[0] | firsts[1]) & set(sets.stream.window[:, 0, 0].tolist())


def test_a_threshold_leaves_at_most_the_share_that_is_allowed():
    sure = np.linspace(0, 1, 1001, dtype=np.float32)
    assert (sure > rare.threshold_for(sure, 0.01)).sum() == 10
    assert (np.ones(100) > rare.threshold_for(np.ones(100, np.float32), 0.01)).sum() == 0


def test_always_saying_the_same_wins_the_papers_test_and_loses_the_stream():
    sets = rare.sets_of(100, 100)
    five, eight = (
        rare.figures_of(rare._always(named), sets) for named in rare._BASELINES.values()
    )
    assert five['f1'] == 1.0
    assert eight['f1'] == pytest.approx(10 / 13)
    for figures in (five, eight):
        assert figures['found'] == figures['roc 0.01'] == 0.0
        assert figures['false at 0.5'] == 1.0
        assert figures['common f1'] < 0.5


def test_who_knows_finds_everything_and_names_nothing_falsely():
    sets = rare.sets_of(100, 100)
    figures = rare.figures_of(lambda rows: rows.labels, sets)
    assert figures['f1'] == figures['common f1'] == figures['near miss f1'] == 1.0
    assert figures['found'] == figures['found at 0.5'] == figures['roc 0.001'] == 1.0
    assert figures['false'] == figures['false at 0.5'] == 0.0


def test_the_plan_has_fresh_seeds_that_were_not_asked_for():
    cells = rare.plan(Options((0, 1, 2, 3, 4)))
    fresh = {cell.seed for cell in cells if cell.name.startswith('fresh')}
    assert fresh == set(range(5, 15))
    asked = [cell for cell in cells if not cell.name.startswith('fresh')]
    assert {cell.settings['history'] for cell in asked} == set(rare.HISTORIES)
    assert len(asked) == (7 * 3 + 2) * 5
    steps = {cell.part: set() for cell in cells}
    for cell in cells:
        steps[cell.part].add(cell.settings['recipe']['steps'])
    assert all(len(found) == 1 for found in steps.values())
    assert steps['plain'] == steps['better']
    assert steps['reference'] == steps['reference-better']


@pytest.mark.slow
def test_the_better_recipe_learns_from_four_examples_what_the_plain_one_does_not(tmp_path):
    assert main(['experiment', 'rare', '--quick', '--out', str(tmp_path)]) == 0
    content = json.loads((tmp_path / 'results.json').read_text())
    assert content['quick'] is True
    found = content['aggregates']

    def mean(name: str, method: str, metric: str = 'f1') -> float:
        return found[name][method][metric]['mean']

    for name in ('N100', 'N250'):
        assert mean(name, rare.BETTER) > mean(name, rare.PLAIN)
        assert mean(f'fresh-{name}', rare.BETTER) >= mean(f'fresh-{name}', rare.PLAIN)
        assert mean(name, rare.BETTER, 'common f1') >= mean(name, rare.PLAIN, 'common f1') - 0.01
        assert mean(name, rare.ALWAYS_FIVE) == 1.0
        assert mean(name, rare.ALL_EIGHT) == pytest.approx(0.769, abs=0.001)
    assert mean('N100', rare.BETTER) >= 0.95
    assert mean('N250', rare.BETTER) >= 0.98
    assert mean('N250', rare.BETTER, 'roc 0.01') >= 0.95
    assert mean('N250', rare.BETTER, 'found') >= 0.9
    assert mean('N250', rare.BETTER, 'false') <= 0.02
    assert (tmp_path / 'rare.png').read_bytes().startswith(b'\x89PNG')
    text = (tmp_path / 'table.md').read_text()
    assert text.startswith('# QUICK FORM')
    assert '0.777 ± 0.077' in text
