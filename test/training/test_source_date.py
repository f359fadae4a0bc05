# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""SOURCE_DATE_EPOCH is taken as it is, or refused; never ignored."""

from __future__ import annotations

import subprocess
import sys

import pytest

from thinking_policy.training.errors import LearningError
from thinking_policy.training.source_date import iso_time, source_date


@pytest.mark.parametrize(
    ('said', 'time'),
    [
        ('0', '1970-01-01T00:00:00Z'),
        ('1700000000', '2023-11-14T22:13:20Z'),
        ('253402300799', '9999-12-31T23:59:59Z'),
    ],
)
def test_seconds_are_taken(monkeypatch, said, time):
    monkeypatch.setenv('SOURCE_DATE_EPOCH', said)
    assert iso_time(source_date()) == time


@pytest.mark.parametrize('said', ['²', 'yesterday', '-1', '1.5', ' 5', '253402300800', '9' * 5000])
def test_anything_else_is_refused(monkeypatch, said):
    monkeypatch.setenv('SOURCE_DATE_EPOCH', said)
    with pytest.raises(LearningError, match='SOURCE_DATE_EPOCH: expected seconds since 1970'):
        source_date()


def test_unset_or_empty_asks_for_nothing(monkeypatch):
    monkeypatch.delenv('SOURCE_DATE_EPOCH', raising=False)
    assert source_date() is None
    monkeypatch.setenv('SOURCE_DATE_EPOCH', '')
    assert source_date() is None


@pytest.mark.parametrize('said', ['²', '99999999999999'])
def test_the_build_says_so_before_it_simulates(monkeypatch, tmp_path, said):
    pytest.importorskip('torch')
    monkeypatch.setenv('SOURCE_DATE_EPOCH', said)
    command = [sys.executable, '-m', 'thinking_policy.training.build_policy', '-o', 'p.onnx']
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith('SOURCE_DATE_EPOCH: expected seconds')
    assert not list(tmp_path.iterdir())
