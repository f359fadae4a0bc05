# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one node until it is told to stop: SIGINT, SIGTERM, twice if need be, exit code 0.

rclpy's own handlers shut the context down at once, and then nothing can be published or logged
any more. Here a signal only wakes the executor; the node is closed while ROS still works.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from thinking_policy import ThinkingPolicyError
from thinking_policy.ros.lean_executor import make_executor

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Whoever sent the signal follows up after 5 s with a harder one.
LONGEST_END_S = 4.5
# Even Python may be stuck by then, in a call into the middleware that holds its lock.
_LAST_RESORT_S = LONGEST_END_S + 0.3
_REPEATED_ERROR_PAUSE_S = 0.05


class Runnable(Protocol):
    """What a node needs besides being one."""

    finished: bool

    def start(self) -> None:
        """Begin, in the executor's thread, before it spins."""

    def report(self, where: str, error: Exception) -> None:
        """Count and say an error that a callback let through."""

    def close(self) -> None:
        """Flush and end; ROS still works."""


class StopRequest:
    """Whether a stop signal came; later ones change nothing."""

    def __init__(self) -> None:
        """Start without a request."""
        self._requested = threading.Event()
        self._wake: Callable[[], object] = lambda: None

    @property
    def requested(self) -> bool:
        """Whether to stop."""
        return self._requested.is_set()

    def on_request(self, wake: Callable[[], object]) -> None:
        """Call `wake` from a thread of our own when a signal comes."""
        self._wake = wake

    def request(self) -> None:
        """Ask to stop and wake who waits."""
        self._requested.set()
        self._wake()


@contextlib.contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Turn stop signals into a request while the block runs; must be the main thread.

    Python runs its signal handlers only between bytecodes of the main thread, which sits in the
    middleware's wait. So the byte that the interpreter writes for a signal is read by a thread.
    If the block hasn't ended `LONGEST_END_S` after the request, the process is ended; where
    Python itself is stuck, by a thread that needs none and shows where.
    """
    request, ended = StopRequest(), threading.Event()
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def listen() -> None:
        if not reader.recv(1) or ended.is_set():
            return
        with contextlib.suppress(AttributeError, OSError, ValueError):  # stderr is no file
            faulthandler.dump_traceback_later(_LAST_RESORT_S, exit=True)
        request.request()
        if not ended.wait(LONGEST_END_S):
            print(f'not ended {LONGEST_END_S} s after the signal: giving up', file=sys.stderr)
            os._exit(70)

    # An ignored SIGHUP is nohup's; SIGINT is ignored in what a script starts with `&`, also for
    # the children of a launch in it, which ends them by SIGINT.
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    numbers = [n for n in STOP_SIGNALS if not (n == signal.SIGHUP and ignored)]
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    before_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=listen, name='stop-signals', daemon=True).start()
    try:
        yield request
    finally:
        ended.set()
        faulthandler.cancel_dump_traceback_later()
        signal.set_wakeup_fd(before_fd)
        for number, handler in before.items():
            # Ctrl-C comes twice under launch; the second one must not kill what is ending.
            signal.signal(number, signal.SIG_IGN if request.requested else handler)
        writer.close()


def run_node(make: Callable[[], Node], arguments: Sequence[str] | None = None) -> int:
    """Make a node, spin it until it is finished or a signal comes, and close it.

    Args:
        make: Makes the node; a `Runnable`.
        arguments: Command line with `--ros-args`; `sys.argv` where None.

    Returns:
        Exit code: 0, or 2 where the arguments or parameters were refused.
    """
    with stop_on_signals() as stop:
        try:
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        except Exception as error:  # a broken parameter file, an unknown argument
            print(f'error: {_first_line(error)}', file=sys.stderr)
            return 2
        try:
            node = make()
        except ThinkingPolicyError as error:
            rclpy.logging.get_logger('thinking_policy').fatal(str(error))
            rclpy.try_shutdown()
            return 2
        executor = make_executor()
        executor.add_node(node)
        stop.on_request(lambda: executor.create_task(lambda: None))
        try:
            _spin(node, executor, stop)
        finally:
            executor.shutdown()
            node.destroy_node()
            rclpy.try_shutdown()
    return getattr(node, 'exit_code', 0)


def _spin(node: Runnable, executor: SingleThreadedExecutor, stop: StopRequest) -> None:
    try:
        node.start()
        while not (stop.requested or node.finished):
            try:
                executor.spin_once()
            except ExternalShutdownException:
                return
            except Exception as error:
                node.report('a callback', error)
                time.sleep(_REPEATED_ERROR_PAUSE_S)  # whatever it is, not in a busy loop
    finally:
        node.close()


def _first_line(error: Exception) -> str:
    if type(error).__name__ == 'UnknownROSArgsError':  # says nothing but the arguments
        return f'unknown ROS arguments {error}'
    return (str(error).splitlines() or [type(error).__name__])[0]
