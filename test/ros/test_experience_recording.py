# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the experience node records of the ticks that it hears."""

from __future__ import annotations

import numpy as np
from experience_robot import PERIOD_S, SECOND, START_NS, event

from thinking_policy.experience.record import Reason


def reasons(experiences):
    return [[reason.value for reason in experience.reasons] for experience in experiences]


def test_records_when_the_active_set_changes(start_experience):
    robot = start_experience()
    for active in ((), ('hazard',), ('hazard',), ('trend',), ('trend',), ()):
        robot.tick(active=active)
    experiences = robot.wait_for_records(3)
    assert [experience.active for experience in experiences] == [('hazard',), ('trend',), ()]
    assert reasons(experiences) == [['change']] * 3
    stamps = [(e.situation.stamp_ns - START_NS) / SECOND / PERIOD_S for e in experiences]
    assert stamps == [1, 3, 5]
    robot.end()


def test_an_experience_holds_what_the_policy_saw_and_said(start_experience):
    robot = start_experience(robot_id='unit-7')
    stamp = robot.tick(active=('trend',), novelty=float('nan'))
    (experience,) = robot.wait_for_records(1)
    assert (experience.robot, experience.policy_version) == ('unit-7', 'version1')
    situation = experience.situation
    assert (situation.stamp_ns, situation.episode, situation.period_s) == (stamp, 'first', 0.5)
    assert situation.array().tolist() == [[0.25, 0.5], [0.75, 0.0], [0.125, 1.0]]
    assert situation.mask().tolist() == [[True, True], [True, False], [True, True]]
    assert [(r.state, r.value, r.age_s) for r in situation.readings] == [('OK', 20.0, 0.25)] * 2
    assert [(a.id, a.probability, a.threshold, a.active) for a in experience.activations] == [
        ('hazard', 0.75, 0.5, False),
        ('trend', 0.75, 0.5, True),
    ]
    assert experience.novelty is None
    assert experience.novelty_threshold == 3.0
    assert situation.situation().window.dtype == np.float32
    assert robot.diagnostics['recording'].hardware_id == 'unit-7'
    robot.end()


def test_records_when_the_novelty_rises_and_not_while_it_stays(start_experience):
    robot = start_experience()
    for novelty in (0.1, 5.0, 6.0, 0.1, 7.0):
        robot.tick(novelty=novelty)
    experiences = robot.wait_for_records(2)
    assert [experience.novelty for experience in experiences] == [5.0, 7.0]
    assert reasons(experiences) == [['novelty']] * 2


def test_records_events_once_each(start_experience):
    robot = start_experience()
    robot.tick()
    door = event('door', robot.next_ns - SECOND // 4)
    robot.tick(events=[door])
    robot.tick(events=[door])  # still among the recent ones
    lift = event('lift', robot.next_ns - SECOND // 4)
    robot.tick(events=[door, lift])
    experiences = robot.wait_for_records(2)
    assert reasons(experiences) == [['event']] * 2
    assert [e.code for e in experiences[1].situation.events] == ['door', 'lift']


def test_records_a_thin_sample_of_the_ordinary(start_experience):
    robot = start_experience(recording={'sample_s': 2.0})
    for _ in range(10):  # half a second each
        robot.tick()
    experiences = robot.wait_for_records(3)
    assert reasons(experiences) == [['sample']] * 3
    stamps = [(e.situation.stamp_ns - START_NS) // SECOND for e in experiences]
    assert stamps == [0, 2, 4]


def test_rules_may_change_while_it_records_and_thinned_moments_are_counted(start_experience):
    robot = start_experience(recording={'most_per_minute': 1.0})
    for number in range(6):
        robot.tick(active=('hazard',) if number % 2 else ())
    robot.wait_for_count('thinned', 4)
    assert len(robot.wait_for_records(1)) == 1
    assert robot.set_parameter('recording.change', False).successful
    robot.tick(active=('hazard',))
    assert robot.set_parameter('recording.sample_s', 0.5).successful
    robot.tick(active=('hazard',))
    robot.wait_for(lambda: len(robot.lines()) >= 2, 'a sample')
    assert all(e.reasons != (Reason.CHANGE,) for e in robot.experiences()[1:])


def test_what_has_no_other_half_is_counted_and_said(start_experience):
    robot = start_experience(grace_period_s=60.0)
    robot.tick(active=('hazard',))
    for _ in range(3):
        robot.tick(with_activations=False)
    robot.tick(active=('trend',))
    robot.wait_for_count('unjoined_situations', 3)
    robot.wait_for_count('joined', 2)
    robot.wait_for(lambda: '3 situations came without activations' in robot.output, 'a line')
    assert [e.active for e in robot.wait_for_records(2)] == [('hazard',), ('trend',)]


def test_a_bag_that_loops_begins_new_episodes_and_new_experiences(start_experience):
    robot = start_experience()
    for loop in range(3):
        for number in range(4):
            robot.tick(
                stamp_ns=START_NS + round(number * PERIOD_S * SECOND),
                active=('hazard',) if number == 2 else (),
                episode=f'loop{loop}',
            )
    experiences = robot.wait_for_records(6)  # into it and out of it
    assert len({e.id for e in experiences}) == 6
    episodes = [e.situation.episode for e in experiences]
    assert episodes == ['loop0', 'loop0', 'loop1', 'loop1', 'loop2', 'loop2']
    # feedback for the second loop finds its own moment
    robot.give_feedback(START_NS + SECOND, episode='loop1', kind=2, code='right')
    record = robot.wait_for_records(7)[-1]
    assert record.id == experiences[2].id
    robot.end()


def test_two_robots_keep_apart(start_experience):
    robots = [start_experience(name=f'/fleet_{name}') for name in 'ab']
    robots[0].tick(active=('hazard',))
    robots[1].tick(active=('trend',))
    for robot, active in zip(robots, ('hazard', 'trend'), strict=True):
        (experience,) = robot.wait_for_records(1)
        assert (experience.robot, experience.active) == (robot.namespace.strip('/'), (active,))
        assert robot.diagnostics['recording'].hardware_id == robot.namespace.strip('/')
        robot.end()


def test_files_lie_where_other_state_of_the_robot_does(start_node, observer, tmp_path):
    start_node('experience_node', ['-r', '__ns:=/r/one'], tmp_path)
    path = tmp_path / 'thinking_policy' / 'r.one.thinking_experience.db'
    observer.wait_for(path.exists, str(path))
    assert [found.name for found in tmp_path.rglob('*.db')] == [path.name]


def test_nothing_is_recorded_under_sim_time_unless_a_file_is_named(start_node, observer, tmp_path):
    process = start_node('experience_node', ['-p', 'use_sim_time:=true'], tmp_path)
    observer.wait_for(lambda: 'active: nothing is recorded' in process.output, 'its line')
    assert not list(tmp_path.rglob('*.db'))
    assert process.end()[0] == 0
    assert 'Traceback' not in process.output
