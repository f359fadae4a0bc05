# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The list of kinds of thinking, as a person writes it."""

from __future__ import annotations

import pytest

from thinking_policy.policy import (
    PolicyError,
    ThinkingActivity,
    load_activities,
    with_thresholds,
)

GOOD = """
activities:
  - id: hazard
    title: Expect harm
    directive: >-
      Name what could be
      damaged.
    threshold: 0.7
    threshold_off: 0.2
  - {id: trend, title: Watch, directive: Look back., threshold: 0.6}
  - {id: cause, title: Why, directive: Find out.}
"""


def written(tmp_path, text):
    path = tmp_path / 'thinking.yaml'
    path.write_text(text)
    return path


def test_a_list_is_read_with_defaults(tmp_path):
    assert load_activities(written(tmp_path, GOOD)) == (
        ThinkingActivity('hazard', 'Expect harm', 'Name what could be damaged.', 0.7, 0.2),
        ThinkingActivity('trend', 'Watch', 'Look back.', 0.6, pytest.approx(0.45)),
        ThinkingActivity('cause', 'Why', 'Find out.', 0.5, 0.35),
    )


@pytest.mark.parametrize(
    ('entry', 'expected'),
    [
        ('{title: A, directive: B.}', 'activities[0].id: expected text, found None'),
        ('{id: Big Name, title: A, directive: B.}', "found 'Big Name'"),
        ('{id: a, title: A, directive: ""}', 'activities[0].directive'),
        ('{id: a, title: A, directive: B., threshold: high}', "found 'high'"),
        ('{id: a, title: A, directive: B., threshold: true}', 'found True'),
        (f'{{id: a, title: A, directive: B., threshold: -{"9" * 400}}}', 'found -999'),
        ('{id: a, title: A, directive: B., threshold: 1.5}', 'found threshold 1.5'),
        (
            '{id: a, title: A, directive: B., threshold: 0.3, threshold_off: 0.4}',
            'threshold_off 0.4',
        ),
        ('{id: a, title: A, directive: B., treshold: 0.3}', "unknown key 'treshold'"),
        ('just text', "found 'just text'"),
        ('{id: a, title: A, directive: B.}\n  - {id: a, title: A, directive: B.}', 'twice'),
    ],
)
def test_a_wrong_entry_is_named(tmp_path, entry, expected):
    path = written(tmp_path, f'activities:\n  - {entry}\n')
    with pytest.raises(PolicyError) as caught:
        load_activities(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize('text', ['', '[]', 'activities: []', 'a: [', 'activities: 3'])
def test_a_file_without_a_list_is_refused_in_one_line(tmp_path, text):
    with pytest.raises(PolicyError) as caught:
        load_activities(written(tmp_path, text))
    assert '\n' not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(PolicyError, match=r'none\.yaml'):
        load_activities(tmp_path / 'none.yaml')


ACTIVITIES = (ThinkingActivity('a', 'A', 'A.', 0.5, 0.25), ThinkingActivity('b', 'B', 'B.'))


def test_another_on_threshold_takes_the_off_threshold_along():
    changed = with_thresholds(ACTIVITIES, {'a': 0.75}, {})
    assert (changed[0].threshold, changed[0].threshold_off) == (0.75, 0.5)
    assert changed[1] == ACTIVITIES[1]


def test_both_thresholds_can_be_given():
    changed = with_thresholds(ACTIVITIES, {'a': 0.75}, {'a': 0.1})
    assert (changed[0].threshold, changed[0].threshold_off) == (0.75, 0.1)


def test_thresholds_of_an_unknown_activity_are_refused():
    with pytest.raises(PolicyError, match=r"unknown activity 'c'; the policy has \['a', 'b'\]"):
        with_thresholds(ACTIVITIES, {'c': 0.5}, {})


def test_thresholds_out_of_range_are_refused():
    with pytest.raises(PolicyError, match=r'threshold 1\.5'):
        with_thresholds(ACTIVITIES, {'a': 1.5}, {})
