# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The table of what a robot may live through."""

from __future__ import annotations

import re
import subprocess
import sys

from thinking_policy.policy import load_activities
from thinking_policy.training import scenarios
from thinking_policy.training.scenarios import (
    ACTIVITIES,
    DEFAULT_SCENARIO,
    PHASES,
    SCENARIOS,
    SIGNAL_NAMES,
)


def test_the_table_that_people_read_is_the_one_that_is_used():
    rows = re.findall(r'^\| (\w+) \| .+ \| (.+) \|$', scenarios.__doc__, re.MULTILINE)
    written = {name: set(thinking.split(', ')) - {'–'} for name, thinking in rows[1:]}
    assert written == {name: set(phase.activities) for name, phase in PHASES.items()}


def test_the_simulator_knows_the_shipped_activities_in_their_order(activity_list):
    assert tuple(a.id for a in load_activities(activity_list)) == ACTIVITIES


def test_every_activity_is_called_for_somewhere():
    lived = {a for names in SCENARIOS.values() for n in names for a in PHASES[n].activities}
    assert lived == set(ACTIVITIES)


def test_phases_name_known_signals():
    for phase in PHASES.values():
        assert {*phase.effects, *phase.shown_by} <= set(SIGNAL_NAMES)
        assert bool(phase.shown_by) == bool(phase.activities)


def test_every_phase_can_be_told_before_it_ends():
    for phase in PHASES.values():
        assert phase.seen_after <= phase.ticks[0] or not phase.activities


def test_every_effect_is_undone_before_its_scenario_begins_again():
    for name, phases in SCENARIOS.items():
        remaining = {}
        for phase in phases:
            for signal, effect in PHASES[phase].effects.items():
                if effect.shape not in ('peak', 'echo'):
                    remaining[signal] = effect.high
        assert all(value == 0 for value in remaining.values()), name


def test_there_is_a_healthy_scenario_and_a_default_one():
    assert SCENARIOS['healthy'] == ('healthy',)
    assert DEFAULT_SCENARIO in SCENARIOS


def test_a_simulated_robot_needs_no_torch():
    code = (
        'import sys; from thinking_policy.training.simulator import SimulatedRobot; '
        'SimulatedRobot("rising").at(3.0); '
        'sys.exit(any(m in sys.modules for m in ("torch", "onnx", "onnxruntime")))'
    )
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0
