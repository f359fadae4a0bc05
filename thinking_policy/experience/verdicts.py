# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the server's answer to an upload means for the records that were in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from thinking_policy.experience.backoff import retry_after_s
from thinking_policy.experience.server_link import Answer

LONGEST_REASON = 500  # characters, of what others say

# Of the whole request, though nothing is wrong with a record in it.
_DAMAGED_ON_ITS_WAY = ('gzip', 'digest_mismatch')
_NOT_UNDERSTOOD = ('encoding',)
_LATER = (408, 425, 429)
_OF_PROXIES = (*_LATER, 413)


class Rejection(BaseModel):
    """Why one line was not taken."""

    model_config = ConfigDict(frozen=True)  # a newer server may say more

    line: int = Field(ge=1)
    code: str
    reason: str = ''

    def __str__(self) -> str:
        """Return it in one line."""
        return one_line(f'{self.code}: {self.reason}')


@dataclass(frozen=True)
class Taken:
    """The server has committed all lines but some.

    Attributes:
        known: How many of them it had already.
        rejected: The others, by their place in the request, from 0.
    """

    known: int
    rejected: Mapping[int, Rejection]


@dataclass(frozen=True)
class Unwelcome:
    """Something in the request will never be taken; sent in parts, it shows which.

    Attributes:
        reason: Why.
        most_bytes: Of a body, if the server says so.
    """

    reason: str
    most_bytes: int | None = None


@dataclass(frozen=True)
class Misconfigured:
    """Nothing will be taken before somebody changes something."""

    reason: str


@dataclass(frozen=True)
class TryAgain:
    """Nothing is known of what was sent.

    Attributes:
        reason: Why.
        after_s: What the server asked for; None: nothing.
    """

    reason: str
    after_s: float | None = None

    @classmethod
    def of(cls, answer: Answer, now_ns: int) -> TryAgain:
        """Return what an answer with such a status means."""
        return cls(refusal(answer), retry_after_s(answer.headers, now_ns))


Verdict = Taken | Unwelcome | Misconfigured | TryAgain


class _Upload(BaseModel):
    accepted: int = Field(ge=0)
    known: int = Field(ge=0)
    rejected: list[Rejection]


class _Problem(BaseModel):
    error: str
    message: str


def judge(answer: Answer, lines: int, now_ns: int) -> Verdict:
    """Say what an answer to `POST /v1/experiences` means.

    Args:
        answer: What came back; it need not be from our server at all.
        lines: How many were sent.
        now_ns: Nanoseconds since 1970.
    """
    status = answer.status
    if status == 200:
        return _taken(answer, lines)
    problem = problem_of(answer)
    reason = refusal(answer)
    if waits(status):
        return TryAgain.of(answer, now_ns)
    if status == 413:  # also a proxy's, in whatever form
        return Unwelcome(reason, _limit(answer.headers))
    if status in (400, 422) and problem is not None and problem.error not in _NOT_UNDERSTOOD:
        if problem.error in _DAMAGED_ON_ITS_WAY:
            return TryAgain(reason)
        return Unwelcome(reason)
    if status < 300:
        return TryAgain(reason)
    # Whoever answers 400 in another form isn't our server, and no judge of our records.
    return Misconfigured(reason)


def waits(status: int) -> bool:
    """Whether a status is one that passes."""
    return status in _LATER or status >= 500


def refusal(answer: Answer) -> str:
    """Return in one line why a request failed."""
    problem = problem_of(answer)
    if problem is not None:
        return one_line(f'{answer.status}: {problem.message}')
    if 300 <= answer.status < 400:
        to = answer.headers.get('location', 'another address')
        return one_line(
            f'{answer.status}: redirects to {to}, which is not followed, as the token would go '
            'along; name the final address in url'
        )
    if answer.status in _OF_PROXIES or answer.status >= 500:
        return f'{answer.status}: {_phrase(answer.status)}'
    return one_line(
        f'{answer.status}: this is not what the server of thinking_policy answers; is it the '
        f'right url? {_shown(answer.body)}'
    )


def problem_of(answer: Answer) -> _Problem | None:
    """Return what our server says of a request that it refuses; None: it isn't our server."""
    try:
        return _Problem.model_validate_json(answer.body)
    except ValidationError:
        return None


def one_line(text: str) -> str:
    """Return what others say as it can be shown."""
    return ''.join(c if c.isprintable() else ' ' for c in text[:LONGEST_REASON]).strip()


def _taken(answer: Answer, lines: int) -> Verdict:
    try:
        found = _Upload.model_validate_json(answer.body)
    except ValidationError:
        return TryAgain(refusal(answer))
    rejected = {rejection.line - 1: rejection for rejection in found.rejected}
    counted = found.accepted + found.known + len(found.rejected)
    if (
        counted != lines
        or len(rejected) != len(found.rejected)
        or max(rejected, default=0) >= lines
    ):
        return TryAgain(f'200: {lines} records were sent, {counted} are answered for')
    return Taken(found.known, rejected)


def _limit(headers: Mapping[str, str]) -> int | None:
    text = headers.get('x-limit-bytes', '')
    return int(text[:18]) if text.isascii() and text.isdecimal() else None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return 'an unknown status'


def _shown(body: bytes) -> str:
    return repr(body[:60].decode('utf-8', 'replace')) if body else '(empty)'
