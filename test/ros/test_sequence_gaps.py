# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Lost messages are counted right, whoever publishes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.ros.sequence_gaps import SequenceGaps


def lost(numbers, publishers=1):
    gaps = SequenceGaps(lambda: publishers)
    for number in numbers:
        gaps.see([number])
    at_once = SequenceGaps(lambda: publishers)
    at_once.see(numbers)
    assert at_once.lost == gaps.lost
    return gaps.lost


def test_nothing_is_lost_in_a_stream_without_gaps():
    assert lost([5, 6, 7, 8]) == 0


def test_a_gap_is_what_was_lost():
    assert lost([1, 2, 5, 6, 10]) == 2 + 3


def test_a_publisher_that_begins_anew_is_no_loss():
    assert lost([900, 901, 1, 2, 3]) == 0


def test_two_publishers_in_turn_lose_nothing():
    assert lost([7, 900, 8, 901, 9, 902], publishers=2) == 0


def test_two_publishers_with_the_same_numbers_lose_nothing():
    assert lost([7, 7, 8, 8, 9, 9], publishers=2) == 0


def test_a_middleware_without_numbers_counts_nothing():
    assert lost([2**64 - 1] * 5) == 0


def test_a_middleware_that_knows_no_numbers_counts_nothing():
    assert lost([None, None]) == 0


def test_a_jump_of_numbers_is_another_publisher():
    assert lost([1, 2, 10_000_000, 10_000_001]) == 0


@given(
    st.lists(st.tuples(st.integers(0, 1), st.booleans()), min_size=1, max_size=200),
    st.integers(3, 10_000),
)
def test_the_sum_over_two_publishers_is_right_once_both_were_heard(sent, offset):
    """Each entry: who publishes, and whether it arrives."""
    numbers = [1, offset]
    gaps = SequenceGaps(lambda: 2)
    for number in numbers:
        gaps.see([number])
    dropped = [0, 0]  # since the last one of this publisher that arrived
    counted = 0
    for who, arrives in sent:
        numbers[who] += 1
        if arrives:
            gaps.see([numbers[who]])
            counted += dropped[who]
            dropped[who] = 0
        else:
            dropped[who] += 1
    # a loss is known once something comes after it, and whose it was may take one more
    for who in (0, 1, 0, 1):
        numbers[who] += 1
        gaps.see([numbers[who]])
        counted += dropped[who]
        dropped[who] = 0
    assert gaps.lost == counted
