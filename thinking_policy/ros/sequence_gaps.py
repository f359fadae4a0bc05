# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How many messages of a topic were lost, from the numbers that its publishers give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

# A stream of numbers that jumps by more than this is another publisher, not a loss.
LARGEST_GAP = 1_000_000
_UNSUPPORTED = 2**64 - 1


class SequenceGaps:
    """Counts lost messages from gaps in the sequence numbers.

    rclpy doesn't say which publisher a message came from. With several, each number continues
    the stream with the closest smaller number: which stream that is may be wrong, the sum of
    the gaps is right all the same.
    """

    def __init__(self, publishers: Callable[[], int]) -> None:
        """Start with no stream.

        Args:
            publishers: Returns how many publishers the topic has now.
        """
        self.lost = 0
        self._publishers = publishers
        self._last: list[int] = []  # of each stream; the one heard last stands last

    def see(self, numbers: Sequence[int | None]) -> None:
        """Take the numbers of the next messages, in order; each publisher began at 1.

        None and the largest number stand for a middleware that doesn't number messages.
        """
        last, count = self._last, len(numbers)
        if len(last) == 1 and numbers[0] == last[0] + 1 and numbers[-1] == last[0] + count:
            last[0] = numbers[-1]  # nearly always
            return
        for number in numbers:
            if number is not None and number < _UNSUPPORTED:
                self._see(number)

    def _see(self, number: int) -> None:
        last = self._last
        publishers = max(self._publishers(), 1)
        del last[:-publishers]  # of publishers that went away
        before = max((n for n in last if n < number), default=None)
        if before is not None and (
            number == before + 1
            # a publisher that was not heard yet is likelier than a loss
            or (len(last) >= publishers and number - before <= LARGEST_GAP)
        ):
            self.lost += number - before - 1
            last.remove(before)
        elif len(last) >= publishers:
            last.pop(0)  # a publisher began anew
        last.append(number)
