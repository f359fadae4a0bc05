# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: help, errors, what is imported."""

import importlib
import os
import signal
import subprocess
import sys

import pytest
import typer.main

from thinking_policy import __version__
from thinking_policy.cli import main as run_main
from thinking_policy.cli.main import COMMANDS, split_arguments
from thinking_policy.cli.remedies import remedy_for_import
from thinking_policy.shipped import config_folder


def all_commands():
    """Yield the words of every command and sub-command."""
    yield ()
    for name, entry in COMMANDS.items():
        yield (name,)
        command = typer.main.get_command(importlib.import_module(entry.module).app)
        for child in getattr(command, 'commands', {}):
            yield (name, child)


@pytest.mark.parametrize('words', list(all_commands()), ids=' '.join)
def test_help_of_every_command_shows_an_example(words, capsys):
    assert run_main([*words, '--help']) == 0
    text = capsys.readouterr().out
    assert 'Example' in text
    assert f'thinking-policy {" ".join(words)}'.rstrip() in text.split('Example')[1]


@pytest.mark.parametrize('words', list(all_commands()), ids=' '.join)
def test_help_names_no_argument_as_python_does(words, capsys):
    assert run_main([*words, '--help']) == 0
    text = capsys.readouterr().out
    assert 'list[' not in text
    assert '<path>' not in text
    assert '<Path>' not in text


def test_help_lists_every_command_with_its_summary(capsys):
    assert run_main(['--help']) == 0
    text = capsys.readouterr().out
    for name, entry in COMMANDS.items():
        assert f'{name} ' in text
        assert entry.summary in text


def test_version_is_the_packages(capsys):
    assert run_main(['--version']) == 0
    assert capsys.readouterr().out == f'thinking-policy {__version__}\n'


def imported(words):
    """Return the modules that a fresh interpreter has loaded after one command line."""
    code = (
        f'import sys\nfrom thinking_policy.cli import main\nmain({words!r})\n'
        'print("\\n".join(sys.modules), file=sys.stderr)'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, cwd='/', check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    'words',
    [['--help'], ['run', '--help'], ['watch', '--help'], ['doctor', '--help']],
    ids=' '.join,
)
def test_help_imports_nothing_heavy(words):
    heavy = {'rclpy', 'numpy', 'onnxruntime', 'rosbags', 'torch', 'rich.console'}
    assert not heavy & imported(words)


def test_an_unknown_command_is_refused_with_exit_code_2(capsys):
    assert run_main(['wach']) == 2
    assert 'wach' in capsys.readouterr().err


def test_no_command_shows_the_help(capsys):
    run_main([])
    captured = capsys.readouterr()
    assert 'Commands:' in captured.out + captured.err


def test_an_error_is_one_line_and_exit_code_2(capsys):
    assert run_main(['run', '--bag', '/no/such/bag']) == 2
    assert capsys.readouterr().err == (
        'thinking-policy: error: --bag /no/such/bag: no such file or folder\n'
    )


def test_debug_shows_where_an_error_came_from(capsys):
    assert run_main(['run', '--bag', '/no/such/bag', '--debug']) == 2
    error = capsys.readouterr().err
    assert 'Traceback' in error
    assert error.rstrip().endswith('no such file or folder')


def test_a_missing_extra_gives_one_line_that_names_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, 'rosbags', None)
    monkeypatch.delitem(sys.modules, 'thinking_policy.cli.bag', raising=False)
    for name in [n for n in sys.modules if n.startswith(('rosbags.', 'thinking_policy.bags'))]:
        monkeypatch.delitem(sys.modules, name)
    assert run_main(['bag', 'info', str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count('\n') == 1
    assert "pip install 'thinking_policy[bags]'" in error


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('rosbags.rosbag2', "'thinking_policy[bags]'"),
        ('torch', "'thinking_policy[train]'"),
        ('rclpy', 'make setup'),
        ('sensor_msgs', 'make setup'),
        ('thinking_policy.msg', 'colcon build'),
    ],
)
def test_remedy_for_what_cannot_be_imported(name, words):
    error = ModuleNotFoundError(f'No module named {name!r}', name=name)
    assert words in remedy_for_import(error)


def test_a_fault_of_ours_is_no_missing_extra():
    error = ModuleNotFoundError(
        "No module named 'thinking_policy.cli.x'", name='thinking_policy.cli.x'
    )
    assert remedy_for_import(error) is None


def test_ros_args_and_debug_are_taken_out_of_the_command_line():
    words, invocation = split_arguments(
        ['run', '--debug', '--ros-args', '-p', 'x:=1', '--', '--json']
    )
    assert words == ['run', '--json']
    assert invocation.debug
    assert invocation.ros_args == ('-p', 'x:=1')


def test_ros_args_of_another_command_are_refused(capsys):
    assert run_main(['doctor', '--ros-args', '-p', 'x:=1']) == 2
    assert '--ros-args' in capsys.readouterr().err


@pytest.mark.parametrize(
    'words',
    [['--simulate', 'x', '--live'], ['--bag', '/', '--live'], ['--bag', '/', '--simulate', 'x']],
    ids=' '.join,
)
def test_two_sources_exclude_each_other(words, capsys):
    assert run_main(['run', *words]) == 2
    assert 'exclude each other' in capsys.readouterr().err


@pytest.mark.parametrize('words', [['run'], ['watch']], ids=' '.join)
def test_without_ros_one_line_says_both_ways_to_get_it(words):
    code = (
        'import sys\nsys.modules["rclpy"] = None\n'
        f'from thinking_policy.cli import main\nraise SystemExit(main({words!r}))'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, cwd='/', check=False
    )
    assert done.returncode == 2
    assert done.stderr.count('\n') == 1
    assert 'setup.bash' in done.stderr
    assert 'make setup' in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    for words in (['doctor', '--help'], ['policy', 'show', str(config_folder() / 'policy.onnx')]):
        reading, writing = os.pipe()
        os.close(reading)
        code = f'import sys\nfrom thinking_policy.cli import main\nsys.exit(main({words!r}))\n'
        done = subprocess.run(
            [sys.executable, '-c', code], stdout=writing, stderr=subprocess.PIPE, text=True
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, '')


def test_sigterm_unwinds_the_command_that_runs(monkeypatch):
    tidied = []

    def command(*_, **__):
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            tidied.append(True)

    monkeypatch.setattr('typer.main.get_command', lambda app: command)
    assert run_main(['doctor']) == 143
    assert tidied == [True]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
