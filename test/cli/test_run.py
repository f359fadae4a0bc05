# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`run` and `watch` as a user starts them: real nodes, real processes, real signals."""

import contextlib
import fcntl
import json
import os
import pty
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
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
    """Start a command; end it afterwards as Ctrl-C does, so that its nodes are gone then."""
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
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
    assert any(line.startswith('signals  ') and ': ok' in line for line in lines)
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
    assert done.returncode == 2
    assert str(path) in done.stderr.splitlines()[-1]
    assert 'policy_node: not configured' in done.stderr.splitlines()[-1]


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


@pytest.fixture
def bag(tmp_path):
    """Write 6 s of a temperature that rises, and messages of a type that nobody knows."""
    rosbag2 = pytest.importorskip('rosbags.rosbag2')
    typesys = pytest.importorskip('rosbags.typesys')
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    types = store.types
    path = tmp_path / 'rising'
    with rosbag2.Writer(path, version=8) as writer:
        temperature = writer.add_connection(
            '/temperature', 'sensor_msgs/msg/Temperature', typestore=store
        )
        odd = writer.add_connection(
            '/odd', 'odd_msgs/msg/Odd', msgdef='', rihs01='RIHS01_' + '0' * 64
        )
        for index in range(60):
            stamp_ns = 1_700_000_000_000_000_000 + index * 100_000_000
            header = types['std_msgs/msg/Header'](
                types['builtin_interfaces/msg/Time'](*divmod(stamp_ns, 10**9)), ''
            )
            message = types['sensor_msgs/msg/Temperature'](header, 20.0 + index, 0.0)
            raw = store.serialize_cdr(message, 'sensor_msgs/msg/Temperature')
            writer.write(temperature, stamp_ns, raw)
            if index % 10 == 0:
                writer.write(odd, stamp_ns, b'\0\1\0\0\0\0\0\0')
    with contextlib.closing(sqlite3.connect(next(path.glob('*.db3')))) as database, database:
        database.execute("delete from message_definitions where topic_type like 'odd%'")
    return path


def test_a_bag_is_played_to_its_end_and_summed_up(bag):
    done = command(['run', '--bag', str(bag), '--rate', '2', '--json'], cwd=bag.parent)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    stamps = [m['header']['stamp']['sec'] + m['header']['stamp']['nanosec'] / 1e9 for m in found]
    assert 1_700_000_000 <= stamps[0] <= 1_700_000_002
    assert 1_700_000_006 <= stamps[-1] <= 1_700_000_008
    values = [m['signals'][0]['value'] for m in found if m['signals'][0]['state'] == 0]
    assert values == sorted(values)
    assert max(values) == pytest.approx(77.5, abs=2.0)  # the mean of a tick near the end
    assert 'signals  temperature: ok' in done.stderr
    assert 'missing, never (not in the bag, nor any other topic of type' in done.stderr
    assert 'cannot be decoded: odd_msgs/msg/Odd (6 messages)' in done.stderr


def test_a_bag_that_is_none_is_refused_before_anything_starts(tmp_path):
    done = command(['run', '--bag', str(tmp_path)], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count('\n') == 1
    assert str(tmp_path) in done.stderr


def test_a_looped_bag_begins_again_with_another_episode(bag):
    words = ['run', '--bag', str(bag), '--rate', '4', '--loop', '--json']
    with started(words, cwd=bag.parent) as run:
        before = json.loads(run.stdout.readline())
        while (after := json.loads(run.stdout.readline()))['tick'] > before['tick']:
            before = after
        assert after['episode'] != before['episode']
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 0


def test_a_simulation_keeps_away_from_topics_that_are_taken(tmp_path):
    with started(['run', '--json'], cwd=tmp_path) as first:
        while json.loads(first.stdout.readline())['signals'][0]['state'] != 0:
            pass  # until the simulated robot is heard
        second = command(['run', '--json', '--duration', '30'], cwd=tmp_path)
        assert second.returncode == 2, second.stderr
        assert 'published already' in second.stderr.splitlines()[-1]
        assert first.poll() is None  # who was there first goes on
        apart = command(
            ['run', '--duration', '6', '--json', '--namespace', '/other'], cwd=tmp_path
        )
        assert apart.returncode == 0, apart.stderr
        assert apart.stdout


REAL_BAGS = {
    'tb3_walking_bag': ('turtlebot3', 'vibration, distance, visibility, motion'),
    'stinger/test_bag': ('', 'vibration'),
}


@pytest.mark.parametrize('name', REAL_BAGS)
def test_real_bags_say_what_is_ok_and_what_is_missing(name, checkout, tmp_path):
    folder = Path(os.environ.get('THINKING_POLICY_REAL_DATA', checkout / '../shared/data'))
    path = folder / 'bags' / name
    if not path.is_dir():
        pytest.skip(f'no real data at {folder}')
    config, fed = REAL_BAGS[name]
    words = ['run', '--bag', str(path), '--rate', '4', '--json']
    done = command([*words, *(['--config', config] if config else [])], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    found = ', '.join(s['name'] for s in last['signals'] if s['state'] == 0)
    assert found == fed
    assert 'missing, never (' in done.stderr
    if name == 'tb3_walking_bag':
        assert 'cannot be decoded: gazebo_msgs/msg/PerformanceMetrics (101' in done.stderr


def test_on_a_terminal_the_view_is_drawn_and_left_behind(tmp_path):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    environment = {**os.environ, 'TERM': 'xterm-256color', 'COLUMNS': '80', 'LINES': '24'}
    process = subprocess.Popen(
        [*COMMAND, 'run', '--duration', '9'],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
    )
    os.close(theirs)
    drawn = bytearray()
    with contextlib.suppress(OSError):  # EIO: the other end is closed
        while part := os.read(ours, 65536):
            drawn += part
    os.close(ours)
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, error
    text = drawn.decode()
    second_screen, first_screen = text.rsplit('\x1b[?1049l', 1)  # where the view is given back
    assert '\x1b[?1049h' in second_screen
    assert 'The nodes are starting.' in second_screen
    for words in ('SIGNALS', 'THINKING', 'temperature', 'degC', 'Watch the trend', 'ticks    '):
        assert words in first_screen
