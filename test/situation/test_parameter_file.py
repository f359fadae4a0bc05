# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers are changed in a file that people wrote; nothing else is."""

from __future__ import annotations

import math

import pytest

from thinking_policy.shipped import config_folder
from thinking_policy.situation import load_configuration
from thinking_policy.situation.parameter_file import as_yaml, with_signal_numbers

NESTED = """\
# my robot
/**/thinking_policy:
  ros__parameters:
    signal_names: [a, b]   # in order
    signals:
      a:
        topic: /a
        nominal_low: 0     # idle
        nominal_high: 8.0  # full load

        stale_s: 1.0
      b: {topic: '', nominal_high: 4.0}
"""


def test_numbers_are_replaced_and_comments_stay():
    changed = with_signal_numbers(NESTED, {'a': {'nominal_low': -1.5, 'nominal_high': 1e-5}})
    assert changed == NESTED.replace('low: 0  ', 'low: -1.5  ').replace('8.0', '1.0e-05')


def test_numbers_that_are_not_there_are_added_below_the_range():
    changed = with_signal_numbers(NESTED, {'a': {'baseline_mean': 2.0, 'baseline_spread': 0.5}})
    added = '        baseline_mean: 2.0\n        baseline_spread: 0.5\n'
    assert changed == NESTED.replace('# full load\n', '# full load\n' + added)


def test_a_signal_in_one_line_stays_in_one_line():
    changed = with_signal_numbers(NESTED, {'b': {'nominal_low': -2.0, 'nominal_high': 5.0}})
    assert changed == NESTED.replace('nominal_high: 4.0}', 'nominal_high: 5.0, nominal_low: -2.0}')


def test_names_with_dots_are_known():
    text = """\
thinking_policy:
  ros__parameters:
    signals.a.topic: /a
    signals.a.nominal_high: 3.0
    signals:
      b.topic: /b"""
    changed = with_signal_numbers(
        text, {'a': {'nominal_high': 4.0, 'baseline_mean': 1.0}, 'b': {'baseline_mean': 2.0}}
    )
    assert (
        changed
        == text.replace('3.0', '4.0\n    signals.a.baseline_mean: 1.0')
        + '\n      b.baseline_mean: 2.0'
    )


def test_the_section_that_counts_is_changed():
    text = """\
/thinking_policy:
  ros__parameters: {signals: {a: {nominal_high: 1.0}}}
/**:
  ros__parameters: {signals: {a: {nominal_high: 2.0}}}
/other:
  ros__parameters: {signals: {a: {nominal_high: 3.0}}}
"""
    changed = with_signal_numbers(text, {'a': {'nominal_high': 9.0}})
    assert changed == text.replace('1.0', '9.0')


def test_only_sections_for_the_namespace_are_changed():
    text = """\
/robot1/thinking_policy:
  ros__parameters: {signals: {a: {nominal_high: 1.0}}}
/robot2/thinking_policy:
  ros__parameters: {signals: {a: {nominal_high: 2.0}}}
"""
    changed = with_signal_numbers(text, {'a': {'nominal_high': 9.0}}, 'robot1')
    assert changed == text.replace('1.0', '9.0')


@pytest.mark.parametrize('last', ['sentinels:\n        - -1.0\n', 'field: >-\n          data\n'])
def test_a_number_is_added_above_what_goes_over_several_lines(last):
    text = f"""\
/**:
  ros__parameters:
    signals:
      a:
        {last}      b: {{topic: /b}}
"""
    changed = with_signal_numbers(text, {'a': {'nominal_low': 1.0, 'nominal_high': 9.0}})
    added = 'nominal_low: 1.0\n        nominal_high: 9.0\n        '
    assert changed == text.replace(last, added + last)


def test_a_signal_without_settings_is_an_error():
    with pytest.raises(KeyError, match='c'):
        with_signal_numbers(NESTED, {'c': {'nominal_low': 0.0}})


@pytest.mark.parametrize('name', sorted(p.stem for p in (config_folder() / 'robots').glob('*')))
def test_every_shipped_robot_can_be_changed(name, tmp_path):
    path = config_folder() / 'robots' / f'{name}.yaml'
    config = load_configuration(path)
    numbers = {
        signal.name: {'nominal_low': -3.0, 'baseline_mean': 1e-7, 'baseline_spread': 1e9}
        for signal in config.signals
    }
    changed = tmp_path / 'changed.yaml'
    changed.write_text(with_signal_numbers(path.read_text(), numbers))
    for before, after in zip(config.signals, load_configuration(changed).signals, strict=True):
        assert (after.nominal_low, after.baseline_mean, after.baseline_spread) == (-3.0, 1e-7, 1e9)
        assert (after.topic, after.nominal_high) == (before.topic, before.nominal_high)


def test_numbers_are_written_as_ros_reads_them():
    assert [as_yaml(v) for v in (1, 1e-5, 1e20, math.nan)] == ['1.0', '1.0e-05', '1.0e+20', '.nan']
