# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Buffers on real files, with a clock that the test moves. `conftest` hands these on."""

from __future__ import annotations

import time

import pytest

from thinking_policy.experience.buffer import BufferOptions, ExperienceBuffer


class MovedClock:
    """A wall clock and a steady one that stand still until the test moves them."""

    def __init__(self, wall_ns: int) -> None:
        self.wall_ns = wall_ns
        self.seconds = 0.0

    def move(self, seconds: float) -> None:
        self.seconds += seconds
        self.wall_ns += round(seconds * 1e9)


@pytest.fixture
def moved_clock():
    return MovedClock(1_766_000_000_000_000_000)


@pytest.fixture
def path(tmp_path):
    """Return where a file of experiences may be made; its folder isn't there yet."""
    return tmp_path / 'robot' / 'experience.db'


@pytest.fixture
def open_buffer(path, moved_clock):
    """Return what opens a buffer on `path`; all are closed at the end."""
    opened = []

    def open_one(**options):
        given = {'gather_s': 0.0, 'busy_s': 0.05, 'keep_free_bytes': 0} | options
        buffer = ExperienceBuffer(
            path,
            BufferOptions(**given),
            clock_ns=lambda: moved_clock.wall_ns,
            monotonic=lambda: moved_clock.seconds,
        )
        opened.append(buffer)
        return buffer

    yield open_one
    for buffer in opened:
        buffer.close(within_s=1.0)


@pytest.fixture
def wait_until():
    def wait(true, within_s=10.0):
        ends = time.monotonic() + within_s
        while not (found := true()):
            assert time.monotonic() < ends, 'it did not come true in time'
            time.sleep(0.005)
        return found

    return wait
