# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a person would not notice in a YAML file is refused with the place."""

from __future__ import annotations

import pytest

from thinking_policy.situation.errors import SituationError
from thinking_policy.situation.robot_file import load_configuration
from thinking_policy.situation.yaml_file import LARGEST_BYTES, read_yaml


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('a: 1\nb: 2\na: 3\n', "'a' stands there twice in line 3, column 1"),
        ('a: {b: 1, b: 2}\n', "'b' stands there twice in line 1, column 11"),
        ('a: &x [1]\nb: *x\n', r'aliases such as \*x are not allowed in line 2, column 4'),
        ('a: 2001-13-45\n', 'month must be in 1..12'),
        ('a:\n\tb: 1\n', 'cannot start any token'),
        ('[' * 20_000, 'nested too deep'),
        ('# ' + 'x' * LARGEST_BYTES, 'larger than 1 MiB'),
        (b'\xff\xfe', "can't decode byte 0xff"),
        (b'\x00', 'special characters are not allowed'),
        ('!!python/name:os.system', 'could not determine a constructor'),
    ],
)
def test_the_reason_is_one_line_with_the_file(text, reason, tmp_path):
    path = tmp_path / 'a.yaml'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SituationError, match=reason) as caught:
        read_yaml(path, SituationError)
    assert str(caught.value).startswith(f'{path}: not a readable YAML file: ')
    assert '\n' not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(SituationError, match='expected a file'):
        read_yaml(tmp_path, SituationError)
    with pytest.raises(SituationError, match='no such file'):
        read_yaml(tmp_path / 'none.yaml', SituationError)


def test_a_sound_file_is_read(tmp_path):
    path = tmp_path / 'a.yaml'
    path.write_text('a: {b: [1, 2.5, .nan], c: ä}\n<<: {d: true}\n', encoding='utf-8')
    found = read_yaml(path, SituationError)
    assert (found['a']['b'][:2], found['a']['c'], found['d']) == ([1, 2.5], 'ä', True)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('thinking_polcy: {ros__parameters: {a: 1}}', 'found the sections thinking_polcy'),
        ('- a', 'found no section'),
        (
            'thinking_policy: {ros__parameters: {tick_perod_s: 1.0}}',
            "unknown key 'tick_perod_s'; did you mean 'tick_period_s'?",
        ),
    ],
)
def test_a_slip_in_a_robot_file_is_named(text, reason, tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(text)
    with pytest.raises(SituationError) as caught:
        load_configuration(path)
    assert reason in str(caught.value)


def test_the_nodes_own_parameters_are_left_alone(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text('thinking_policy: {ros__parameters: {policy_path: x, window_length: 3}}')
    assert load_configuration(path).window_length == 3
