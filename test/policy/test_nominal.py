# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Nominal ranges from a stretch in which the robot was normal."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.policy.nominal import nominal_ranges
from thinking_policy.situation import SignalConfig, SituationConfig


def ranges(*columns, topic='/a'):
    config = SituationConfig(
        signals=tuple(
            SignalConfig(name=f's{i}', topic=topic, nominal_low=-7.0, nominal_high=7.0)
            for i in range(len(columns))
        )
    )
    found = nominal_ranges(config, np.column_stack(columns))
    return found, [(s.nominal_low, s.nominal_high) for s in found.config.signals]


def test_noise_gets_three_standard_deviations_to_either_side():
    values = 20.0 + 2.0 * np.random.default_rng(100).standard_normal(50_000)
    found, [(low, high)] = ranges(values)
    assert (low, high) == pytest.approx((14.1, 25.9), abs=0.15)
    assert (found.values, found.problems) == ({'s0': 50_000}, {})


def test_a_few_wild_values_do_not_move_it():
    values = np.random.default_rng(100).uniform(0.0, 1.0, 1_000)
    _, [before] = ranges(values)
    values[::100] = 1e6
    _, [after] = ranges(values)
    assert after == pytest.approx(before, abs=0.03)


def test_what_does_not_move_or_hardly_came_keeps_its_range_and_says_why():
    still = np.full(100, 3.25)
    rare = np.full(100, np.nan)
    rare[:39] = np.arange(39)
    found, both = ranges(still, rare)
    assert both == [(-7.0, 7.0), (-7.0, 7.0)]
    assert found.problems == {
        's0': 'it did not move from 3.25',
        's1': '39 usable values, at least 40 are needed',
    }
    assert ranges(still, topic='')[0].problems == {'s0': 'this robot has no such signal'}


@pytest.mark.parametrize('scale', [1e-4, 1.0, 1e5])
def test_it_is_written_with_as_many_digits_as_mean_something(scale):
    values = scale * np.random.default_rng(100).uniform(1.0, 2.0, 500)
    _, [(low, high)] = ranges(values)
    assert len(f'{low / scale:.10f}'.rstrip('0').replace('.', '').lstrip('-0')) <= 5
    assert high - low == pytest.approx(1.43 * scale, rel=0.05)


def test_a_value_that_is_kept_till_the_next_sample_counts_once():
    config = SituationConfig(signals=(SignalConfig(name='a', topic='/a', period_ticks=10),))
    values = np.repeat(np.arange(39.0), 10)[:, None]
    assert nominal_ranges(config, values).problems == {
        'a': '39 usable values, at least 40 are needed'
    }
    assert nominal_ranges(config, np.vstack([values, [[39.0]]])).values == {'a': 40}
