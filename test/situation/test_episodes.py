# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

from thinking_policy.situation import EpisodeConfig
from thinking_policy.situation.episodes import EpisodeRule, EpisodeStart

SECOND = 1_000_000_000
T0 = 1_796_057_917 * SECOND  # 2026-11-30T16:58:37Z


def starts(rule, usable, missions=None, first=1):
    """Run seconds 1, 2, … through a rule; return {second: reason}."""
    found = {}
    for second, at in enumerate(usable, first):
        why = rule.at(T0 + second * SECOND, at, (missions or {}).get(second, []))
        if why:
            found[second] = why
    return found


def test_an_episode_is_named_after_the_robot_and_its_first_tick():
    rule = EpisodeRule(EpisodeConfig(), 'husky7')
    assert rule.at(T0 + 500_000_000, True, []) == EpisodeStart.FIRST
    assert rule.name == 'husky7-20261130T165837.500'
    rule = EpisodeRule(EpisodeConfig(), '')
    rule.at(7 * SECOND, True, [])
    assert rule.name == 'robot-19700101T000007.000'


def test_the_first_usable_value_after_an_idle_gap_begins_the_next():
    rule = EpisodeRule(EpisodeConfig(idle_gap_s=3.0), '')
    usable = [True, False, False, True, False, False, False, False, True]
    assert starts(rule, usable) == {
        1: EpisodeStart.FIRST,
        4: EpisodeStart.IDLE,
        9: EpisodeStart.IDLE,
    }
    rule = EpisodeRule(EpisodeConfig(idle_gap_s=3.5), '')
    assert starts(rule, [True, False, False, True]) == {1: EpisodeStart.FIRST}


def test_waiting_for_the_first_value_is_no_idle_gap():
    rule = EpisodeRule(EpisodeConfig(idle_gap_s=1.0), '')
    assert starts(rule, [False, False, False, True]) == {1: EpisodeStart.FIRST}


def test_an_endless_stream_is_cut_at_the_longest_length():
    rule = EpisodeRule(EpisodeConfig(max_length_s=3.0), '')
    length = EpisodeStart.LENGTH
    assert starts(rule, [True] * 8) == {1: EpisodeStart.FIRST, 4: length, 7: length}


def test_another_mission_begins_another_episode_and_the_same_text_does_not():
    rule = EpisodeRule(EpisodeConfig(), '')
    missions = {1: ['dock'], 2: ['dock'], 3: ['patrol'], 4: ['dock', 'patrol'], 5: ['']}
    mission = EpisodeStart.MISSION
    assert starts(rule, [True] * 6, missions) == {
        1: EpisodeStart.FIRST,
        3: mission,
        4: mission,
        5: mission,
    }


def test_the_first_mission_after_the_start_begins_an_episode():
    rule = EpisodeRule(EpisodeConfig(), '')
    assert starts(rule, [True] * 3, {3: ['dock']}) == {
        1: EpisodeStart.FIRST,
        3: EpisodeStart.MISSION,
    }


def test_a_jump_of_the_clock_begins_an_episode():
    rule = EpisodeRule(EpisodeConfig(), '')
    starts(rule, [True])
    rule.clock_jumped(back=False)
    assert starts(rule, [False, True], first=500) == {500: EpisodeStart.CLOCK_FORWARD}


def test_a_bag_that_loops_gives_each_pass_a_name_of_its_own():
    rule = EpisodeRule(EpisodeConfig(), '')
    names = []
    for _ in range(3):
        starts(rule, [True])
        names.append(rule.name)
        rule.clock_jumped(back=True)
    base = 'robot-20261130T165838.000'
    assert names == [base, f'{base}-2', f'{base}-3']


def test_lengths_may_be_infinite():
    rule = EpisodeRule(EpisodeConfig(idle_gap_s=math.inf, max_length_s=math.inf), '')
    assert starts(rule, [True, False] * 5) == {1: EpisodeStart.FIRST}
