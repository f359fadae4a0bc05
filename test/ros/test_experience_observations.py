# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""To which moment actions, outcomes, feedback and reasoning are put by the experience node."""

from __future__ import annotations

import json

from experience_robot import PERIOD_S, SECOND, START_NS
from std_msgs.msg import Header

from thinking_policy import msg as messages
from thinking_policy.experience.record import Amendment, Experience, ObservationKind, Reason
from thinking_policy.ros.conversions import time_message

ACTION, OUTCOME, FEEDBACK = 0, 1, 2


def test_an_outcome_makes_an_ordinary_moment_an_experience(start_experience):
    robot = start_experience()
    stamps = [robot.tick() for _ in range(3)]
    robot.wait_for_count('joined', 3)
    robot.give_feedback(
        stamps[1] + 1000, kind=OUTCOME, code='stalled', reward=-0.5, episode='first', source='arm'
    )
    (experience,) = robot.wait_for_records(1)
    assert experience.reasons == (Reason.OUTCOME,)
    assert experience.situation.stamp_ns == stamps[1]
    (outcome,) = experience.observations
    assert (outcome.kind, outcome.code, outcome.reward) == (
        ObservationKind.OUTCOME,
        'stalled',
        -0.5,
    )
    assert (outcome.stamp_ns, outcome.source) == (stamps[1] + 1000, 'arm')


def test_feedback_is_placed_by_id_and_by_stamp_and_episode(start_experience):
    robot = start_experience()
    stamp = robot.tick(active=('hazard',))
    (experience,) = robot.wait_for_records(1)
    robot.tick(active=('hazard',), episode='second')
    robot.wait_for_count('joined', 2)
    robot.give_feedback(
        stamp, kind=FEEDBACK, experience_id=experience.id, expected=['trend'], verified=True
    )
    robot.give_feedback(stamp + 2 * SECOND, kind=FEEDBACK, episode='first', text='too early')
    robot.wait_for(lambda: len(robot.amendments()) == 2, 'two amendments')
    by_id, by_stamp = robot.amendments()
    assert {by_id.id, by_stamp.id} == {experience.id}
    assert (by_id.observation.expected, by_id.observation.verified) == (('trend',), True)
    assert (by_stamp.observation.text, by_stamp.observation.reward) == ('too early', None)
    assert by_stamp.revision > by_id.revision >= 1
    robot.end()


def test_texts_are_observations_of_their_topics_kind(start_experience):
    robot = start_experience(
        topics={
            'action_texts': ['mission/action'],
            'outcome_texts': ['mission/outcome'],
            'feedback_texts': ['people'],
        }
    )
    robot.tick()
    robot.wait_for_count('joined', 1)
    robot.say('mission/action', 'stop')
    robot.wait_for_count('heard_actions', 1)
    robot.say('mission/outcome', 'goal_reached')
    robot.wait_for_records(1)  # with the action that was known by then
    robot.say('people', 'w' * 200)
    experience, amendment = robot.wait_for_records(2)
    assert isinstance(experience, Experience)
    assert [(o.kind.value, o.code, o.source) for o in experience.observations] == [
        ('action', 'stop', 'mission/action'),
        ('outcome', 'goal_reached', 'mission/outcome'),
    ]
    assert all(o.stamp_ns > START_NS for o in experience.observations)
    assert isinstance(amendment, Amendment)
    said = amendment.observation
    assert (said.kind.value, said.code, said.text) == ('feedback', 'w' * 128, 'w' * 200)


def test_feedback_that_comes_before_its_moment_waits_for_it(start_experience):
    robot = start_experience()
    robot.tick()
    robot.wait_for_count('joined', 1)
    robot.give_feedback(robot.next_ns, kind=OUTCOME, code='early')
    robot.wait_for_count('heard_outcomes', 1)
    stamp = robot.tick()
    (experience,) = robot.wait_for_records(1)
    assert experience.situation.stamp_ns == stamp


