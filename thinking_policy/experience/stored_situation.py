# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A situation in the form in which it is stored and sent, and back again."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from thinking_policy.experience.parts import Code, Name, Nanoseconds, Part, checked
from thinking_policy.situation.situation import (
    Event,
    EventKind,
    Reading,
    Recalled,
    SignalState,
    Situation,
)

StateName = Literal['OK', 'STALE', 'INVALID', 'NEVER']
KindName = Literal['LIMIT', 'DIAGNOSTIC', 'TOPIC']

MOST_SIGNALS = 1024
MOST_EVENTS = 10_000


class StoredEvent(Part):
    """An event; `count` says how often a recalled one has occurred."""

    stamp_ns: Nanoseconds
    kind: KindName
    code: Code
    source: Name = ''
    value: float | None = None
    count: int = Field(default=1, ge=1, lt=2**32)


class StoredReading(Part):
    """How a signal stood; `value` in its own unit, None unless `state` is OK."""

    state: StateName
    value: float | None = None
    age_s: float = -1.0


class StoredSituation(Part):
    """A situation (Eq. 2).

    Attributes:
        window: float32 [T, F], little-endian, row-major, in base64.
        valid: One bit for each of T·F samples (`numpy.packbits`), in base64.
        new: How many of `events`, the newest, came with this tick.
    """

    stamp_ns: Nanoseconds
    tick: int = Field(ge=0, lt=2**64)
    episode: Name
    period_s: float = Field(gt=0.0)
    signals: tuple[Name, ...] = Field(max_length=MOST_SIGNALS, fail_fast=True)
    length: int = Field(ge=0, le=100_000)
    window: str = Field(max_length=3 << 20)
    valid: str = Field(max_length=1 << 20)
    readings: tuple[StoredReading, ...] = Field(
        default=(), max_length=MOST_SIGNALS, fail_fast=True
    )
    events: tuple[StoredEvent, ...] = Field(default=(), max_length=MOST_EVENTS, fail_fast=True)
    recalled: tuple[StoredEvent, ...] = Field(default=(), max_length=MOST_EVENTS, fail_fast=True)
    new: int = Field(default=0, ge=0)

    @model_validator(mode='after')
    def _sizes_fit(self) -> StoredSituation:
        samples = self.length * len(self.signals)
        decoded = {name: _bytes_of(getattr(self, name), name) for name in ('window', 'valid')}
        for name, expected in (('window', 4 * samples), ('valid', -(-samples // 8))):
            if len(decoded[name]) != expected:
                raise ValueError(
                    f'{name}: expected {expected} bytes for {self.length} samples of '
                    f'{len(self.signals)} signals, found {len(decoded[name])}'
                )
        if self.readings and len(self.readings) != len(self.signals):
            raise ValueError(
                f'readings: expected {len(self.signals)}, one for each signal, found '
                f'{len(self.readings)}'
            )
        if self.new > len(self.events):
            raise ValueError(
                f'new: expected at most {len(self.events)}, the number of events, found {self.new}'
            )
        if not np.isfinite(np.frombuffer(decoded['window'], '<f4')).all():
            raise ValueError('window: expected finite numbers, found NaN or infinity')
        return self

    def array(self) -> NDArray[np.float32]:
        """Return the window, float32 [T, F]."""
        numbers = np.frombuffer(_bytes_of(self.window, 'window'), '<f4')
        return numbers.reshape(self.length, len(self.signals))

    def mask(self) -> NDArray[np.bool_]:
        """Return which samples are usable, bool [T, F]."""
        shape = self.length, len(self.signals)
        bits = np.frombuffer(_bytes_of(self.valid, 'valid'), np.uint8)
        return np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape).astype(np.bool_)

    def situation(self) -> Situation:
        """Return it as the policy reads it."""
        events = tuple(_event(event) for event in self.events)
        return Situation(
            stamp_ns=self.stamp_ns,
            tick=self.tick,
            episode=self.episode,
            period_s=self.period_s,
            signals=self.signals,
            window=self.array(),
            valid=self.mask(),
            readings=tuple(
                Reading(name, SignalState[r.state], _or_nan(r.value), r.age_s)
                for name, r in zip(self.signals, self.readings, strict=False)
            ),
            new_events=events[len(events) - self.new :],
            events=events,
            recalled=tuple(Recalled(_event(entry), entry.count) for entry in self.recalled),
        )


def stored(situation: Situation) -> StoredSituation:
    """Return a situation in the form in which it is stored.

    Raises:
        ExperienceError: It has more signals, events or longer names than a record may.
    """
    window = np.ascontiguousarray(situation.window, '<f4')
    return checked(
        StoredSituation,
        'situation',
        stamp_ns=situation.stamp_ns,
        tick=situation.tick,
        episode=situation.episode,
        period_s=situation.period_s,
        signals=situation.signals,
        length=len(situation.window),
        window=base64.b64encode(window.tobytes()).decode(),
        valid=base64.b64encode(np.packbits(situation.valid).tobytes()).decode(),
        readings=tuple(
            StoredReading(
                state=cast(StateName, reading.state.name),
                value=_or_none(reading.value),
                age_s=reading.age_s,
            )
            for reading in situation.readings
        ),
        events=_stored_events([Recalled(event, 1) for event in situation.events]),
        recalled=_stored_events(situation.recalled),
        new=min(len(situation.new_events), len(situation.events)),
    )


def _stored_events(entries: Sequence[Recalled]) -> tuple[StoredEvent, ...]:
    return tuple(
        StoredEvent(
            stamp_ns=entry.event.stamp_ns,
            kind=cast(KindName, entry.event.kind.name),
            code=entry.event.code,
            source=entry.event.source[:256],
            value=_or_none(entry.event.value),
            count=entry.count,
        )
        for entry in entries
    )


def _event(stored_event: StoredEvent) -> Event:
    return Event(
        stored_event.stamp_ns,
        EventKind[stored_event.kind],
        stored_event.code,
        stored_event.source,
        _or_nan(stored_event.value),
    )


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _or_nan(value: float | None) -> float:
    return float('nan') if value is None else value


def _bytes_of(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f'{name}: expected base64, found {text[:20]!r}') from error
