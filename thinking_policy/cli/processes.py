# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes as child processes: started from one table, listened to, ended in order."""

from __future__ import annotations

import collections
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

# A child that is interrupted while it still imports shall end without a traceback.
START = (
    'import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); '
    'from thinking_policy.cli.child import main; raise SystemExit(main())'
)
LAST_LINES = 12  # of a child's output, repeated when it dies
GRACE_S = {signal.SIGINT: 5.0, signal.SIGTERM: 2.0}  # then the next harder signal


@dataclass(frozen=True)
class ProcessSpec:
    """One row of the table: what to run and under which name its output appears."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Ended:
    """A child that ended by itself; `code` as subprocess gives it (negative: by a signal)."""

    name: str
    code: int
    last_lines: tuple[str, ...]

    @property
    def reason(self) -> str:
        """How it ended, in words."""
        if self.code >= 0:
            return f'exit code {self.code}'
        return f'signal {signal.Signals(-self.code).name}'


@dataclass
class _Child:
    spec: ProcessSpec
    process: subprocess.Popen[str]
    reader: threading.Thread
    lines: collections.deque[str] = field(
        default_factory=lambda: collections.deque(maxlen=LAST_LINES)
    )
    reported: bool = False


def node_command(module: str, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command that runs `main()` of a module in this interpreter.

    `-P` keeps the current directory out of the module path: in a checkout it would hide the
    installed package and its messages.
    """
    safe_path = ('-P',) if sys.version_info >= (3, 11) else ()
    return (sys.executable, *safe_path, '-c', START, module, str(os.getpid()), *arguments)


class Processes:
    """A group of children, each in a session of its own, so that Ctrl-C reaches only us.

    One thread per child reads its output; all methods are for the one owning thread.

    Args:
        environment: What children get as their environment.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._environment['PYTHONUNBUFFERED'] = '1'
        self._clock = clock
        self._children: list[_Child] = []
        self._output: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    def start(self, spec: ProcessSpec) -> int:
        """Start one child and return its process id.

        Raises:
            OSError: The program cannot be started.
        """
        process = subprocess.Popen(
            spec.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            env=self._environment,
            start_new_session=True,
        )
        assert process.stdout is not None
        child = _Child(spec, process, threading.Thread())
        child.reader = threading.Thread(
            target=self._read, args=(child, process.stdout), daemon=True
        )
        child.reader.start()
        self._children.append(child)
        return process.pid

    def output(self) -> list[tuple[str, str]]:
        """Return (child's name, line) of what the children printed since the last call."""
        lines = []
        while not self._output.empty():
            lines.append(self._output.get())
        return lines

    def ended(self) -> list[Ended]:
        """Return the children that ended since the last call, their output complete."""
        found = []
        for child in self._children:
            if not child.reported and child.process.poll() is not None:
                child.reported = True
                child.reader.join(timeout=1.0)  # a grandchild may hold the pipe open
                found.append(Ended(child.spec.name, child.process.returncode, tuple(child.lines)))
        return found

    def stop(self) -> list[Ended]:
        """End all children: SIGINT once, then SIGTERM, then SIGKILL to what is left.

        Returns:
            The children that had to be ended by harder means or ended with an error. One that
            SIGINT ended before it could take notice is neither.
        """
        for number, grace_s in GRACE_S.items():
            for child in self._running():
                child.process.send_signal(number)
            deadline = self._clock() + grace_s
            while self._running() and self._clock() < deadline:
                time.sleep(0.02)
        for child in self._running():
            os.killpg(child.process.pid, signal.SIGKILL)
            child.process.wait()
        return [end for end in self.ended() if end.code not in (0, -signal.SIGINT)]

    def _running(self) -> list[_Child]:
        return [child for child in self._children if child.process.poll() is None]

    def _read(self, child: _Child, stream: IO[str]) -> None:
        for line in stream:
            text = line.rstrip()
            if text:
                child.lines.append(text)
                self._output.put((child.spec.name, text))
