# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The thread below uplink and downlink."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError, Future

from thinking_policy.experience.rounds import AFTER_A_FAULT_S, Rounds


def nothing(_):
    pass


def test_it_waits_as_long_as_each_step_says():
    pauses, waited, done = iter([0.0, 3.0, 0.0, 5.0]), [], threading.Event()

    def step():
        try:
            return next(pauses)
        except StopIteration:
            done.set()
            raise CancelledError from None

    rounds = Rounds('test', step, nothing, waited.append)
    rounds.start()
    assert done.wait(10)
    rounds.close(5.0)
    assert waited == [3.0, 5.0]


def test_a_step_that_fails_is_told_of_and_made_again():
    told, waited, steps = [], [], []
    done = threading.Event()

    def step():
        steps.append(1)
        if len(steps) == 1:
            raise RuntimeError('the first')
        done.set()
        return 60.0

    def wait(seconds):
        waited.append(seconds)
        if len(waited) > 1:
            rounds.close(0.0)

    rounds = Rounds('test', step, told.append, wait)
    rounds.start()
    assert done.wait(10)
    rounds.close(5.0)
    assert [str(error) for error in told] == ['the first']
    assert waited[0] == AFTER_A_FAULT_S


def test_closing_ends_a_long_pause_at_once():
    began = threading.Event()

    def step():
        began.set()
        return 3600.0

    rounds = Rounds('test', step, nothing)
    rounds.start()
    assert began.wait(10)
    before = time.monotonic()
    rounds.close(30.0)
    assert time.monotonic() - before < 5.0


def test_closing_ends_a_wait_for_a_thread_that_never_answers():
    ended, asked = threading.Event(), threading.Event()

    def step():
        asked.set()
        try:
            return rounds.answer(Future())
        except CancelledError:
            ended.set()
            raise

    rounds = Rounds('test', step, nothing)
    rounds.start()
    assert asked.wait(10)
    rounds.close(10.0)
    assert ended.is_set()


def test_closing_what_never_started_is_nothing():
    rounds = Rounds('test', lambda: 0.0, nothing)
    rounds.close(1.0)
    rounds.close(1.0)
    assert rounds.closing
