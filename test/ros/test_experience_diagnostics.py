# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of the recording, the file, the clocks and the server, and how serious it is."""

from __future__ import annotations

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from thinking_policy.experience.buffer import BufferOptions, BufferStatus
from thinking_policy.experience.downlink_options import DownlinkStatus
from thinking_policy.experience.uplink_options import UplinkStatus
from thinking_policy.ros.experience_diagnostics import (
    ClockFacts,
    RecordingFacts,
    buffer_finding,
    clock_finding,
    recording_finding,
    topic_finding,
)
from thinking_policy.ros.fleet_diagnostics import (
    downlink_finding,
    downlink_values,
    uplink_finding,
    uplink_values,
)
from thinking_policy.ros.receiver import TopicStatus

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
NOW_NS = 1_800_000_000 * 10**9


def recording(*, silent_s=0.0, **new):
    facts = RecordingFacts(
        silent_s, grace_s=5.0, new=new, last_error='why', experiences=3, amendments=1
    )
    return recording_finding(facts)


def buffer(*, lost=0, **changes):
    status = BufferStatus(**{'problem': '', **changes})
    return buffer_finding(status, BufferOptions(queue_records=100), lost)


def clock(**changes):
    facts = {
        'simulated': False,
        'now_ns': NOW_NS,
        'wall_ns': NOW_NS,
        'standing_still_s': 0.0,
        'newest_ns': NOW_NS,
        'fresh': True,
        'grace_s': 5.0,
    }
    return clock_finding(ClockFacts(**{**facts, **changes}))


def topic(*, lost=0, **changes):
    status = TopicStatus('thinking/feedback', '/r1/thinking/feedback', 'a/msg/B', **changes)
    return topic_finding(status, lost)


@pytest.mark.parametrize(
    ('found', 'level', 'words'),
    [
        (recording(), OK, '3 experiences, 1 amendments'),
        (recording(errors=2), ERROR, 'why'),
        (recording(broken=2), WARN, '2 messages cannot be used: why'),
        (recording(silent_s=9.0), WARN, 'no moment for 9 s'),
        (recording(unplaced=2), WARN, 'belong to no moment'),
        (recording(unjoined_situations=2), WARN, 'every_tick'),
        (recording(unjoined_activations=2), WARN, '2 activations'),
        (buffer(stored=7, file_bytes=3 << 20), OK, '7 records stored, 3 MiB'),
        (buffer(problem='not opened yet'), OK, 'not opened yet'),
        (buffer(problem='x.db: database is locked', queued=4), WARN, 'locked; 4 records wait'),
        (buffer(problem='x.db: database or disk is full'), ERROR, 'full'),
        (buffer(problem='x.db: attempt to write a readonly database'), ERROR, 'readonly'),
        (buffer(full=True), ERROR, 'pinned'),
        (buffer(set_aside=('x.db.corrupt-1: malformed',)), WARN, 'x.db.corrupt-1: malformed'),
        (buffer(queued=51), WARN, 'too slow: 51'),
        (buffer(queued=49), OK, 'stored'),
        (buffer(lost=3, problem='x.db: database is locked'), ERROR, '3 records lost: x.db'),
        (clock(), OK, 'wall time'),
        (clock(simulated=True), OK, 'sim time'),
        (clock(wall_ns=86_400 * 10**9), WARN, '1970-01-02'),
        (clock(standing_still_s=9.0), WARN, 'stands still for 9 s'),
        (clock(newest_ns=5 * 10**9), WARN, 'use_sim_time'),
        (clock(newest_ns=5 * 10**9, fresh=False), OK, 'wall time'),
        (clock(newest_ns=None), OK, 'wall time'),
        (topic(received=5, publishers=1), OK, '5 messages, 1 publisher'),
        (topic(problem='not installed'), ERROR, 'not installed'),
        (topic(incompatible='offers less'), ERROR, 'offers less'),
        (topic(lost=3), WARN, '3 messages lost'),
    ],
)
def test_a_status_is_as_serious_as_it_stands(found, level, words):
    assert (found.level, words in found.message) == (level, True), found


@pytest.mark.parametrize(
    ('found', 'level', 'words'),
    [
        (uplink_finding(UplinkStatus(sent=5, pending=2), 0), OK, '5 sent, 2 wait'),
        (uplink_finding(UplinkStatus(), 0), OK, '0 sent'),
        (uplink_finding(UplinkStatus('backing_off', 'no route'), 0), WARN, 'no route'),
        (uplink_finding(UplinkStatus('refused', 'no token'), 0), ERROR, 'no token'),
        (uplink_finding(UplinkStatus(), 2), WARN, '2 records will never be taken'),
        (downlink_finding(DownlinkStatus(version='v1')), OK, 'policy v1 runs'),
        (downlink_finding(DownlinkStatus(reason='none published')), OK, 'none published'),
        (downlink_finding(DownlinkStatus('backing_off', 'no route')), WARN, 'no route'),
        (downlink_finding(DownlinkStatus('refused', 'no token')), ERROR, 'no token'),
        (
            downlink_finding(DownlinkStatus(refused_version='v2', refused_reason='opset')),
            WARN,
            'v2 is refused: opset',
        ),
    ],
)
def test_a_server_is_as_serious_as_it_stands(found, level, words):
    assert (found.level, words in found.message) == (level, True), found


def test_times_of_the_server_are_empty_where_there_is_none():
    assert uplink_values(UplinkStatus(last_success_ns=NOW_NS))['last_success'] == '1800000000.000'
    assert uplink_values(UplinkStatus())['next_attempt'] == ''
    assert downlink_values(DownlinkStatus())['last_success'] == ''
