# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Definitions that ask for too much are left out and said."""

from __future__ import annotations

from collections import Counter

import pytest

from thinking_policy.bags.definition_limits import excess, workable
from thinking_policy.bags.storage import Definition

RULE = '=' * 80 + '\n'
DOUBLED = ''.join(f'{RULE}MSG: o/L{i}\no/L{i + 1} a\no/L{i + 1} b\n' for i in range(30))


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        (f'o/E[4000000000] e\n{RULE}MSG: o/E\n', '4,000,000,000 elements'),
        (f'o/P[300] p\n{RULE}MSG: o/P\nstring[400] names\n', '120,000 elements'),
        ('o/L0 a\n' + DOUBLED + f'{RULE}MSG: o/L30\nfloat64 x\n', '1,073,741,824 elements'),
        (f'o/E[] e\n{RULE}MSG: o/E\n# nothing\n', 'elements that take no bytes'),
        (f'o/A a\n{RULE}MSG: o/A\no/A[] a\n', 'contain themselves'),
        ('\n'.join(f'float64 f{i}' for i in range(5001)), '5,001 lines'),
    ],
    ids=['array', 'arrays in arrays', 'doubled', 'of nothing', 'circle', 'long'],
)
def test_what_asks_for_too_much_is_named(text, why):
    assert why in excess(Definition('a/msg/A', 'ros1msg', text))


@pytest.mark.parametrize(
    'text',
    [
        '',
        'Header header\nuint8[100000000] data\nint8 BIG=5\n# o/E[4000000000] e\n',
        f'o/P[] p\nstring[] s\n{RULE}MSG: o/P\nfloat64[36] covariance\nduration d\n',
        '#\n' * 100_000,
    ],
    ids=['empty', 'numbers', 'sequences', 'comments'],
)
def test_what_robots_record_is_not_too_much(text):
    assert excess(Definition('a/msg/A', 'ros1msg', text)) == ''


def test_only_ros1_goes_through_all_elements():
    assert excess(Definition('a/msg/A', 'ros2msg', 'string[4000000000] a\n')) == ''


def test_what_is_left_out_is_counted():
    good = Definition('a/msg/A', 'ros2msg', 'float64 x\n')
    long = Definition('a/msg/B', 'ros2msg', 'float64 x\n' * 6000)
    problems = Counter()
    assert list(workable([good, long], 'a.mcap', problems)) == [good]
    assert problems == {
        'a.mcap: definition of a/msg/B left out: 6,000 lines, at most 5,000 are read': 1
    }
