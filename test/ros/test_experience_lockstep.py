# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the experience node records of a bag in lockstep is what `from-bag` makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from policy_files import write_policy
from recordings import write_bag
from robot import signal, temperature
from std_msgs.msg import Float32, String

from thinking_policy.cli.experience_hearing import Topics
from thinking_policy.cli.experience_recording import BagRecording, record_bag
from thinking_policy.cli.replaying import asking
from thinking_policy.experience.recorder import RecordingRules

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND + 123_456_789


def recorded(random, namespace, seconds=20.0):
    """Yield temperatures that swing through thresholds and limits, with gaps, and events."""
    for at in np.arange(0.0, seconds, 0.05):
        if not 8.0 < at < 12.0:
            record = START + round(at * SECOND)
            value = float(60.0 + 35.0 * np.sin(at * 1.5) + random.normal())
            yield f'{namespace}/temperature', temperature(value, record), record
            yield f'{namespace}/load', Float32(data=float(random.random())), record
    for at in np.arange(0.2, seconds, 3.7):
        record = START + round(at * SECOND)
        yield f'{namespace}/mission/events', String(data='door_open'), record


@pytest.mark.slow
def test_both_record_the_same(
    start_robot, start_experience, start_node, params_file, namespace, tmp_path
):
    random = np.random.default_rng(1)
    rows = sorted(recorded(random, namespace), key=lambda row: row[2])
    bag = write_bag(tmp_path / 'bag', rows)
    signals = {
        'temperature': signal(limit_high=85.0, limit_hysteresis=5.0),
        'load': signal('load', type='std_msgs/msg/Float32', field='data', nominal_high=1.0),
    }
    policy = write_policy(tmp_path / 'policy.onnx', signals=tuple(signals), length=3)
    file = params_file(
        signals,
        policy_path=str(policy),
        novelty_threshold=1.5,
        events={'topics': ['mission/events'], 'recent': 4},
    )
    name = namespace.strip('/')
    rules = RecordingRules(sample_s=3.0, most_per_minute=5.0)
    how = BagRecording(asking(policy, file, name, 'auto'), rules, Topics(), 'walker')
    expected: list = []
    said = record_bag('bag', bag, how, expected.extend)

    simulated = ['-p', 'use_sim_time:=true']
    start_robot(file=file, arguments=[*simulated, '-p', 'qos_reliability:=reliable'])
    live = start_experience(
        robot_id='walker',
        recording={'sample_s': 3.0, 'most_per_minute': 5.0},
        arguments=simulated,
    )
    player = start_node(
        'bag_player',
        ['-r', f'__ns:={namespace}', '-p', f'bag:={bag}', '-p', 'rate:=0.0'],
        tmp_path,
    )
    assert player.wait(60.0) == 0, player.output
    live.wait_for_records(len(expected))
    found = live.experiences()

    def content(records):
        return [one.model_dump_json(exclude={'id'}) for one in records]

    found.sort(key=lambda one: one.situation.stamp_ns)
    assert content(found) == content(expected)
    # something happened in there
    assert {'change', 'novelty', 'event', 'sample', 'thinned'} <= set(said.reasons)
