# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How nodes end, and what they remember of it."""

from __future__ import annotations

import json
import signal as signals
import subprocess
import sys
import time

import pytest
from recordings import write_bag
from robot import signal, temperature
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Temperature

LONGEST_S = 5.0
HOT = {'temperature': signal(limit_high=80.0, limit_hysteresis=5.0)}


@pytest.mark.parametrize('number', [signals.SIGINT, signals.SIGTERM, signals.SIGHUP])
def test_ends_at_a_signal(start_robot, number):
    robot = start_robot()
    robot.next_activations()
    code, seconds = robot.process.end(number)
    assert (code, seconds < LONGEST_S) == (0, True)
    assert 'Traceback' not in robot.output


def test_a_second_signal_during_the_end_changes_nothing(start_robot):
    robot = start_robot()
    robot.next_activations()
    began = time.monotonic()
    for _ in range(3):
        robot.process.send(signals.SIGINT)
        robot.observer.listen(0.03)
        if not robot.process.running:
            break
    assert robot.process.wait() == 0
    assert time.monotonic() - began < LONGEST_S
    assert 'Traceback' not in robot.output


@pytest.mark.parametrize('number', [signals.SIGINT, signals.SIGTERM])
def test_ends_while_it_starts(start_node, params_file, observer, tmp_path, number):
    file = params_file()
    for delay in (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9):  # imports, middleware, policy, first tick
        process = start_node('policy_node', ['--params-file', str(file)], tmp_path)
        observer.wait_for(lambda process=process: process.handles_signals, 'its first line')
        observer.listen(delay)
        code, seconds = process.end(number)
        assert (code, seconds < LONGEST_S) == (0, True), (delay, seconds, process.output)
        assert 'Traceback' not in process.output, delay


def test_a_simulated_robot_ends_at_a_signal(start_node, observer, tmp_path):
    process = start_node('simulated_robot', [], tmp_path)
    observer.wait_for(lambda: 'scenario' in process.output, 'its first line')
    code, seconds = process.end()
    assert (code, seconds < LONGEST_S) == (0, True)
    assert 'Traceback' not in process.output


def test_a_bag_player_says_what_is_no_bag_and_ends_at_a_signal(start_node, observer, tmp_path):
    process = start_node('bag_player', ['-p', f'bag:={tmp_path}'], tmp_path)
    assert process.wait() == 2
    assert str(tmp_path) in process.output
    rows = [('/temperature', temperature(20.0), i * 10**9) for i in range(1, 1000)]
    bag = write_bag(tmp_path / 'bag', rows)
    clocks = observer.hear(Clock, '/clock')
    process = start_node('bag_player', ['-p', f'bag:={bag}'], tmp_path)
    observer.wait_for(lambda: clocks, 'the clock')
    code, seconds = process.end()
    assert (code, seconds < LONGEST_S) == (0, True)
    assert 'Traceback' not in process.output


def test_an_event_is_remembered_across_a_restart(start_robot, tmp_path):
    state = tmp_path / 'state' / 'recalled.json'
    robot = start_robot(HOT, state_path=str(state))
    sender = robot.sensor(Temperature, 'temperature')
    sender.publish(temperature(90.0))
    robot.wait_for(lambda: robot.events, 'an event')
    (event,) = robot.events
    assert (event.code, event.source, event.kind) == ('temperature_high', 'temperature', 0)
    assert event.value == 90.0
    assert robot.process.end()[0] == 0  # well before the next time of saving
    assert json.loads(state.read_text())['version'] == 1

    again = start_robot(HOT, state_path=str(state))
    again.wait_for(lambda: again.situations, 'a situation')
    situation = again.situations[0]
    assert list(situation.events) == []
    (recalled,) = situation.recalled
    assert recalled.header.stamp == event.header.stamp
    assert (recalled.code, recalled.value) == ('temperature_high', 90.0)
    assert list(situation.recalled_count) == [1]


def test_a_corrupt_table_is_set_aside_and_a_new_one_begun(start_robot, tmp_path):
    for text in ('{"version": 1, "even', '{"version": 99}', '[]'):
        folder = tmp_path / f'state{len(text)}'
        folder.mkdir()
        state = folder / 'recalled.json'
        state.write_text(text)
        robot = start_robot(HOT, state_path=str(state), name=f'/robot_{len(text)}')
        robot.wait_for(lambda robot=robot: 'set aside as' in robot.output, 'a line in the log')
        assert str(state) in robot.output
        (aside,) = folder.glob('recalled.json.unreadable-*')
        assert aside.read_text() == text
        sender = robot.sensor(Temperature, 'temperature')
        sender.publish(temperature(90.0))
        robot.wait_for(lambda robot=robot: robot.events, 'an event')
        assert robot.process.end()[0] == 0
        assert 'temperature_high' in state.read_text()
        assert 'Traceback' not in robot.output


def test_a_table_that_cannot_be_written_is_said_and_thinking_goes_on(start_robot, tmp_path):
    blocked = tmp_path / 'file'
    blocked.write_text('not a folder')
    robot = start_robot(HOT, state_path=str(blocked / 'recalled.json'))
    sender = robot.sensor(Temperature, 'temperature')
    sender.publish(temperature(90.0))
    robot.wait_for(lambda: robot.events, 'an event')
    robot.next_activations(3)
    robot.wait_for(lambda: 'recalled.json: cannot be' in robot.output, 'a line in the log')
    assert robot.process.end()[0] == 0
    assert 'Traceback' not in robot.output


def test_a_process_that_cannot_even_wake_up_ends_all_the_same():
    stuck = (
        'import threading, time\n'
        'from thinking_policy.ros import spinning\n'
        'spinning._LAST_RESORT_S = 0.2\n'
        'with spinning.stop_on_signals() as stop:\n'
        '    stop.on_request(threading.Event().wait)\n'
        '    print("ready", flush=True)\n'
        '    while True:\n'
        '        time.sleep(0.05)\n'
    )
    with subprocess.Popen(
        [sys.executable, '-c', stuck], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == 'ready\n'
        process.send_signal(signals.SIGINT)
        _, said = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 1
    assert 'in listen' in said  # where it is stuck
