# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The lean executor leans on rclpy's inside: where that is another, rclpy's own one steps in."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from thinking_policy.ros import lean_executor
from thinking_policy.ros.lean_executor import LeanExecutor, make_executor
from thinking_policy.ros.spinning import run_node


@pytest.fixture
def default_context():
    rclpy.init()
    yield
    rclpy.try_shutdown()


class ThreeTicks(Node):
    """Ends itself after three rounds of its timer."""

    exit_code = 0

    def __init__(self):
        super().__init__('three_ticks', use_global_arguments=False)
        self.finished = False
        self.ticks = 0
        self.kind = None

    def start(self):
        self.kind = type(self.executor)
        self.create_timer(0.01, self._tick)

    def report(self, where, error):
        raise error

    def close(self):
        pass

    def _tick(self):
        self.ticks += 1
        self.finished = self.ticks == 3


def run():
    made = []

    def make():
        made.append(ThreeTicks())
        return made[0]

    assert run_node(make, []) == 0
    assert made[0].ticks == 3
    return made[0].kind


def test_this_rclpy_fits(default_context):
    executor = make_executor()
    assert type(executor) is LeanExecutor
    executor.shutdown()


def test_a_node_runs_on_the_lean_executor():
    assert run() is LeanExecutor


@pytest.mark.parametrize('names', ['_EXECUTOR_NAMES', '_GUARD_NAMES'])
def test_a_node_runs_on_rclpy_s_own_executor_where_a_name_is_gone(monkeypatch, capfd, names):
    monkeypatch.setattr(lean_executor, names, ('_gone_in_this_rclpy',))
    assert run() is SingleThreadedExecutor
    assert '_gone_in_this_rclpy' in capfd.readouterr().err


def test_a_node_runs_on_rclpy_s_own_executor_where_a_call_has_changed(monkeypatch):
    def wait(self, *arguments):
        raise TypeError('WaitSet() takes other arguments')

    monkeypatch.setattr(LeanExecutor, '_wait', wait)
    assert run() is SingleThreadedExecutor
