# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What every test may rely on."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

_at_end = contextlib.ExitStack()


def pytest_configure(config: pytest.Config) -> None:
    """Give this test process and its children a ROS domain of their own.

    Set before anything imports rclpy, so that runs side by side don't hear each other. Signals
    that a shell or nohup makes its background jobs ignore mean something again: children inherit
    what is ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    try:
        from domain_coordinator import domain_id
    except ImportError:  # the tests of the part that needs no ROS
        return
    os.environ['ROS_DOMAIN_ID'] = str(_at_end.enter_context(domain_id()))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Hand the domain back."""
    _at_end.close()


@pytest.fixture(scope='session')
def checkout() -> Path:
    """Return the root of the source tree."""
    return Path(__file__).resolve().parent.parent
