# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Two robots side by side in one domain."""

from __future__ import annotations

import itertools

from robot import temperature
from sensor_msgs.msg import Temperature


def test_each_robot_hears_only_its_own_sensors_and_says_who_it_is(start_robot, observer):
    file_of = {'a': 20.0, 'b': 90.0}
    robots = {
        name: start_robot(name=f'/fleet_{name}', robot_id=f'unit-{name}', active=False)
        for name in file_of
    }
    for name, robot in robots.items():
        robot.wait_until_active()
        sender = robot.sensor(Temperature, 'temperature')
        message = temperature(file_of[name])
        observer.repeat(0.05, lambda sender=sender, message=message: sender.publish(message))
    for robot in robots.values():
        robot.wait_for_state('temperature', 0)
        robot.next_activations(3)
    for name, robot in robots.items():
        heard = [a for a in robot.activations if a.signals[0].state == 0]
        assert {a.signals[0].value for a in heard} == {file_of[name]}
        assert all(a.episode.startswith(f'unit-{name}-') for a in heard)
        # hazard follows the temperature: above 70 it is active
        assert heard[-1].activations[0].active == (name == 'b')
        robot.wait_for(lambda robot=robot: 'policy' in robot.diagnostics, 'diagnostics')
        assert {status.hardware_id for status in robot.diagnostics.values()} == {f'unit-{name}'}
        assert robot.parameter('robot_id') == f'unit-{name}'

    # one of them is silenced: the other does not notice
    one, other = robots.values()
    assert one.process.end()[0] == 0
    other.next_activations(3)
    ticks = [a.tick for a in other.activations]
    assert all(after == before + 1 for before, after in itertools.pairwise(ticks))
