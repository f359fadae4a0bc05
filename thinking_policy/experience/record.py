# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a robot lived through, as it is stored, sent and learned from.

An experience is e = (s, a, h, y, f) of the paper (Eq. 3): situation, action, trace of the
reasoning, outcome, feedback. It never changes once it is recorded; what becomes known of it
later is an amendment. Both travel as one line of JSON each, and the line's SHA-256 says whether
two deliveries are the same.
"""

from __future__ import annotations

import enum
import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.parts import Code, Name, Nanoseconds, Part, checked, refusal
from thinking_policy.experience.stored_situation import (
    MOST_EVENTS,
    StoredEvent,
    StoredReading,
    StoredSituation,
    stored,
)

MAX_LINE = 4 << 20
"""Bytes of one record: a window of 1,000 samples of 200 signals, and texts."""

_SMALL_LINE = 100_000  # bytes
_MANY_NAMES, _MOST_NAMES = 5_000, 64  # in a line; in one object, of which none has 20

Text = Annotated[str, Field(max_length=65_536)]
Id = Annotated[
    str,
    Field(
        pattern=r'^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
        description='UUID version 7 (RFC 9562): begins with the time, so ids sort by it',
        examples=['0197a3f0-5b8c-7d3e-9f10-2b6f0c1d2e3f'],
    ),
]


class Reason(str, enum.Enum):
    """Why an experience was recorded."""

    CHANGE = 'change'  # of the active set
    NOVELTY = 'novelty'
    EVENT = 'event'
    OUTCOME = 'outcome'
    FEEDBACK = 'feedback'
    SAMPLE = 'sample'  # a thin regular one, so that the ordinary is known too


class ObservationKind(str, enum.Enum):
    """Which part of e an observation is."""

    ACTION = 'action'
    TRACE = 'trace'
    OUTCOME = 'outcome'
    FEEDBACK = 'feedback'


class Observation(Part):
    """An action, a trace, an outcome or a feedback; `stamp_ns` is the time it refers to."""

    kind: ObservationKind
    stamp_ns: Nanoseconds
    code: Code = ''
    reward: float | None = Field(default=None, ge=-1.0, le=1.0)
    expected: tuple[Name, ...] = Field(default=(), max_length=256, fail_fast=True)
    verified: bool = False
    source: Name = ''
    text: Text = ''


class Activation(Part):
    """What the policy said of one activity."""

    id: Name
    probability: float
    threshold: float
    active: bool


class Experience(Part):
    """One experience as it was recorded; `observations` were known by then."""

    kind: Literal['experience'] = 'experience'
    schema_version: Literal[1] = 1
    id: Id
    robot: Name
    reasons: tuple[Reason, ...] = Field(min_length=1, max_length=8)
    policy_version: Name
    situation: StoredSituation
    activations: tuple[Activation, ...] = Field(default=(), max_length=1024, fail_fast=True)
    novelty: float | None = None
    novelty_threshold: float | None = None
    observations: tuple[Observation, ...] = Field(default=(), max_length=1024, fail_fast=True)

    @property
    def active(self) -> tuple[str, ...]:
        """Return the active set Ĝ, in the policy's order."""
        return tuple(activation.id for activation in self.activations if activation.active)

    @property
    def labelled(self) -> bool:
        """Whether an outcome or a feedback was known."""
        return bool(self.observations) and any(map(is_label, self.observations))


class Amendment(Part):
    """What became known of an experience afterwards.

    Attributes:
        id: The experience's.
        revision: Milliseconds since 1970 at which it was taken in, larger than that of every
            earlier amendment of the same experience.
    """

    kind: Literal['amendment'] = 'amendment'
    schema_version: Literal[1] = 1
    id: Id
    robot: Name
    revision: int = Field(ge=1, lt=2**63)
    observation: Observation

    @property
    def labelled(self) -> bool:
        """Whether it is an outcome or a feedback."""
        return is_label(self.observation)


Record = Experience | Amendment
_RECORD: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator='kind')])


def is_label(observation: Observation) -> bool:
    """Whether an observation is an outcome or a feedback: what can be learned from."""
    return observation.kind in (ObservationKind.OUTCOME, ObservationKind.FEEDBACK)


def to_line(record: Record) -> bytes:
    """Return a record as JSON without a line break; the same record always as the same bytes."""
    # What `model_dump_json` calls, without the way over a str.
    return record.__pydantic_serializer__.to_json(record)


def from_line(line: bytes, source: str = 'record') -> Record:
    """Read a record.

    Args:
        line: JSON, at most `MAX_LINE` bytes.
        source: File or place named in errors.

    Raises:
        ExperienceError: Not a record of this schema; says where, what was expected and found.
    """
    if len(line) > MAX_LINE:
        raise ExperienceError(
            f'{source}: expected at most {MAX_LINE:,} bytes, found {len(line):,}', 'too_large'
        )
    if line.count(b'":') > _MANY_NAMES:
        _refuse_crowded_objects(line, source)
    try:
        return _RECORD.validate_json(line, strict=True)
    except ValidationError as error:
        raise refusal(error, source, show_input=len(line) < _SMALL_LINE) from error


def _refuse_crowded_objects(line: bytes, source: str) -> None:
    """Refuse a line with far more names in an object, or items in a list, than a record has.

    Pydantic makes an error of each unknown name, and each error keeps a copy of what it is about:
    a line of 4 MB would cost seconds and a gigabyte.
    """

    def look(names: list[tuple[str, object]]) -> None:
        if len(names) > _MOST_NAMES:
            raise ExperienceError(
                f'{source}: expected at most {_MOST_NAMES} names in an object, found '
                f'{len(names):,}, such as {names[0][0]!r:.40}'
            )
        for name, value in names:
            if isinstance(value, list) and len(value) > MOST_EVENTS:
                raise ExperienceError(
                    f'{source}: {name!r:.40}: expected at most {MOST_EVENTS:,} items, found '
                    f'{len(value):,}'
                )

    try:
        json.loads(line, object_pairs_hook=look)
    except (ValueError, RecursionError):  # what else is wrong, pydantic says
        return


def digest(line: bytes) -> bytes:
    """Return the SHA-256 of a line: 32 bytes."""
    return hashlib.sha256(line).digest()


def time_ordered_id(stamp_ns: int, random: bytes) -> str:
    """Return a UUID version 7 (RFC 9562, method 3: 12 bits go on below the millisecond).

    Args:
        stamp_ns: Nanoseconds since 1970; ids of stamps that are 250 ns apart sort by them.
        random: 10 bytes, of which 62 bits are taken; the same stamp and bytes give the same id.
    """
    milliseconds, rest = divmod(stamp_ns, 1_000_000)
    number = (milliseconds & (1 << 48) - 1) << 80
    number |= 7 << 76 | (rest << 12) // 1_000_000 << 64
    number |= 2 << 62 | int.from_bytes(random[:10], 'big') & (1 << 62) - 1
    text = f'{number:032x}'
    return f'{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}'


__all__ = [
    'MAX_LINE',
    'Activation',
    'Amendment',
    'Experience',
    'Id',
    'Observation',
    'ObservationKind',
    'Part',
    'Reason',
    'Record',
    'StoredEvent',
    'StoredReading',
    'StoredSituation',
    'checked',
    'digest',
    'from_line',
    'is_label',
    'stored',
    'time_ordered_id',
    'to_line',
]
