# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.situation.configuration import OVER_TIME, WITHIN_MESSAGE
from thinking_policy.situation.reductions import WITHIN, over_time

INF, NAN = math.inf, math.nan


def within(name, *numbers, bounds=()):
    with np.errstate(all='ignore'):
        return float(WITHIN[name](np.array([numbers]), bounds)[0])


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('norm', 13.0),
        ('mean', 19 / 3),
        ('min', 3.0),
        ('max', 12.0),
        ('rms', 13 / math.sqrt(3)),
        ('std', math.sqrt(((3 - 19 / 3) ** 2 + (4 - 19 / 3) ** 2 + (12 - 19 / 3) ** 2) / 3)),
        ('invalid_fraction', 0.0),
        ('range_min', 3.0),
    ],
)
def test_numbers_of_a_message_become_one(name, expected):
    assert within(name, 3.0, 4.0, 12.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('norm', NAN),  # a vector without one of its components has no length
        ('mean', 3.0),
        ('min', 2.0),
        ('max', 4.0),
        ('rms', math.sqrt(10)),
        ('std', 1.0),
        ('invalid_fraction', 0.5),
    ],
)
def test_unusable_numbers_are_left_out(name, expected):
    assert within(name, NAN, 2.0, INF, 4.0) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize('name', ['mean', 'min', 'max', 'rms', 'std'])
def test_nothing_usable_gives_nothing_finite(name):
    assert not math.isfinite(within(name, NAN, INF, -INF))


def test_every_configurable_reduction_exists():
    assert set(WITHIN_MESSAGE) == {'', 'count', *WITHIN}
    for name in OVER_TIME:
        over_time(name, np.array([1]), np.array([1.0]), np.array([0]))


def sample(name, *values, stamps=None, arrivals=None):
    stamps = np.arange(len(values)) if stamps is None else np.array(stamps)
    arrivals = np.zeros(len(values), np.int64) if arrivals is None else np.array(arrivals)
    return over_time(name, stamps.astype(np.int64), np.array(values, float), arrivals)


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('last', 2.0),
        ('mean', 4.0),
        ('min', 2.0),
        ('max', 6.0),
        ('rms', math.sqrt((36 + 16 + 4) / 3)),
        ('std', math.sqrt(8 / 3)),
        ('invalid_fraction', 0.25),
        ('count', 3.0),
    ],
)
def test_messages_of_a_period_become_one_sample(name, expected):
    assert sample(name, 6.0, 4.0, 2.0, NAN) == pytest.approx(expected)


def test_last_is_the_newest_usable_value_and_the_largest_of_equal_stamps():
    assert sample('last', 1.0, 2.0, 3.0, stamps=[30, 10, 20]) == 1.0
    assert sample('last', 1.0, 5.0, 3.0, NAN, stamps=[20, 20, 10, 30]) == 5.0


def test_last_is_what_arrived_last_where_stamps_are_equal_and_arrival_counts():
    assert sample('last', 9.0, 5.0, 3.0, stamps=[20, 20, 10], arrivals=[0, 1, 2]) == 5.0
    assert sample('last', 9.0, 5.0, NAN, stamps=[20, 20, 20], arrivals=[1, 0, 2]) == 9.0


def test_a_period_without_usable_messages_has_no_sample_but_a_share_of_invalid_ones():
    for name in set(OVER_TIME) - {'invalid_fraction'}:
        assert math.isnan(sample(name, NAN, NAN)), name
    assert sample('invalid_fraction', NAN, NAN) == 1.0


values = st.floats(-3.4e38, 3.4e38) | st.just(NAN)


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), values), min_size=1, max_size=30),
    random=st.randoms(use_true_random=False),
    name=st.sampled_from(OVER_TIME),
)
def test_no_order_of_arrival_changes_a_bit(rows, random, name):
    stamps, numbers = zip(*rows, strict=True)
    once = sample(name, *numbers, stamps=stamps)
    random.shuffle(rows)
    stamps, numbers = zip(*rows, strict=True)
    again = sample(name, *numbers, stamps=stamps)
    assert np.float64(once).tobytes() == np.float64(again).tobytes() or once == again == 0.0
    assert not math.isinf(once)


def shortest_by_rep_117(numbers, low, high):
    """Return the shortest distance, one number after the other."""
    inside = [n for n in numbers if low <= n <= high]
    inside += [low for n in numbers if n == -math.inf]
    if not inside and any(n == math.inf for n in numbers):
        return high
    return min(inside, default=math.inf)


@pytest.mark.parametrize('bounds', [(0.25, 8.0), (0.0, math.inf), (0.1, 8.0)])
@pytest.mark.parametrize('kind', [np.float32, np.float64])
def test_whole_scans_are_reduced_as_number_after_number(bounds, kind):
    random = np.random.default_rng(100)
    odd = (0.0, 0.1, 0.25, 8.0, 9.0, math.inf, -math.inf, math.nan)
    for share in (0.0, 0.3, 1.0):
        scans = random.uniform(0.2, 9.0, (60, 5)).astype(kind)
        replaced = random.random(scans.shape) < share
        scans[replaced] = random.choice(np.array(odd, kind), replaced.sum())
        low, high = (kind(bound) for bound in bounds)
        expected = [shortest_by_rep_117(scan.tolist(), low, high) for scan in scans]
        assert WITHIN['range_min'](scans.copy(), bounds).tolist() == expected
        usable = np.isfinite(scans) & (scans >= low) & (scans <= high)
        assert (
            WITHIN['invalid_fraction'](scans.copy(), bounds).tolist()
            == (1.0 - usable.sum(axis=1) / 5).tolist()
        )
