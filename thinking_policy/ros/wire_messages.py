# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The two messages of every tick, written as CDR at once.

rclpy turns a message into C and then into CDR, field by field: for these two that costs more
than the policy's inference. Their layout is fixed (the type hashes are tested), so the bytes are
written here, and tests compare them with what rclpy reads. Little-endian XCDR1.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from thinking_policy.situation import Event, Situation

_LITTLE_ENDIAN = b'\x00\x01\x00\x00'
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_pack_float = struct.Struct('<f').pack_into
_pack_floats = struct.Struct('<ff').pack_into
_pack_flag = struct.Struct('<B').pack_into
_pack_stamp = struct.Struct('<iI').pack_into
_pack_tick = struct.Struct('<Q').pack_into


class CdrWriter:
    """Appends values; each is aligned to its size, counted from behind the encapsulation."""

    def __init__(self) -> None:
        """Begin a message."""
        self.buffer = bytearray(_LITTLE_ENDIAN)

    def align(self, size: int) -> int:
        """Pad to a multiple of `size` and return the offset in the buffer."""
        self.buffer += bytes(-(len(self.buffer) - 4) % size)
        return len(self.buffer)

    def number(self, code: str, value: float) -> int:
        """Append a number by its struct code and return its offset."""
        at = self.align(struct.calcsize(code))
        self.buffer += struct.pack(f'<{code}', value)
        return at

    def text(self, value: str) -> None:
        """Append a string."""
        data = value.encode('utf-8') + b'\x00'
        self.number('I', len(data))
        self.buffer += data

    def header(self, stamp_ns: int) -> int:
        """Append a std_msgs/Header without a frame and return the offset of its stamp."""
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        at = self.number('i', seconds)
        self.number('I', nanoseconds)
        self.text('')
        return at

    def array(self, values: np.ndarray[Any, Any]) -> None:
        """Append a sequence of float32, uint32 or uint8."""
        self.number('I', values.size)
        if values.size:
            self.align(values.itemsize)
        self.buffer += values.tobytes()


def situation_bytes(situation: Situation) -> bytes:
    """Return a situation as a serialized thinking_policy/msg/Situation."""
    writer = CdrWriter()
    writer.header(situation.stamp_ns)
    writer.text(situation.episode)
    writer.number('Q', situation.tick)
    writer.number('d', situation.period_s)
    writer.number('I', situation.window.shape[0])
    writer.number('I', len(situation.signals))
    for name in situation.signals:
        writer.text(name)
    writer.array(np.asarray(situation.window, '<f4'))
    writer.array(np.asarray(situation.valid, np.uint8))
    _write_events(writer, situation.events)
    _write_events(writer, [entry.event for entry in situation.recalled])
    writer.array(np.array([entry.count for entry in situation.recalled], '<u4'))
    return bytes(writer.buffer)


def _write_events(writer: CdrWriter, events: Sequence[Event]) -> None:
    writer.number('I', len(events))
    for event in events:
        writer.header(event.stamp_ns)
        writer.number('B', event.kind)
        writer.text(event.code)
        writer.text(event.source)
        writer.number('f', float32_or_nan(event.value))


class ActivationsWriter:
    """Writes thinking_policy/msg/ThinkingActivations: once whole, then only what changes."""

    def __init__(
        self,
        version: str,
        activities: Sequence[str],
        thresholds: Sequence[float],
        signals: Sequence[str],
        novelty_threshold: float,
    ) -> None:
        """Prepare for one policy.

        Args:
            version: Hash of its manifest.
            activities: G ids, in order.
            thresholds: On-thresholds in force, [G].
            signals: F names, in window order.
            novelty_threshold: Novelty above this is unusual.
        """
        self._version = version
        self._activities = tuple(zip(activities, thresholds, strict=True))
        self._signals = tuple(signals)
        self._novelty_threshold = novelty_threshold
        self._episode: str | None = None

    def write(
        self,
        situation: Situation,
        probability: Any,
        active: Any,
        *,
        novelty: float,
        inference_time_s: float,
    ) -> bytes:
        """Return the message of one tick.

        Args:
            situation: What the policy saw.
            probability: float32 [G].
            active: bool [G].
            novelty: Distance from what is normal.
            inference_time_s: Seconds.
        """
        if situation.episode != self._episode:
            self._lay_out(situation.episode)
        buffer = self._buffer
        _pack_stamp(buffer, self._stamp_at, *divmod(situation.stamp_ns, 1_000_000_000))
        _pack_tick(buffer, self._tick_at, situation.tick)
        for at, p, a in zip(
            self._activations_at, probability.tolist(), active.tolist(), strict=True
        ):
            _pack_float(buffer, at, p)
            _pack_flag(buffer, at + 8, a)
        _pack_float(buffer, self._novelty_at, float32_or_nan(novelty))
        _pack_floats(buffer, self._novelty_at + 8, float(situation.valid.mean()), inference_time_s)
        for (state_at, value_at), reading in zip(
            self._signals_at, situation.readings, strict=True
        ):
            _pack_flag(buffer, state_at, reading.state)
            _pack_floats(buffer, value_at, float32_or_nan(reading.value), reading.age_s)
        return bytes(buffer)

    def _lay_out(self, episode: str) -> None:
        """Write the whole message for an episode and note where the changing parts are."""
        writer = CdrWriter()
        self._stamp_at = writer.header(0)
        writer.text(self._version)
        writer.text(episode)
        self._tick_at = writer.number('Q', 0)
        writer.number('I', len(self._activities))
        self._activations_at = []
        for name, threshold in self._activities:
            writer.text(name)
            self._activations_at.append(writer.number('f', 0.0))  # probability,
            writer.number('f', threshold)
            writer.number('B', 0)  # active
        self._novelty_at = writer.number('f', 0.0)  # novelty,
        writer.number('f', self._novelty_threshold)
        writer.number('f', 0.0)  # valid fraction,
        writer.number('f', 0.0)  # inference time
        writer.number('I', len(self._signals))
        self._signals_at = []
        for name in self._signals:
            writer.text(name)
            state_at = writer.number('B', 0)
            value_at = writer.number('f', 0.0)  # value,
            writer.number('f', 0.0)  # age
            self._signals_at.append((state_at, value_at))
        self._buffer, self._episode = writer.buffer, episode


def float32_or_nan(value: float) -> float:
    """Return a number that a float32 can hold; NaN where it would overflow."""
    return value if -_LARGEST_FLOAT32 <= value <= _LARGEST_FLOAT32 else math.nan
