# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of signals and the clock, and how serious it is."""

from __future__ import annotations

import math

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from thinking_policy.ros.diagnostics import ClockFacts, clock_finding, signal_finding
from thinking_policy.ros.receiver import TopicStatus
from thinking_policy.ros.status_board import Finding, StatusWriter
from thinking_policy.situation import Reading, SignalConfig, SignalState

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
SIGNAL = SignalConfig(name='temperature', topic='temperature', unit='degC')


def topic(**changes):
    return TopicStatus('temperature', '/r1/temperature', 'sensor_msgs/msg/Temperature', **changes)


def reading(state, value=math.nan, age_s=0.1):
    return Reading('temperature', state, value, age_s)


def finding(state, status, *, waited_s=60.0, elsewhere='', newly_lost=0, value=math.nan):
    return signal_finding(
        SIGNAL,
        None if state is None else reading(state, value),
        status,
        waited_s=waited_s,
        grace_s=5.0,
        elsewhere=elsewhere,
        newly_lost=newly_lost,
    )


@pytest.mark.parametrize(
    ('found', 'level', 'words'),
    [
        (finding(SignalState.OK, topic(publishers=1), value=21.5), OK, '21.5 degC'),
        (finding(None, None), OK, 'no such signal'),
        (finding(None, topic(), waited_s=1.0), OK, 'waiting'),
        (finding(SignalState.NEVER, topic()), WARN, 'no publisher on /r1/temperature'),
        (finding(SignalState.NEVER, topic(), elsewhere='it is on /t'), WARN, 'it is on /t'),
        (finding(SignalState.NEVER, topic(publishers=2)), WARN, 'no message came'),
        (
            finding(SignalState.NEVER, topic(), elsewhere='it is published as a/msg/B'),
            ERROR,
            'a/msg/B',
        ),
        (finding(SignalState.STALE, topic(publishers=1)), WARN, 'stale'),
        (finding(SignalState.STALE, topic()), WARN, 'no publisher on /r1/temperature any more'),
        (finding(SignalState.INVALID, topic(publishers=1)), WARN, 'no usable value'),
        (finding(SignalState.OK, topic(publishers=1), newly_lost=7), WARN, '7 messages lost'),
        (finding(SignalState.NEVER, topic(problem='not installed')), ERROR, 'not installed'),
        (finding(SignalState.NEVER, topic(incompatible='offers less')), ERROR, 'offers less'),
        # another publisher is heard
        (finding(SignalState.OK, topic(incompatible='offers less'), value=1.0), OK, '1 degC'),
    ],
)
def test_a_signal_is_as_serious_as_it_stands(found, level, words):
    assert found.level == level
    assert words in found.message


def clock(**changes):
    facts = {
        'simulated': True,
        'now_ns': 5,
        'standing_still_s': 0.0,
        'silent_after_s': 5.0,
        'tick': 1,
        'behind_ticks': 0,
        'episode': 'e',
    }
    return clock_finding(ClockFacts(**{**facts, **changes}))


@pytest.mark.parametrize(
    ('found', 'level', 'words'),
    [
        (clock(), OK, 'sim time'),
        (clock(simulated=False), OK, 'wall time'),
        (clock(now_ns=0), OK, '/clock'),
        (clock(now_ns=0, standing_still_s=9.0), WARN, '/clock'),
        (clock(standing_still_s=9.0), WARN, 'stands still for 9 s'),
        (clock(behind_ticks=12), WARN, '12 ticks behind'),
    ],
)
def test_a_clock_is_as_serious_as_it_stands(found, level, words):
    assert found.level == level
    assert words in found.message


def test_a_status_shows_the_values_of_the_last_time_it_was_written():
    writer = StatusWriter('thinking_policy: ', 'robot1')
    writer.write('clock', Finding(WARN, 'still'), {'tick': 1, 'age_s': 0.123456789})
    status = writer.write('clock', Finding(OK, 'moves'), {'tick': 2, 'age_s': math.nan})
    assert (status.name, status.hardware_id) == ('thinking_policy: clock', 'robot1')
    assert (status.level, status.message) == (OK, 'moves')
    assert [(pair.key, pair.value) for pair in status.values] == [('tick', '2'), ('age_s', 'nan')]
    status = writer.write('clock', Finding(OK, 'gone'), {})
    assert status.values == []
