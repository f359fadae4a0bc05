# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes, with real small ones."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from thinking_policy.cli import processes as module
from thinking_policy.cli.processes import Processes, ProcessSpec, node_command

POLITE = """
import signal, sys
def leave(*_):
    print('leaving', flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, leave)
print('ready', flush=True)
while True:
    signal.pause()
"""
STUBBORN = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('ready', flush=True)
while True:
    signal.pause()
"""


def script(name, code):
    return ProcessSpec(name, (sys.executable, '-c', code))


def until(condition, timeout_s=10.0):
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, 'waited in vain'
        time.sleep(0.01)
    return value


@pytest.fixture
def group():
    group = Processes()
    yield group
    group.stop()


def test_output_of_both_streams_comes_with_the_name_of_the_child(group):
    group.start(script('talker', "import sys; print('a'); print('b', file=sys.stderr)"))
    lines = []
    until(lambda: lines.extend(group.output()) or len(lines) == 2)
    assert sorted(lines) == [('talker', 'a'), ('talker', 'b')]


def test_a_child_that_ends_is_reported_once_with_code_and_last_lines(group):
    group.start(script('failing', "print('why'); raise SystemExit(3)"))
    (end,) = until(group.ended)
    assert (end.name, end.code, end.last_lines) == ('failing', 3, ('why',))
    assert end.reason == 'exit code 3'
    assert group.ended() == []


def test_a_child_killed_by_a_signal_says_which(group):
    group.start(script('aborting', 'import os; os.abort()'))
    (end,) = until(group.ended)
    assert end.reason == 'signal SIGABRT'


def test_only_the_last_lines_are_kept(group):
    group.start(script('chatty', 'for i in range(500): print(i)\nraise SystemExit(1)'))
    (end,) = until(group.ended)
    assert end.last_lines[-1] == '499'
    assert len(end.last_lines) == module.LAST_LINES


def test_stop_interrupts_every_child_and_waits(group):
    pids = [group.start(script(name, POLITE)) for name in ('one', 'two')]
    lines = []
    until(lambda: lines.extend(group.output()) or len(lines) == 2)
    assert group.stop() == []
    assert [text for _, text in group.output()] == ['leaving', 'leaving']
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_node_that_is_interrupted_while_it_starts_is_no_failure(tmp_path):
    (tmp_path / 'slow_start.py').write_text(
        'print("importing", flush=True)\nimport time\ntime.sleep(60)\n'
    )
    group = Processes({**os.environ, 'PYTHONPATH': str(tmp_path)})
    group.start(ProcessSpec('slow', node_command('slow_start')))
    until(group.output)
    assert group.stop() == []
    assert group.output() == []


def test_a_child_that_ignores_signals_is_killed_and_said(group, monkeypatch):
    monkeypatch.setattr(module, 'GRACE_S', {signal.SIGINT: 0.1, signal.SIGTERM: 0.1})
    group.start(script('stubborn', STUBBORN))
    until(group.output)
    (end,) = group.stop()
    assert (end.name, end.reason) == ('stubborn', 'signal SIGKILL')


def test_ctrl_c_of_the_terminal_does_not_reach_a_child(group):
    pid = group.start(script('polite', POLITE))
    assert os.getsid(pid) == pid


def test_a_node_ends_when_its_parent_is_killed(tmp_path):
    (tmp_path / 'patient.py').write_text(
        'import time\ndef main():\n    print("up", flush=True)\n    time.sleep(60)\n'
    )
    parent = subprocess.Popen(
        [
            sys.executable,
            '-c',
            f"""
import sys, time
from thinking_policy.cli.processes import Processes, ProcessSpec, node_command
group = Processes({{**__import__('os').environ, 'PYTHONPATH': {str(tmp_path)!r}}})
pid = group.start(ProcessSpec('patient', node_command('patient')))
while not group.output():
    time.sleep(0.01)
print(pid, flush=True)
time.sleep(60)
""",
        ],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not is_running(pid))
    assert not is_running(pid)


def is_running(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_a_node_command_keeps_the_current_folder_off_the_module_path():
    command = node_command('thinking_policy.ros.policy_node', ['--ros-args'])
    assert command[0] == sys.executable
    assert sys.version_info < (3, 11) or command[1] == '-P'
    assert command[-1] == '--ros-args'
