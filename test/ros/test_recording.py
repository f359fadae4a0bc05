# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Moments and observations become records of a real buffer, with a clock in the test's hands."""

from __future__ import annotations

import numpy as np
import pytest

from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer
from thinking_policy.experience.record import Activation, Amendment, Observation
from thinking_policy.experience.recorder import Moment, RecordingRules
from thinking_policy.ros.observations import Heard
from thinking_policy.ros.recording import MOST_WAITING, SETTLE_S, Recording
from thinking_policy.situation import Situation

SECOND = 1_000_000_000


class Desk:
    """A recording and what it hands on."""

    def __init__(self, path):
        self.now_s, self.wall_ns = 100.0, 1_700_000_000 * SECOND
        self.stored, self.refused = [], []
        self.buffer = ExperienceBuffer(path, BufferOptions(gather_s=0.0))
        self.recording = Recording(
            'r1',
            RecordingRules(sample_s=0.0),
            self.buffer,
            refuse=lambda source, error: self.refused.append((source, str(error))),
            stored=self.stored.append,
            clock=lambda: self.now_s,
            wall_ns=lambda: self.wall_ns,
        )

    def see(self, stamp_s, *, active=False, episode='e'):
        stamp_ns = round(stamp_s * SECOND)
        self.recording.see(
            Moment(
                Situation(
                    stamp_ns=stamp_ns,
                    tick=stamp_ns // SECOND,
                    episode=episode,
                    period_s=1.0,
                    signals=('t',),
                    window=np.zeros((1, 1), np.float32),
                    valid=np.ones((1, 1), np.bool_),
                    readings=(),
                    new_events=(),
                    events=(),
                    recalled=(),
                ),
                'v',
                (Activation(id='hazard', probability=0.5, threshold=0.5, active=active),),
            )
        )

    def hear(self, stamp_s, code='', *, kind='outcome', episode='', experience=''):
        observation = Observation(
            kind=kind, stamp_ns=round(stamp_s * SECOND), code=code, source='arm'
        )
        self.recording.hear(Heard(observation, experience, episode))
        self.recording.place()

    def settle(self):
        """Wait for all that was asked and put so far."""
        self.buffer.ask(lambda store: None).result(5.0)
        self.recording.place()
        self.buffer.ask(lambda store: None).result(5.0)
        return self.stored


@pytest.fixture
def desk(tmp_path):
    result = Desk(tmp_path / 'experiences.db')
    yield result
    result.buffer.close()


def test_an_observation_waits_for_the_moment_that_it_may_belong_to(desk):
    desk.see(1.0)
    desk.hear(1.5)
    assert (desk.recording.waiting, desk.settle()) == (1, [])
    desk.see(2.0)
    desk.recording.place()
    (experience,) = desk.settle()
    assert experience.situation.stamp_ns == SECOND
    assert desk.recording.waiting == 0


def test_it_does_not_wait_for_ever(desk):
    desk.see(1.0)
    desk.hear(1.5)
    desk.now_s += SETTLE_S
    desk.recording.place()
    assert len(desk.settle()) == 1


def test_what_refers_to_the_newest_moment_itself_is_placed_at_once(desk):
    desk.see(1.0)
    desk.hear(1.0)
    assert len(desk.settle()) == 1


def test_a_crowd_of_waiting_observations_is_bounded(desk):
    desk.see(1.0)
    for _ in range(MOST_WAITING + 5):
        desk.hear(1.5, kind='action')
    assert desk.recording.waiting <= MOST_WAITING


def test_the_end_places_what_waits(desk):
    desk.see(1.0)
    desk.hear(1.5, 'last')
    desk.recording.close()
    (experience,) = desk.settle()
    assert experience.observations[0].code == 'last'


def test_a_moment_that_is_forgotten_is_found_in_the_file_by_its_episode(desk):
    desk.see(1.0, active=True)
    (experience,) = desk.settle()
    desk.see(2.0, episode='f')
    other = Desk(desk.buffer.path)  # remembers nothing
    other.see(9.0, episode='g')
    other.hear(1.5, 'late', episode='e')
    other.hear(0.5, 'before', episode='e')
    other.hear(1.5, 'without an episode')  # falls to no moment either
    assert other.recording.counts['late'] == 2
    *_, amendment = other.settle()
    assert isinstance(amendment, Amendment)
    assert (amendment.id, amendment.observation.code) == (experience.id, 'late')
    assert other.recording.counts['unplaced'] == 2
    other.buffer.close()


def test_revisions_rise_over_a_clock_that_went_back(desk):
    desk.see(1.0, active=True)
    (experience,) = desk.settle()
    revisions = []
    for wall_s in (1_700_000_000, 1_700_000_000, 1_600_000_000):
        desk.wall_ns = wall_s * SECOND
        desk.hear(1.0)
    desk.settle()
    revisions = [record.revision for record in desk.stored if isinstance(record, Amendment)]
    assert revisions == [1_700_000_000_000 + number for number in range(3)]

    again = Desk(desk.buffer.path)
    again.wall_ns = 1_500_000_000 * SECOND
    again.settle()
    again.hear(1.0, experience=experience.id)
    (amendment,) = again.settle()
    assert amendment.revision == revisions[-1] + 1
    again.buffer.close()


def test_an_id_that_is_none_is_refused_with_its_source(desk):
    desk.hear(1.0, experience='the last one')
    ((source, reason),) = desk.refused
    assert source == 'arm'
    assert 'the last one' in reason


def test_counts_say_what_was_heard_and_recorded(desk):
    desk.see(1.0, active=True)
    for kind in ('action', 'trace', 'outcome', 'feedback'):
        desk.hear(1.0, kind=kind)
    assert dict(desk.recording.counts) == {
        'experiences': 1,
        'amendments': 4,
        'actions': 1,
        'traces': 1,
        'outcomes': 1,
        'feedback': 1,
    }
    assert dict(desk.recording.reasons) == {'change': 1}
