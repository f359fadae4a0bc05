# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Situations and activations are joined to moments, and what has no other half is counted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from std_msgs.msg import Header

from thinking_policy import msg as messages
from thinking_policy.ros.conversions import time_message
from thinking_policy.ros.moments import MOST_PENDING, MomentJoin
from thinking_policy.situation import SituationError

SECOND = 1_000_000_000


def activations(tick, episode='e', *, signals=('temperature',), **changes):
    return messages.ThinkingActivations(
        header=Header(stamp=time_message(tick * SECOND)),
        policy_version='v',
        episode=episode,
        tick=tick,
        activations=[
            messages.ThinkingActivation(id='hazard', probability=0.25, threshold=0.5, active=True)
        ],
        novelty_threshold=3.0,
        signals=[messages.SignalStatus(name=name, state=1, value=np.nan) for name in signals],
        **changes,
    )


def situation(tick, episode='e', *, values=(0.5, 0.25)):
    return messages.Situation(
        header=Header(stamp=time_message(tick * SECOND)),
        episode=episode,
        tick=tick,
        period=1.0,
        length=2,
        signals=['temperature'],
        window=list(values),
        valid=[1, 0],
    )


@pytest.fixture
def join():
    return MomentJoin()


def test_the_two_halves_may_come_in_either_order(join):
    assert join.take_activations(activations(1)) is None
    assert join.take_situation(situation(1)).situation.tick == 1
    assert join.take_situation(situation(2)) is None
    assert join.take_activations(activations(2)).situation.tick == 2
    assert dict(join.counts) == {'joined': 2}


def test_a_moment_holds_readings_that_only_the_activations_say(join):
    join.take_activations(activations(1, novelty=float('inf')))
    moment = join.take_situation(situation(1))
    (reading,) = moment.situation.readings
    assert (reading.name, reading.state.name) == ('temperature', 'STALE')
    assert (moment.novelty, moment.novelty_threshold) == (None, 3.0)
    assert [dataclasses.astuple(e) for e in moment.situation.new_events] == []


@pytest.mark.parametrize('other', [{'episode': 'f'}, {'tick': 2}])
def test_another_tick_or_episode_does_not_fit(join, other):
    join.take_activations(activations(1))
    assert join.take_situation(situation(**{'tick': 1, **other})) is None


def test_what_is_older_than_a_joined_moment_has_lost_its_other_half(join):
    join.take_activations(activations(1))
    for tick in (2, 3):
        join.take_situation(situation(tick))
    join.take_activations(activations(4))
    assert join.take_situation(situation(4)) is not None
    assert dict(join.counts) == {
        'joined': 1,
        'unjoined_activations': 1,
        'unjoined_situations': 2,
    }


def test_pending_messages_are_bounded_and_the_oldest_are_counted(join):
    for tick in range(1, MOST_PENDING + 31):
        join.take_situation(situation(tick))
    assert join.counts['unjoined_situations'] == 30
    assert join.take_activations(activations(30)) is None
    assert join.take_activations(activations(31)) is not None


def test_messages_that_contradict_one_another_are_refused_and_the_next_are_taken(join):
    with pytest.raises(SituationError, match='expected 2 values for 2 x 1, found 3'):
        join.take_situation(situation(1, values=(1.0, 2.0, 3.0)))
    join.take_activations(activations(2, signals=('current',)))
    with pytest.raises(SituationError, match='activations of the signals temperature, found cu'):
        join.take_situation(situation(2))
    join.take_situation(situation(3))
    assert join.take_activations(activations(3)) is not None
