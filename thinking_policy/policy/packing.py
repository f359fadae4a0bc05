# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How a situation becomes the tensors of a policy network.

One layout for every network, stated in the manifest: few inputs, since each costs a microsecond,
and with an empty event vocabulary none for events.

| input | type | shape | content |
|---|---|---|---|
| signals | float32 | [B, 2·T·F] | window [T, F] row-major, 0 where invalid; then valid as 0/1 |
| event_code | int64 | [B, E] | last events of known codes, newest last; 0: none, i + 1: code i |
| event_age | float32 | [B, E] | seconds since each; -1: none |
| code_age | float32 | [B, V] | seconds since the last occurrence of each code; -1: never |
| code_count | float32 | [B, V] | how often it has occurred, as far as the situation says |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.situation.situation import Situation

SIGNALS, EVENT_CODE, EVENT_AGE = 'signals', 'event_code', 'event_age'
CODE_AGE, CODE_COUNT = 'code_age', 'code_count'
PROBABILITY = 'probability'
NEVER_AGE = -1.0


@dataclass(frozen=True)
class InputSpec:
    """One input tensor: name, element type, shape without the batch, and what it holds."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    content: str


def input_specs(length: int, signals: int, recent: int, vocabulary: int) -> tuple[InputSpec, ...]:
    """Return the inputs in order.

    Args:
        length: T, samples per signal.
        signals: F.
        recent: E, recent events; unused with an empty vocabulary.
        vocabulary: V, codes the policy knows.
    """
    specs = [InputSpec(SIGNALS, 'float32', (2 * length * signals,), 'window_then_valid')]
    if vocabulary:
        specs += [
            InputSpec(EVENT_CODE, 'int64', (recent,), 'code_index_plus_one_newest_last'),
            InputSpec(EVENT_AGE, 'float32', (recent,), 'seconds_minus_one_none'),
            InputSpec(CODE_AGE, 'float32', (vocabulary,), 'seconds_minus_one_never'),
            InputSpec(CODE_COUNT, 'float32', (vocabulary,), 'occurrences'),
        ]
    return tuple(specs)


def pack_signals(windows: NDArray[np.float32], valid: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the input `signals` float32 [B, 2·T·F] of windows and valid [B, T, F]."""
    batch = len(windows)
    packed = np.stack((np.where(valid, windows, np.float32(0)), valid), axis=1)
    return packed.reshape(batch, -1).astype(np.float32, copy=False)


class Packer:
    """Fills preallocated input tensors for a batch of one. Not thread-safe.

    Attributes:
        buffers: The tensors by input name, batch first; `fill` overwrites them in place.
        halves: View [2, T, F] on `signals`: window, valid.
    """

    def __init__(self, length: int, signals: int, recent: int, vocabulary: Sequence[str]) -> None:
        """Allocate the tensors; the arguments are those of `input_specs` with the codes."""
        self.buffers: dict[str, NDArray[np.float32] | NDArray[np.int64]] = {}
        for spec in input_specs(length, signals, recent, len(vocabulary)):
            self.buffers[spec.name] = np.zeros((1, *spec.shape), spec.dtype)
        self.halves = self.buffers[SIGNALS].reshape(2, length, signals)
        self._window, self._valid = self.halves[0], self.halves[1]
        self._recent = recent
        self._index: Mapping[str, int] = {code: i for i, code in enumerate(vocabulary)}

    def fill(self, situation: Situation) -> None:
        """Pack one situation, whose shapes must be those of construction."""
        np.copyto(self._window, situation.window)
        np.copyto(self._valid, situation.valid)
        if self._index:
            self._fill_events(situation)

    def clear(self) -> None:
        """Show the network nothing: no valid sample, no event."""
        for buffer in self.buffers.values():
            buffer.fill(0)
        for name in (EVENT_AGE, CODE_AGE):
            if name in self.buffers:
                self.buffers[name].fill(NEVER_AGE)

    def fill_random_events(self, random: np.random.Generator) -> None:
        """Fill the event inputs, if there are any, with arbitrary codes and ages."""
        if not self._index:
            return
        codes = len(self._index)
        self.buffers[EVENT_CODE][:] = random.integers(0, codes + 1, (1, self._recent))
        self.buffers[EVENT_AGE][:] = random.uniform(0, 1e5, (1, self._recent))
        self.buffers[CODE_AGE][:] = random.uniform(0, 1e5, (1, codes))
        self.buffers[CODE_COUNT][:] = random.integers(0, 1000, (1, codes))

    def _fill_events(self, situation: Situation) -> None:
        code, age = self.buffers[EVENT_CODE][0], self.buffers[EVENT_AGE][0]
        code_age, code_count = self.buffers[CODE_AGE][0], self.buffers[CODE_COUNT][0]
        code.fill(0)
        age.fill(NEVER_AGE)
        code_age.fill(NEVER_AGE)
        code_count.fill(0)
        now = situation.stamp_ns
        for recalled in situation.recalled:
            index = self._index.get(recalled.event.code)
            if index is not None:
                code_age[index] = _age_s(now, recalled.event.stamp_ns)
                code_count[index] = recalled.count
        known = [event for event in situation.events if event.code in self._index]
        for event in known:
            index = self._index[event.code]
            code_age[index] = _age_s(now, event.stamp_ns)
            code_count[index] += 1
        newest = known[-self._recent :]
        for slot, event in enumerate(newest, start=self._recent - len(newest)):
            code[slot] = self._index[event.code] + 1
            age[slot] = _age_s(now, event.stamp_ns)


def _age_s(now_ns: int, stamp_ns: int) -> float:
    # An event may carry a stamp just after the tick's end; it is not younger than now.
    return max(0, now_ns - stamp_ns) * 1e-9
