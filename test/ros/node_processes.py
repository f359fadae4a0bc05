# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes as processes of their own, as on a robot, each in a session of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# What the executables consist of; in the folder of the checkout these are only made by a build.
START = 'from thinking_policy.ros.starting import start; raise SystemExit(start({!r}))'
GRACE_S = 5.0  # between SIGINT, SIGTERM and SIGKILL


class NodeProcess:
    """One running node; what it prints goes to a file."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it with this Python.

        Args:
            module: Name within `thinking_policy.ros`.
            arguments: ROS arguments, without `--ros-args`.
            folder: Where it runs and what ROS_HOME is; gets the file of what it prints.
            environment: What to set beside.
        """
        self.name = module
        number = len(list(folder.glob(f'{module}.*.txt')))
        self._path = folder / f'{module}.{number}.txt'
        variables = {
            **os.environ,
            'ROS_HOME': str(folder),
            'RCUTILS_COLORIZED_OUTPUT': '0',
            'PYTHONUNBUFFERED': '1',
            **(environment or {}),
        }
        with self._path.open('w') as output:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    '-c',
                    START.format(module),
                    *(['--ros-args', *arguments] if arguments else []),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=variables,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._path.read_text(errors='replace')

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def handles_signals(self) -> bool:
        """Whether it has come as far as to handle SIGTERM, which Python by itself doesn't."""
        status = Path(f'/proc/{self._process.pid}/status').read_text()
        caught = int(re.search(r'SigCgt:\s*(\w+)', status)[1], 16)
        return bool(caught >> (signal.SIGTERM - 1) & 1)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process alone, as a launch does."""
        self._process.send_signal(number)

    def wait(self, timeout_s: float = 10.0) -> int:
        """Wait for its end and return the exit code."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f'{self.name} still runs after {timeout_s:.0f} s; it said:\n{self.output}'
            ) from None

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, float]:
        """Ask it to end and return its exit code and the seconds that took."""
        began = time.monotonic()
        self.send(number)
        return self.wait(), time.monotonic() - began

    def stop(self) -> None:
        """End it whatever it does: SIGINT, SIGTERM, SIGKILL."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if not self.running:
                return
            self.send(number)
            try:
                self._process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                continue
