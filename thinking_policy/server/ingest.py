# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Records out of a request's body, into the store: each line on its own, all in one commit."""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from thinking_policy.experience.entry import Entry, Line, entry_of
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import MAX_LINE, from_line
from thinking_policy.experience.store import ExperienceStore
from thinking_policy.server.database import ServerDatabase
from thinking_policy.server.problems import RefusedError
from thinking_policy.server.tenancy import TenantData
from thinking_policy.server.tokens import Token
from thinking_policy.server.wire import Rejection, RejectionCode, UploadAnswer

SCHEMA_VERSIONS = (1,)
_LONGEST_REASON = 500
_GZIP = 31  # zlib: 15 bits of window, gzip's header and checksum


@dataclass(frozen=True)
class BodyLimits:
    """How large the body of one request may be.

    Attributes:
        bytes: As sent, and unpacked.
        lines: Records in it.
    """

    bytes: int = 16 << 20
    lines: int = 10_000


def unpacked(body: bytes, encoding: str, limits: BodyLimits) -> bytes:
    """Return a body as it was before it was encoded; never more than the limit is unpacked.

    Raises:
        RefusedError: 400: broken, or an encoding other than gzip; 413: larger than the limit.
    """
    if encoding in ('', 'identity'):
        return body
    if encoding not in ('gzip', 'x-gzip'):
        raise RefusedError(
            400, 'encoding', f'Content-Encoding: expected gzip, found {encoding[:40]!r}'
        )
    unpacker = zlib.decompressobj(_GZIP)
    try:
        plain = unpacker.decompress(body, limits.bytes + 1)
    except zlib.error as error:
        raise RefusedError(400, 'gzip', f'the body is not gzip: {error}') from error
    if len(plain) > limits.bytes:
        raise too_large(limits)
    if not unpacker.eof:
        raise RefusedError(400, 'gzip', 'the body is not gzip: it ends too early')
    if unpacker.unused_data:
        raise RefusedError(400, 'gzip', 'expected one gzip member, found more behind it')
    return plain


def check_digest(body: bytes, key: str | None) -> None:
    """Compare an unpacked body with its idempotency key.

    Raises:
        RefusedError: 400: they differ; the body was changed on its way.
    """
    if key is None:
        return
    found = hashlib.sha256(body).hexdigest()
    if key.lower() != found:
        raise RefusedError(
            400,
            'digest_mismatch',
            f'Idempotency-Key: expected the SHA-256 of the unpacked body, {found}, found '
            f'{key[:64]!r}',
        )


def ingest(
    database: ServerDatabase, token: Token, body: bytes, limits: BodyLimits, now_ns: int
) -> UploadAnswer:
    """Store what is good in a body; when it returns, that is on the disk.

    The same body again has the same effect: nothing, and what was accepted is known.

    Args:
        database: Where to.
        token: Names the tenant, and the robot if it is bound to one.
        body: Unpacked lines.
        limits: Of the body.
        now_ns: Nanoseconds since 1970.

    Raises:
        RefusedError: 413: too many lines.
        sqlite3.Error: The file refused; nothing was stored.
    """
    lines = body.split(b'\n')
    if not lines[-1]:
        lines.pop()
    if len(lines) > limits.lines:
        raise too_large(limits, f'{len(lines):,} lines, at most {limits.lines:,} are taken')
    found: list[tuple[int, Entry]] = []
    rejected: list[Rejection] = []
    for number, line in enumerate(lines, 1):
        entry = _entry(line, number, token.robot)
        if isinstance(entry, Rejection):
            rejected.append(entry)
        else:
            found.append((number, entry))
    if not found:
        return UploadAnswer(accepted=0, known=0, rejected=rejected)
    with database.writing() as connection:
        store = TenantData(connection, token.tenant).experiences
        good = []
        for number, entry in found:
            if owner := _of_another(entry, store):
                rejected.append(_wrong_robot(entry, number, owner, 'invalid'))
            else:
                good.append((number, entry))
        added = store.add([entry for _, entry in good], now_ns)
    rejected += _conflicts(added.conflicting, good)
    rejected.sort(key=lambda rejection: rejection.line)
    return UploadAnswer(accepted=len(added.new), known=len(added.known), rejected=rejected)


def too_large(limits: BodyLimits, found: str = '') -> RefusedError:
    """Return the refusal of a body that is too large."""
    message = found or f'more than {limits.bytes:,} bytes, packed or unpacked'
    return RefusedError(
        413,
        'too_large',
        f'the body: {message}; send less at once',
        {'X-Limit-Bytes': str(limits.bytes)},
    )


def _conflicts(
    conflicting: Sequence[Line], stored: Sequence[tuple[int, Entry]]
) -> list[Rejection]:
    places: defaultdict[Line, list[int]] = defaultdict(list)
    if conflicting:
        for number, entry in stored:
            places[entry.line].append(number)
    return [
        Rejection(
            line=places[line].pop(0),
            id=line.id,
            revision=line.revision,
            code='conflict',
            reason='another record of that id and revision is stored already; records never '
            'change',
        )
        for line in conflicting
    ]


def _entry(line: bytes, number: int, robot: str | None) -> Entry | Rejection:
    if len(line) > MAX_LINE:
        reason = f'expected at most {MAX_LINE:,} bytes in a line, found {len(line):,}'
        return Rejection(line=number, id=None, revision=None, code='too_large', reason=reason)
    try:
        entry = entry_of(from_line(line), line)
    except ExperienceError as error:
        return _rejection(line, number, str(error))
    if robot is not None and entry.robot != robot:
        return _wrong_robot(entry, number, robot, 'robot')
    return entry


def _of_another(entry: Entry, store: ExperienceStore) -> str:
    """Return whose experience an amendment is about, if that is another robot than it says."""
    if not entry.line.revision:
        return ''
    owner = store.robot_of(entry.line.id)
    return owner if owner is not None and owner != entry.robot else ''


def _wrong_robot(entry: Entry, number: int, robot: str, code: RejectionCode) -> Rejection:
    owner = 'which the token is for' if code == 'robot' else 'whose experience it is'
    return Rejection(
        line=number,
        id=entry.line.id,
        revision=entry.line.revision,
        code=code,
        reason=f'robot: expected {robot!r}, {owner}, found {entry.robot!r}',
    )


_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)  # deep nesting is an error to it, not a crash


def _rejection(line: bytes, number: int, reason: str) -> Rejection:
    """Return why a line is no record, with whatever names it."""
    rejection = Rejection(
        line=number,
        id=None,
        revision=None,
        code='invalid',
        reason=reason[:_LONGEST_REASON],
    )
    try:
        fields = _ANYTHING.validate_json(line)
    except ValueError:
        return rejection
    if not isinstance(fields, dict):
        return rejection
    name, revision, schema = (fields.get(key) for key in ('id', 'revision', 'schema_version'))
    if isinstance(name, str):
        rejection.id = name[:64]
    if fields.get('kind') == 'experience':
        rejection.revision = 0
    elif type(revision) is int and abs(revision) < 2**63:
        rejection.revision = revision
    if type(schema) is int and schema not in SCHEMA_VERSIONS:
        rejection.code = 'schema'
        rejection.reason = f'expected schema_version {SCHEMA_VERSIONS[0]}, found {schema}'[:200]
    return rejection
