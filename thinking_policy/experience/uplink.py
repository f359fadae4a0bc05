# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The uplink: sends what the buffer holds until the server has committed it.

Delivery is at least once: a record counts as uploaded when the server says that it is on its
disk, and is sent again where that answer is lost. The server knows it by its content then. What
it will never take is quarantined with its reason, and the rest goes on.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random as _random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import httpx

from thinking_policy.experience.accounts import UPLINK
from thinking_policy.experience.backoff import Backoff
from thinking_policy.experience.batch_size import BatchSize
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.link_options import LinkOptions
from thinking_policy.experience.rounds import Rounds
from thinking_policy.experience.server_link import ServerLink
from thinking_policy.experience.store import ExperienceStore, Line
from thinking_policy.experience.uplink_options import UplinkOptions, UplinkStatus
from thinking_policy.experience.verdicts import (
    Misconfigured,
    Taken,
    TryAgain,
    Unwelcome,
    Verdict,
    judge,
    one_line,
)

Result = TypeVar('Result')

COUNT_S = 10.0  # what waits is counted so often; in between it is estimated
LOOK_S = 5.0  # while it waits after a failure it looks so often for another token
PACKING = 6  # gzip's level: the windows of real signals shrink to a quarter
_OFF = UplinkStatus('off', 'no server is named (url)')


class Ask(Protocol):
    """Runs something on the store, in the thread that owns it: `ExperienceBuffer.ask`."""

    def __call__(self, question: Callable[[ExperienceStore], Result], /) -> Future[Result]:
        """Return its answer to come."""


