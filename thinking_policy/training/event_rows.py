# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The events of exported situations as a network's inputs, the way a robot would pack them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.packing import CODE_AGE, CODE_COUNT, EVENT_AGE, EVENT_CODE, Packer
from thinking_policy.situation import Event, EventKind, Situation
from thinking_policy.situation.memory import EventMemory
from thinking_policy.training.learning_set import EventRows


@dataclass(frozen=True)
class EventStream:
    """Events as `bag situations` exports them, with the rows that they belong to.

    Attributes:
        stamp_ns: int64 [N], end of each row's tick.
        episode: [N], what tells the episodes of rows apart.
        event_row: int64 [M], the row that first knew the event; N: none.
        event_tick: int64 [M], the tick that brought the event; all 0: not known.
        event_is_over: bool [M], whether the event's own episode ended before that row.
        event_stamp_ns: int64 [M].
        event_code: text [M].
        recent: How many recent events a situation holds.
        known: How many codes the table of last occurrences holds.
    """

    stamp_ns: NDArray[np.int64]
    episode: NDArray[np.int64]
    event_row: NDArray[np.int64]
    event_tick: NDArray[np.int64]
    event_is_over: NDArray[np.bool_]
    event_stamp_ns: NDArray[np.int64]
    event_code: NDArray[np.str_]
    recent: int
    known: int


def event_rows(stream: EventStream, vocabulary: Sequence[str], slots: int) -> EventRows:
    """Return the event inputs of every row.

    What a situation holds and how it is packed are the robot's own code. Where the export left
    out ticks, an event of a left-out tick counts to the next row; where that begins an episode,
    the event is one of those that are only recalled.

    Args:
        stream: The export.
        vocabulary: V codes, in the order of the network's inputs.
        slots: E, recent events that the network reads.
    """
    rows = len(stream.stamp_ns)
    packer = Packer(1, 1, slots, tuple(vocabulary))
    memory = EventMemory(stream.recent, stream.known)
    empty = np.zeros((1, 1), np.float32), np.zeros((1, 1), np.bool_)
    inputs = [
        np.zeros((rows, *packer.buffers[name].shape[1:]), packer.buffers[name].dtype)
        for name in (EVENT_CODE, EVENT_AGE, CODE_AGE, CODE_COUNT)
    ]
    # The order in the file is the order in which they became known.
    first = np.searchsorted(stream.event_row, np.arange(rows + 1), side='left')
    for row in range(rows):
        now = int(stream.stamp_ns[row])
        new = range(first[row], first[row + 1])
        _remember(memory, stream, [index for index in new if stream.event_is_over[index]])
        if row and stream.episode[row] != stream.episode[row - 1]:
            memory.begin_episode()
        _remember(memory, stream, [index for index in new if not stream.event_is_over[index]])
        packer.fill(
            Situation(
                now, row, '', 1.0, ('',), *empty, (), (), memory.recent(), memory.recalled(now)
            )
        )
        for filled, name in zip(
            inputs, (EVENT_CODE, EVENT_AGE, CODE_AGE, CODE_COUNT), strict=True
        ):
            filled[row] = packer.buffers[name][0]
    return EventRows(tuple(vocabulary), *inputs)


def _remember(memory: EventMemory, stream: EventStream, indices: Sequence[int]) -> None:
    for _, tick in itertools.groupby(indices, key=lambda index: int(stream.event_tick[index])):
        memory.add([_event(stream, index) for index in tick])


def _event(stream: EventStream, index: int) -> Event:
    # Only code and time reach the network.
    return Event(
        int(stream.event_stamp_ns[index]),
        EventKind.TOPIC,
        str(stream.event_code[index]),
        '',
        float('nan'),
    )
