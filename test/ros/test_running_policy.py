# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The policy as the node runs it: what it says is novel, and for how long."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from policy_files import write_policy

from thinking_policy.ros.node_options import NodeOptions
from thinking_policy.ros.running_policy import RunningPolicy
from thinking_policy.situation import SignalConfig, Situation, SituationConfig

CONFIG = SituationConfig(
    tick_period_s=0.1, window_length=3, signals=(SignalConfig(name='temperature', topic='/t'),)
)


def situation(level, tick, episode='e'):
    return Situation(
        stamp_ns=tick * 100_000_000,
        tick=tick,
        episode=episode,
        period_s=0.1,
        signals=('temperature',),
        window=np.full((3, 1), level, np.float32),
        valid=np.ones((3, 1), bool),
        readings=(),
        new_events=(),
        events=(),
        recalled=(),
    )


@pytest.fixture
def policy(tmp_path):
    path = write_policy(tmp_path / 'policy.onnx', signals=('temperature',), length=3)
    return RunningPolicy(NodeOptions(policy_path=str(path)), CONFIG)


def novelties(policy, levels, **where):
    return [
        policy.think(situation(level, tick, **where))[0].novelty
        for tick, level in enumerate(levels)
    ]


def test_what_was_novel_stays_so_for_the_length_of_a_window(policy):
    found = novelties(policy, (0.5, 1.5, 0.5, 0.5, 0.5, 0.5))
    assert found == pytest.approx([0.0, 4.0, 4.0, 4.0, 4.0, 0.0])


def test_another_episode_begins_anew(policy):
    novelties(policy, (1.5,))
    assert novelties(policy, (0.5,), episode='f') == [0.0]


def test_another_baseline_is_in_force_from_the_next_tick_on(policy):
    (signal,) = CONFIG.signals
    signal = dataclasses.replace(signal, baseline_mean=0.8, baseline_spread=0.1)
    policy.set_baseline(dataclasses.replace(CONFIG, signals=(signal,)))
    assert novelties(policy, (0.5,)) == pytest.approx([3.0], abs=1e-5)
