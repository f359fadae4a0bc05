# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Entry of `thinking-policy`: finds the command, imports only what it needs, says errors."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import typer
import typer.core
import typer.main

from thinking_policy import ThinkingPolicyError, __version__
from thinking_policy.cli.remedies import remedy_for_import

PROGRAM = 'thinking-policy'


@dataclass(frozen=True)
class Entry:
    """Where a command lives, the line that `--help` shows before it is imported, an example."""

    module: str
    summary: str
    example: str = ''


COMMANDS = {
    'run': Entry('thinking_policy.cli.run', 'Start the nodes: simulated robot, bag or robot.'),
    'watch': Entry('thinking_policy.cli.watch', 'Show signals and activations as they change.'),
    'bag': Entry(
        'thinking_policy.cli.bag',
        'Look into bags, make one from CSV, export tensors.',
        'thinking-policy bag info walking_bag --config turtlebot3',
    ),
    'policy': Entry(
        'thinking_policy.cli.policy',
        'Show, verify and sign policy files.',
        'thinking-policy policy show policy.onnx',
    ),
    'calibrate': Entry(
        'thinking_policy.cli.calibrate',
        'Learn what is normal for a robot; write its robot file.',
    ),
    'experiment': Entry(
        'thinking_policy.cli.experiment',
        "Run the paper's experiments beside the paper's figures.",
        'thinking-policy experiment ordering --quick',
    ),
    'label': Entry(
        'thinking_policy.cli.label', 'Write down what recorded situations call for, for training.'
    ),
    'train': Entry('thinking_policy.cli.train', 'Make a policy file from labelled situations.'),
    'evaluate': Entry(
        'thinking_policy.cli.evaluate', 'Measure a policy file on labelled situations.'
    ),
    'distil': Entry(
        'thinking_policy.cli.distil', 'Make a small policy that says what a large one says.'
    ),
    'serve': Entry(
        'thinking_policy.cli.serve', 'Run the server: experiences come in, policies go out.'
    ),
    'token': Entry(
        'thinking_policy.cli.token',
        'Make, list and revoke tokens of the server.',
        'thinking-policy token new --tenant lab',
    ),
    'registry': Entry(
        'thinking_policy.cli.registry',
        'Publish policies, go back, see what robots run.',
        'thinking-policy registry publish policy.onnx',
    ),
    'experience': Entry(
        'thinking_policy.cli.experience',
        'Look at experiences, export and import them, make them of bags.',
        'thinking-policy experience list --since 2h',
    ),
    'doctor': Entry('thinking_policy.cli.doctor', 'Check this machine; findings with remedies.'),
}


@dataclass(frozen=True)
class Invocation:
    """What the command line said beside the command's own options."""

    debug: bool = False
    ros_args: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Args:
        arguments: Words after the program's name; `sys.argv` where None.

    Returns:
        0, what the command returned, 2 for an error that was said, 130 for Ctrl-C, 143 for
        SIGTERM. A reader of a pipe that has seen enough, such as `| head`, is no error.
    """
    with _tidy_end():
        code = _run(arguments)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()  # else the interpreter finds the broken pipe, after its own end
            except (OSError, ValueError) as error:
                if getattr(error, 'errno', errno.EPIPE) != errno.EPIPE:
                    return _say(f'output: {error}', Invocation())  # such as a full disk
                _let_go_of_the_pipe()
        return code


def _run(arguments: Sequence[str] | None) -> int:
    words, invocation = split_arguments(list(sys.argv[1:] if arguments is None else arguments))
    try:
        if invocation.ros_args and words[:1] != ['run']:
            raise ThinkingPolicyError(
                f'--ros-args: only `{PROGRAM} run` passes them on, found `{" ".join(words)}`'
            )
        result = typer.main.get_command(app)(words, prog_name=PROGRAM, obj=invocation)
        return result if isinstance(result, int) else 0
    except SystemExit as end:  # how typer ends every command
        if getattr(end.__context__, 'errno', 0) == errno.EPIPE:  # how typer and rich say it
            _let_go_of_the_pipe()
            return 0
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _let_go_of_the_pipe()
        return 0
    except UnicodeEncodeError as error:  # a word that the terminal sent, where a name belongs
        return _say(f'expected UTF-8 text, found {error.object[:60]!r}', invocation)
    except (ThinkingPolicyError, OSError) as error:  # such as a full disk
        return _say(str(error), invocation)
    except ImportError as error:
        remedy = remedy_for_import(error)
        if remedy is None:
            raise
        return _say(remedy, invocation)


@contextlib.contextmanager
def _tidy_end() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that drafts and temporary folders go."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(*_: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _let_go_of_the_pipe() -> None:
    """Send what is still to be written nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream, original in ((sys.stdout, sys.__stdout__), (sys.stderr, sys.__stderr__)):
        try:
            stream.flush()
        except (OSError, ValueError):
            if original is not None:
                os.dup2(nowhere, original.fileno())
    os.close(nowhere)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


