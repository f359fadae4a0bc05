# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the server's answer to `GET /v1/policy` means."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from thinking_policy.experience.policy_folder import is_version
from thinking_policy.experience.server_link import Answer
from thinking_policy.experience.verdicts import (
    Misconfigured,
    TryAgain,
    one_line,
    problem_of,
    refusal,
    waits,
)

SIGNATURE_BYTES = 64  # Ed25519
LONGEST_ETAG = 200  # characters


@dataclass(frozen=True)
class Offer:
    """A policy.

    Attributes:
        etag: Names it to the server.
        version: The manifest's hash, as the server says.
        body: The file.
        signature: Of the file; None: it is unsigned.
        problem: Why it is to be refused unseen; empty: it isn't.
    """

    etag: str
    version: str
    body: bytes
    signature: bytes | None
    problem: str = ''


@dataclass(frozen=True)
class Nothing:
    """Nothing new; `reason` is empty where the robot has what there is."""

    reason: str = ''


def read_offer(answer: Answer, now_ns: int) -> Offer | Nothing | TryAgain | Misconfigured:
    """Say what an answer means.

    Args:
        answer: What came back; it need not be from our server at all.
        now_ns: Nanoseconds since 1970.
    """
    status = answer.status
    if status == 304:
        return Nothing()
    if status == 200:
        return _offer(answer)
    problem = problem_of(answer)
    if status == 404 and problem is not None:
        return Nothing(one_line(problem.message))
    if waits(status):
        return TryAgain.of(answer, now_ns)
    return Misconfigured(refusal(answer))


def _offer(answer: Answer) -> Offer | TryAgain:
    etag = answer.headers.get('etag', '')
    version = answer.headers.get('x-policy-version', '')
    if not is_version(version) or not 0 < len(etag) <= LONGEST_ETAG or not etag.isascii():
        return TryAgain(refusal(answer))
    if not answer.whole:
        problem = f'expected a policy of at most {len(answer.body):,} bytes, found a larger one'
        return Offer(etag, version, b'', None, problem)
    encoded = answer.headers.get('x-policy-signature')
    if encoded is None:
        return Offer(etag, version, answer.body, None)
    try:
        signature = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        signature = b''
    if len(signature) != SIGNATURE_BYTES:
        problem = (
            f'expected a signature of {SIGNATURE_BYTES} bytes in base64, found something else'
        )
        return Offer(etag, version, b'', None, problem)
    return Offer(etag, version, answer.body, signature)
