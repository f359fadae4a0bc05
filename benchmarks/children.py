# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Measured processes: started, spoken to over pipes, their CPU read from /proc, ended."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

TICKS_PER_S = os.sysconf('SC_CLK_TCK')


class Child:
    """One process; leaving the block ends it, after a while where it ends by itself."""

    def __init__(self, command: Sequence[str], ends_itself: bool = False) -> None:
        self.command = command
        self._patience_s = 5.0 if ends_itself else 0.0

    def __enter__(self) -> Child:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for number, patience_s in (
            (None, self._patience_s),
            (signal.SIGINT, 5.0),
            (signal.SIGKILL, 5.0),
        ):
            if number is not None:
                self.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience_s)
                return

    @property
    def pid(self) -> int:
        return self.process.pid

    def say(self, word: str) -> None:
        """Write a line to the child."""
        self.process.stdin.write(word + '\n')
        self.process.stdin.flush()

    def line(self, start: str, timeout_s: float) -> str:
        """Return the rest of the next line that begins with `start`."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise SystemExit(
                    f'{self.command[1:3]}: no line {start!r} in {timeout_s} s; '
                    f'exit code {self.process.poll()}'
                ) from None
            if line.startswith(start):
                return line.removeprefix(start).strip()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)


def policy_node(parameters: Path) -> Child:
    """Return the policy node, not started yet, with a parameter file."""
    return Child(
        [
            sys.executable,
            '-P',
            '-c',
            'from thinking_policy.ros.policy_node import main; raise SystemExit(main())',
            '--ros-args',
            '--log-level',
            'error',
            '--params-file',
            str(parameters),
        ]
    )


def end_on_interrupt() -> None:
    """End this process at SIGINT without a word: its work is done."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))


def cpu_s(pid: int) -> float:
    """Return user + system time that a process has used, all threads; seconds."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def wait_until(condition: Callable[[], bool], timeout_s: float) -> None:
    """Wait for a condition.

    Raises:
        SystemExit: It did not come true in time.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f'not matched in {timeout_s} s')
        time.sleep(0.05)
