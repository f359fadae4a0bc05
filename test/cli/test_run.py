# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`run` and `watch` as a user starts them: real nodes, real processes, real signals."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('rclpy')
messages = pytest.importorskip('thinking_policy.msg')

COMMAND = [
    sys.executable,
    *(('-P',) if sys.version_info >= (3, 11) else ()),
    '-c',
    'from thinking_policy.cli import main; raise SystemExit(main())',
]
PATIENCE_S = 60.0


def command(words, **options):
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, timeout=PATIENCE_S, **options
    )


@contextlib.contextmanager
def started(words, **options):
    """Start a command and kill what is left of it afterwards."""
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def children_of(pid):
    path = Path(f'/proc/{pid}/task/{pid}/children')
    return [int(child) for child in path.read_text().split()]


def is_alive(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_json_prints_the_messages_and_nothing_else_on_standard_output(tmp_path):
    done = command(['run', '--duration', '8', '--json'], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) >= 5
    assert set(found[0]) == set(messages.ThinkingActivations.get_fields_and_field_types())
    ticks = [message['tick'] for message in found]
    assert ticks == list(range(ticks[0], ticks[0] + len(ticks)))
    assert all(signal['state'] in (0, 1, 2, 3) for signal in found[-1]['signals'])
    assert any(signal['state'] == 0 for signal in found[-1]['signals'])
    assert 'policy_node | ' in done.stderr
    assert 'ticks    ' in done.stderr


def test_without_a_terminal_plain_lines_say_how_things_stand(tmp_path):
    done = command(
        ['run', '--duration', '8', '--namespace', '/robot1', '--robot-id', 'r1'], cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any('novelty' in line and '/7 ok' in line for line in lines), done.stdout
    assert any(line.startswith('signal   temperature      ok') for line in lines)
    assert any(line.startswith('ticks    ') for line in lines)
    assert '\x1b' not in done.stdout


def test_the_namespace_and_the_robot_reach_the_messages(tmp_path):
    done = command(
        ['run', '--duration', '6', '--json', '--namespace', '/robot1', '--robot-id', 'mule-7'],
        cwd=tmp_path,
    )
    assert json.loads(done.stdout.splitlines()[0])['episode'].startswith('mule-7-')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_its_nodes(number, tmp_path):
    with started(['run', '--json'], cwd=tmp_path) as run:
        assert run.stdout.readline().startswith('{')
        nodes = children_of(run.pid)
        assert len(nodes) == 2
        begun = time.monotonic()
        run.send_signal(number)
        _, error = run.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - begun < 5.0
        assert run.returncode == 0, error
        assert 'Traceback' not in error
        assert not [node for node in nodes if is_alive(node)]


def test_a_node_that_dies_is_said_with_its_last_lines(tmp_path):
    with started(['run', '--json'], cwd=tmp_path) as run:
        assert run.stdout.readline().startswith('{')
        policy, _ = children_of(run.pid)  # in the order in which they were started
        os.kill(policy, signal.SIGKILL)
        _, error = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 1
    assert 'thinking-policy: error: policy_node ended with signal SIGKILL' in error


def test_a_refused_parameter_ends_the_run_with_the_nodes_own_words(tmp_path):
    done = command(['run', '--ros-args', '-p', 'tick_period_s:=-1.0'], cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.split('its last lines:')[1]
    assert 'tick_period_s' in last
    assert '0.01...3600' in last


def test_a_policy_that_does_not_load_ends_the_run_with_the_reason(tmp_path):
    path = tmp_path / 'broken.onnx'
    path.write_bytes(b'not a model')
    done = command(['run', '--policy', str(path)], cwd=tmp_path)
    assert done.returncode == 1
    assert str(path) in done.stderr.splitlines()[-1]


def test_a_live_robot_that_says_nothing_still_gives_activations(tmp_path):
    done = command(['run', '--live', '--duration', '6', '--json'], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {signal['state'] for signal in found['signals']} == {3}
    assert all(signal['value'] is None for signal in found['signals'])


def test_watch_hears_a_run_and_says_what_to_do_until_then(tmp_path):
    with started(['watch'], cwd=tmp_path) as watch:
        assert watch.stdout.readline().startswith('Nothing heard yet on /thinking/activations')
        with started(['run', '--json'], cwd=tmp_path) as run:
            assert run.stdout.readline().startswith('{')
            line = watch.stdout.readline()
            while 'novelty' not in line:
                line = watch.stdout.readline()
            watch.send_signal(signal.SIGINT)
            assert watch.wait(PATIENCE_S) == 0


def test_watch_json_is_what_run_json_is(tmp_path):
    with started(['run', '--json'], cwd=tmp_path) as run:
        assert run.stdout.readline().startswith('{')
        done = command(['watch', '--json', '--duration', '4'], cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[0])['policy_version']
