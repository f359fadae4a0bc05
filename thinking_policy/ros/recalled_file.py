# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The table of last occurrences on disk, so that an event of an hour ago outlives a restart.

Writing happens in a thread of its own, off the tick; a file is replaced whole, never in part.
A file that cannot be read is set aside under another name and a new one begun.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinking_policy import ThinkingPolicyError
from thinking_policy.whole_file import whole_file


def default_path(node_name: str, environment: Mapping[str, str], what: str = 'recalled') -> Path:
    """Return where a node keeps something when it isn't told: below ROS_HOME, by its name.

    Args:
        node_name: Fully qualified, such as `/robot1/thinking_policy`.
        environment: Environment variables.
        what: What is kept.
    """
    given = environment.get('ROS_HOME')
    home = Path(given) if given else Path.home() / '.ros'
    return home / 'thinking_policy' / f'{node_name.strip("/").replace("/", ".")}.{what}.json'


def read_table(path: Path) -> tuple[dict[str, Any] | None, str]:
    """Return the table in a file, or None, and a line for the log, empty where all is well.

    An unreadable file is renamed to `<name>.unreadable-<seconds since 1970>`.
    """
    try:
        table = json.loads(path.read_text(encoding='utf-8'))
        if isinstance(table, dict):
            return table, ''
        problem = f'expected an object, found {type(table).__name__}'
    except FileNotFoundError:
        return None, ''
    except OSError as error:
        return None, f'{path}: cannot be read: {error.strerror}'
    except ValueError as error:
        problem = str(error)
    return None, set_aside(path, problem)


def set_aside(path: Path, problem: str) -> str:
    """Rename a file that holds no usable table and return the line that says so."""
    aside = path.with_name(f'{path.name}.unreadable-{int(time.time())}')
    try:
        path.rename(aside)
    except OSError as error:
        return f'{path}: no table of events: {problem}; it cannot be renamed: {error.strerror}'
    return f'{path}: no table of events: {problem}; set aside as {aside.name}, beginning anew'


class RecalledFile:
    """Writes the newest table that it was given; the caller's thread never waits for the disk.

    `offer` and `close` are called from one thread. Failures are kept as data: `failures` counts
    them and `last_failure` says the last one; the next table is tried again.
    """

    def __init__(self, path: Path) -> None:
        """Start the thread; nothing is read or written yet."""
        self.path = path
        self.failures = 0
        self.last_failure = ''
        self._written = ''
        self._next: dict[str, Any] | None = None
        self._closing = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._run, name='recalled-file', daemon=True)
        self._thread.start()

    def offer(self, table: dict[str, Any]) -> None:
        """Let a table be written soon; one that waits still is replaced."""
        with self._change:
            self._next = table
            self._change.notify()

    def close(self, timeout_s: float = 2.0) -> bool:
        """Write what waits and end the thread.

        Returns:
            Whether the thread ended in time.
        """
        with self._change:
            self._closing = True
            self._change.notify()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._next is not None or self._closing)
                table, self._next = self._next, None
                if table is None:
                    return
            self._write(table)

    def _write(self, table: dict[str, Any]) -> None:
        text = json.dumps(table, allow_nan=True)
        if text == self._written:
            return
        try:
            with whole_file(self.path, durable=True) as draft:
                draft.write_text(text, encoding='utf-8')
            self._written = text
        except ThinkingPolicyError as error:
            self.failures += 1
            self.last_failure = str(error)
