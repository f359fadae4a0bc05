# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Errors are all counted and seldom said."""

from __future__ import annotations

import pytest
from rclpy.logging import get_logger

from thinking_policy.ros.complaints import REPEAT_S, Complaints


class Log:
    def __init__(self):
        self.lines = []

    def error(self, line):
        self.lines.append(('error', line))

    def warning(self, line):
        self.lines.append(('warning', line))

    def info(self, line):
        self.lines.append(('info', line))

    def debug(self, line):
        pass


@pytest.fixture
def log():
    return Log()


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught


def test_the_same_error_is_said_once_a_minute_with_its_count(log):
    now = [100.0]
    complaints = Complaints(log, lambda: now[0])
    for _ in range(5):
        complaints.error('tick', raised(ValueError('bad number')))
    assert complaints.errors == 5
    assert complaints.last_error == 'tick: ValueError: bad number'
    assert len(log.lines) == 1
    assert 'test_complaints.py' in log.lines[0][1]  # the place
    now[0] += REPEAT_S
    complaints.error('tick', raised(ValueError('bad number')))
    assert len(log.lines) == 2
    assert '(and 4 times in the last minute)' in log.lines[1][1]


def test_another_error_is_said_at_once(log):
    complaints = Complaints(log, lambda: 0.0)
    complaints.error('tick', raised(ValueError('one')))
    complaints.error('tick', raised(ValueError('two')))
    complaints.error('diagnostics', raised(ValueError('two')))
    assert len(log.lines) == 3


def test_every_severity_goes_to_a_real_logger_in_any_order():
    complaints = Complaints(get_logger('test_complaints'), lambda: 0.0)
    complaints.warn('a', 'a')
    complaints.inform('b', 'b')
    complaints.error('c', raised(ValueError()))
    complaints.warn('d', 'd')
    assert complaints.last_error == 'c: ValueError: no reason given'