def test_late_outcomes_are_placed_by_what_the_file_holds_after_a_restart(start_experience):
    robot = start_experience()
    first = robot.tick(active=('hazard',), episode='before')
    robot.tick(active=('hazard',), episode='before')
    robot.tick(active=('trend',), episode='before')
    one, two = robot.wait_for_records(2)
    robot.end()

    robot = start_experience()
    robot.give_feedback(first + SECOND // 2, episode='before', kind=OUTCOME, code='late')
    robot.give_feedback(first - SECOND, episode='before', kind=OUTCOME, code='never')
    robot.give_feedback(first, episode='of another day', kind=OUTCOME, code='nowhere')
    robot.give_feedback(first, kind=OUTCOME, code='without an episode')
    robot.wait_for_count('unplaced', 3)
    (amendment,) = robot.wait_for(robot.amendments, 'the amendment to be stored')
    assert (amendment.id, amendment.observation.code) == (one.id, 'late')
    assert amendment.id != two.id
    assert robot.values('recording')['late'] == '3'
    robot.wait_for(lambda: 'belong to no moment' in robot.output, 'a line about it')
    robot.end()


def test_revisions_go_on_where_the_file_stands_even_if_the_clock_went_back(start_experience):
    robot = start_experience()
    stamp = robot.tick(active=('hazard',))
    (experience,) = robot.wait_for_records(1)
    robot.end()
    future = Amendment(
        id=experience.id,
        robot=experience.robot,
        revision=4_000_000_000_000,  # given when the clock stood in 2096
        observation={'kind': 'feedback', 'stamp_ns': stamp},
    )
    from thinking_policy.experience.buffer import ExperienceBuffer

    with ExperienceBuffer(robot.database) as buffer:
        buffer.put(future).result(5.0)

    robot = start_experience()
    robot.give_feedback(stamp, kind=FEEDBACK, episode='first', code='now')
    robot.wait_for(lambda: len(robot.amendments()) == 2, 'two amendments')
    assert robot.amendments()[1].revision > future.revision


def test_reasoning_is_the_trace_of_the_moment_that_it_answers(start_experience, observer):
    robot = start_experience()
    stamp = robot.tick(active=('hazard',))
    (experience,) = robot.wait_for_records(1)
    publisher = observer.speak(messages.Reasoning, f'{robot.namespace}/thinking/reasoning')
    observer.wait_until_heard(publisher)
    robot.wait_for(
        lambda: robot.values('topic thinking/reasoning').get('publishers') == '1', 'discovery'
    )
    publisher.publish(
        messages.Reasoning(
            header=Header(stamp=time_message(stamp)),
            episode='first',
            decision='stop',
            factors=['heat'],
            model='small',
            latency=1.5,
        )
    )
    robot.wait_for(robot.amendments, 'an amendment')
    (trace,) = robot.amendments()
    assert trace.id == experience.id
    observation = trace.observation
    assert (observation.kind.value, observation.code, observation.source) == (
        'trace',
        'ok',
        'small',
    )
    assert json.loads(observation.text) == {
        'decision': 'stop',
        'factors': ['heat'],
        'latency': 1.5,
    }


def test_what_cannot_be_used_is_counted_and_said_and_the_rest_goes_on(start_experience):
    robot = start_experience()
    stamp = robot.tick(active=('hazard',))
    robot.wait_for_records(1)
    robot.give_feedback(stamp, kind=7)
    robot.give_feedback(stamp, kind=OUTCOME, reward=3.0)
    robot.give_feedback(stamp, kind=OUTCOME, code='c' * 129)
    robot.give_feedback(stamp, kind=OUTCOME, experience_id='the last one')
    robot.give_feedback(stamp, kind=OUTCOME, code='good')
    robot.wait_for_count('broken', 4)
    robot.wait_for(robot.amendments, 'the good one')
    assert [a.observation.code for a in robot.amendments()] == ['good']
    robot.wait_for(lambda: 'cannot be used' in robot.output, 'a line')
    assert robot.state() == 'active'
    robot.end()


def test_an_outcome_of_the_newest_tick_belongs_to_it(start_experience):
    """However the two topics overtake one another."""
    robot = start_experience()
    for number in range(20):
        stamp = robot.tick(episode=f'e{number}')
        robot.give_feedback(stamp, kind=OUTCOME, code=str(number))
    experiences = robot.wait_for_records(20)
    for experience in experiences:
        (outcome,) = experience.observations
        assert outcome.stamp_ns == experience.situation.stamp_ns
    assert len({e.situation.tick for e in experiences}) == 20
    assert robot.next_ns == START_NS + round(20 * PERIOD_S * SECOND)