def split_arguments(words: list[str]) -> tuple[list[str], Invocation]:
    """Take `--debug` and `--ros-args … [--]` out of a command line.

    Returns:
        The words that are left, in order, and what was taken out.
    """
    ros_args: list[str] = []
    if '--ros-args' in words:
        start = words.index('--ros-args')
        stop = words.index('--', start) if '--' in words[start:] else len(words)
        ros_args = words[start + 1 : stop]
        words = words[:start] + words[stop + 1 :]
    debug = '--debug' in words
    return [word for word in words if word != '--debug'], Invocation(debug, tuple(ros_args))


def _say(message: str, invocation: Invocation) -> int:
    if invocation.debug:
        traceback.print_exc()
    line = '; '.join(part.strip() for part in message.splitlines() if part.strip())
    print(f'{PROGRAM}: error: {line}', file=sys.stderr)
    return 2


class LazyGroup(typer.core.TyperGroup):
    """Lists commands from the table above; imports one only when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a stand-in that has the name and the summary, enough for a listing."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        return typer.core.TyperCommand(cmd_name, help=entry.summary, short_help=entry.summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the real command for the call that is about to happen."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        if stand_in is None or name is None:
            return name, stand_in, rest
        command = typer.main.get_command(importlib.import_module(COMMANDS[name].module).app)
        command.name = name
        if not command.epilog:  # a group, whose commands have examples of their own
            command.epilog = f'Example: {COMMANDS[name].example}'
        _say_in_words(command)
        return name, command, rest


def _say_in_words(command: Any) -> None:
    """Have the help name what is expected as people do, not as Python does (`<list[Path]>`)."""
    for below in getattr(command, 'commands', {}).values():
        _say_in_words(below)
    for param in command.params:
        if isinstance(param, typer.core.TyperArgument):
            # Its name says it: BAG|FOLDER. Versions of typer that show no type ignore this.
            setattr(param, 'display_type', lambda ctx: '')  # noqa: B010


def _print_version(value: bool) -> None:
    if value:
        print(f'{PROGRAM} {__version__}')
        raise typer.Exit()


EXAMPLES = """\b
Examples:
  thinking-policy run                        a simulated robot with a developing fault
  thinking-policy run --config my_robot.yaml this robot's own topics
  thinking-policy watch                      what a running policy thinks, live
  thinking-policy doctor                     what is missing on this machine
"""

# Plain help instead of boxes: it starts faster, can be copied and searched, and fits 80 columns.
app = typer.Typer(
    cls=LazyGroup, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False
)


@app.callback(no_args_is_help=True, epilog=EXAMPLES)
def thinking_policy(
    version: bool = typer.Option(
        False,
        '--version',
        callback=_print_version,
        is_eager=True,
        help='Print the version and exit.',
    ),
    debug: bool = typer.Option(
        False, '--debug', help='Show the traceback of an error; may stand anywhere.'
    ),
) -> None:
    """Say which kinds of thinking a robot's situation calls for."""
