# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Messages as JSON lines."""

import json
import math

import numpy as np
import pytest

messages = pytest.importorskip('thinking_policy.msg')

from thinking_policy.cli.message_json import message_line, plain  # noqa: E402


def test_field_names_are_kept_and_nan_is_null():
    message = messages.ThinkingActivations(
        policy_version='v1',
        tick=3,
        novelty=math.inf,
        activations=[
            messages.ThinkingActivation(id='trend', probability=0.7, threshold=0.5, active=True)
        ],
        signals=[messages.SignalStatus(name='current', state=3, value=math.nan, age=-1.0)],
    )
    message.header.stamp.sec = 12
    line = message_line(message)
    assert '\n' not in line
    found = json.loads(line)
    assert set(found) == set(message.get_fields_and_field_types())
    assert found['header']['stamp'] == {'sec': 12, 'nanosec': 0}
    assert found['activations'] == [
        {'id': 'trend', 'probability': 0.7, 'threshold': 0.5, 'active': True}
    ]
    assert found['signals'] == [{'name': 'current', 'state': 3, 'value': None, 'age': -1.0}]
    assert found['novelty'] is None


def test_a_float32_is_written_short_and_read_back_the_same():
    value = np.float32(0.7)
    written = plain(messages.ThinkingActivation(probability=float(value)))['probability']
    assert written == 0.7
    assert np.float32(written) == value


def test_numeric_sequences_become_lists():
    message = messages.Situation(
        window=[0.5, 0.25], valid=[1, 0], signals=['a'], period=0.1, recalled_count=[7]
    )
    found = plain(message)
    assert found['window'] == [0.5, 0.25]
    assert found['valid'] == [1, 0]
    assert found['recalled_count'] == [7]
    assert found['period'] == 0.1