class Uplink:
    """Sends; a context manager. `status` may be called by any thread.

    `start` makes a thread of its own. Without it, `step` sends one batch in the caller's.
    """

    def __init__(
        self,
        ask: Ask,
        link: ServerLink | None,
        options: UplinkOptions | None = None,
        *,
        robot: str = '',
        clock_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = _random.random,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            ask: Reaches the store.
            link: To the server, for this uplink alone; None: it is off.
            options: How to send.
            robot: Who this is: a token that is for another one is a wrong token, and no fault of
                this robot's records.
            clock_ns: Nanoseconds since 1970.
            monotonic: For pauses, seconds.
            random: Uniform in 0…1, for the jitter.
            wait: Waits so many seconds; by default, until `close`.
        """
        self.options = options or UplinkOptions()
        self._ask, self._link, self._robot = ask, link, robot
        self._clock_ns, self._monotonic = clock_ns, monotonic
        self._backoff = Backoff(
            self.options.pauses, clock_ns=clock_ns, monotonic=monotonic, random=random
        )
        self._size = BatchSize(self.options.most_records, self.options.most_bytes)
        self._counted_s = float('-inf')
        self._recalled = False
        self._status = UplinkStatus() if link is not None else _OFF
        self._rounds = Rounds('experience_uplink', self.step, self._suffer, wait)

    def start(self) -> None:
        """Send from now on, unless it is off."""
        if self._link is not None:
            self._rounds.start()

    def status(self) -> UplinkStatus:
        """Return how it stands."""
        return self._status

    def close(self, within_s: float = 0.5) -> None:
        """Send nothing any more; what is under way is left to itself after `within_s` seconds."""
        self._rounds.close(within_s)

    def __enter__(self) -> Uplink:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def step(self) -> float:
        """Send one batch, if it is time to.

        Returns:
            After how many seconds to call again; 0: there is more.

        Raises:
            CancelledError: It was closed meanwhile.
        """
        link = self._link
        if link is None:
            return self.options.period_s
        if not self._recalled:
            self._backoff.recall(self._answer(lambda store: store.setting(UPLINK)))
            self._recalled = True
            self._note_backoff('backing_off', 'failed before the restart')
        self._count()
        configuration = link.configuration()
        left_s = self._backoff.remaining_s(configuration)
        if left_s > 0.0:
            return min(left_s, LOOK_S)
        size = self._size
        # A line feed ends each line.
        most_bytes = max(1, size.bytes - size.lines)
        lines = self._answer(lambda store: store.pending(size.lines, most_bytes))
        if not lines:
            self._note(state='waiting', reason='', pending=0)
            return self.options.period_s
        if not self._backoff.attempts:  # else it is no better yet than at the last attempt
            self._note(state='sending')
        return self._heed(lines, self._send(link, lines), configuration)

    def _send(self, link: ServerLink, lines: Sequence[Line]) -> Verdict:
        body = b''.join([line.body + b'\n' for line in lines])
        try:
            answer = link.request(
                'POST',
                'v1/experiences',
                content=gzip.compress(body, PACKING, mtime=0),
                headers={
                    'Content-Type': 'application/x-ndjson',
                    'Content-Encoding': 'gzip',
                    'Idempotency-Key': hashlib.sha256(body).hexdigest(),
                },
            )
        except ExperienceError as error:
            return Misconfigured(str(error))
        except (httpx.HTTPError, OSError) as error:
            if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                self._size.smaller(len(lines))  # a link that breaks often lets little through
            return TryAgain(one_line(f'{link.options.url}: {error or type(error).__name__}'))
        return judge(answer, len(lines), self._clock_ns())

    def _heed(self, lines: Sequence[Line], verdict: Verdict, configuration: str) -> float:
        if isinstance(verdict, Taken):
            return self._take_note(lines, verdict, configuration)
        if isinstance(verdict, Unwelcome):
            return self._divide(lines, verdict)
        if isinstance(verdict, TryAgain):
            pause_s = self._backoff.failed(verdict.after_s, configuration)
            self._note_backoff('backing_off', verdict.reason)
        else:
            pause_s = self._backoff.refused(configuration)
            self._note_backoff('refused', verdict.reason)
        kept = self._backoff.kept()
        self._answer(lambda store: store.keep_setting(UPLINK, kept))
        return min(pause_s, LOOK_S)

    def _take_note(self, lines: Sequence[Line], taken: Taken, configuration: str) -> float:
        good, bad, wrong_token = [], [], ''
        for place, line in enumerate(lines):
            rejection = taken.rejected.get(place)
            if rejection is None:
                good.append(line)
            elif rejection.code == 'robot' and self._robot and _robot_of(line) == self._robot:
                wrong_token = str(rejection)
            else:
                bad.append((line, str(rejection)))
        recovered = self._backoff.succeeded()
        self._set_aside(good, bad, self._backoff.kept() if recovered else None)
        self._size.went_well()
        status = self._status
        self._note(
            last_success_ns=self._clock_ns(),
            batches=status.batches + 1,
            sent=status.sent + len(good),
            known=status.known + taken.known,
            attempts=0,
            next_attempt_ns=0,
            reason='',
        )
        return self._heed((), Misconfigured(wrong_token), configuration) if wrong_token else 0.0

    def _divide(self, lines: Sequence[Line], unwelcome: Unwelcome) -> float:
        """Send less next time, down to one record, which it is then."""
        body_bytes = sum(len(line.body) + 1 for line in lines)
        if unwelcome.most_bytes is not None:
            self._size.bytes = max(1, min(self._size.bytes, unwelcome.most_bytes))
        if len(lines) == 1:
            self._set_aside((), [(lines[0], unwelcome.reason)], None)
        elif body_bytes <= self._size.bytes:
            self._size.smaller(len(lines))
        return 0.0

    def _set_aside(
        self, good: Sequence[Line], bad: Sequence[tuple[Line, str]], kept: str | None
    ) -> None:
        """Note in one transaction what became of records."""

        def note(store: ExperienceStore) -> None:
            store.uploaded(good, self._clock_ns())
            for line, reason in bad:
                store.quarantine(line, reason)
            if kept is not None:
                store.keep_setting(UPLINK, kept)

        self._answer(note)
        status = self._status
        self._note(
            quarantined=status.quarantined + len(bad),
            pending=max(0, status.pending - len(good) - len(bad)),
        )

    def _count(self) -> None:
        now_s = self._monotonic()
        if now_s - self._counted_s < COUNT_S:
            return
        self._counted_s = now_s
        self._note(pending=self._answer(ExperienceStore.pending_count))

    def _answer(self, question: Callable[[ExperienceStore], Result]) -> Result:
        return self._rounds.answer(self._ask(question))

    def _suffer(self, error: Exception) -> None:
        self._note(state='backing_off', reason=one_line(str(error) or repr(error)))

    def _note_backoff(self, state: str, reason: str) -> None:
        backoff = self._backoff
        if backoff.attempts:
            self._note(
                state=state,
                reason=reason,
                attempts=backoff.attempts,
                next_attempt_ns=backoff.next_ns(),
            )

    def _note(self, **changes: Any) -> None:
        self._status = replace(self._status, **changes)  # one thread writes, and whole ones


def _robot_of(line: Line) -> str:
    return str(json.loads(line.body).get('robot'))


__all__ = ['Ask', 'LinkOptions', 'ServerLink', 'Uplink', 'UplinkOptions', 'UplinkStatus']
