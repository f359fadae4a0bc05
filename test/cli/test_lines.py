# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The plain view: which lines appear, and when."""

import math

from thinking_policy.cli.lines import PlainLines, Summary
from thinking_policy.cli.picture import NEVER, OK, STALE, ActivityPicture, Picture, SignalPicture


def picture(
    active=(), states=(OK, OK), episode='e1', novelty=1.0, stamp_s=1_796_058_000.0, phase=''
):
    return Picture(
        topic='/thinking/activations',
        stamp_s=stamp_s,
        tick=1,
        episode=episode,
        policy_version='3fab12004711',
        inference_time_s=1e-4,
        novelty=novelty,
        novelty_threshold=3.0,
        valid_fraction=1.0,
        silent_s=0.0,
        signals=tuple(
            SignalPicture(name, state, 1.0 if state == OK else math.nan, 0.1)
            for name, state in zip(('temperature', 'current'), states, strict=True)
        ),
        activities=tuple(
            ActivityPicture(id, 0.9 if id in active else 0.1, 0.5, id in active, directive=said)
            for id, said in (('trend', 'Say where it goes.'), ('hazard', ''))
        ),
        phase=phase,
    )


def test_a_change_of_activations_gives_a_line_with_the_directive():
    lines = PlainLines()
    lines.lines(picture(), 0.0)
    assert lines.lines(picture(['trend']), 0.5) == ['17:00:00  + trend 0.90: Say where it goes.']
    assert lines.lines(picture(['trend']), 1.0) == []
    assert lines.lines(picture(['hazard']), 1.5) == [
        '17:00:00  - trend 0.10',
        '17:00:00  + hazard 0.90',
    ]


def test_a_directive_is_said_once():
    lines = PlainLines()
    lines.lines(picture(['trend']), 0.0)
    lines.lines(picture(), 0.5)
    assert lines.lines(picture(['trend']), 1.0) == ['17:00:00  + trend 0.90']


def test_a_status_line_comes_at_once_and_every_few_seconds():
    lines = PlainLines(every_s=5.0)
    first = lines.lines(picture(states=(OK, NEVER)), 100.0)
    assert first == [
        '17:00:00  no thinking called for | novelty 1.00 of 3.00 | signals 1/2 ok (current never)'
    ]
    assert lines.lines(picture(), 104.9) == []
    assert len(lines.lines(picture(), 105.0)) == 1


def test_a_new_phase_of_the_simulation_is_said_once():
    lines = PlainLines()
    assert '17:00:00  simulation: wear' in lines.lines(picture(phase='wear'), 0.0)
    assert lines.lines(picture(phase='wear'), 1.0) == []


def test_summary_tells_ok_from_missing_and_why():
    summary = Summary()
    for states in ((OK, NEVER), (STALE, NEVER), (OK, NEVER)):
        summary.add(picture(['trend'], states, novelty=3.5))
    summary.add(picture(['trend', 'hazard'], (OK, NEVER), episode='e2'))
    lines = summary.lines({'current': '/battery is not in the bag', 'temperature': 'unused'})
    assert lines[0] == 'ticks    4 in 2 episodes, policy 3fab1200'
    assert lines[1] == 'signals  temperature: ok in 3 of 4 ticks; stale 1'
    assert lines[2] == 'signals  current: missing, never (/battery is not in the bag)'
    assert lines[3] == 'active   trend 4, hazard 1 ticks'
    assert lines[4] == 'unusual  3 ticks above the novelty threshold'


def test_signals_that_fared_alike_share_a_line():
    summary = Summary()
    summary.add(picture())
    assert summary.lines()[1] == 'signals  temperature, current: ok'
