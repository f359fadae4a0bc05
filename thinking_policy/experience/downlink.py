# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The downlink: fetches the policy that the server has for this robot and has it swapped in.

What can't be fetched, verified or run leaves the running policy as it is, and the server hears
why. This room knows nothing of policies: who owns the downlink passes in what verifies and swaps.
"""

from __future__ import annotations

import json
import random as _random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from thinking_policy import ThinkingPolicyError
from thinking_policy.experience.backoff import Backoff
from thinking_policy.experience.downlink_options import DownlinkOptions, DownlinkStatus
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.link_options import LinkOptions
from thinking_policy.experience.policy_folder import Memory, PolicyFolder
from thinking_policy.experience.policy_offer import Nothing, Offer, read_offer
from thinking_policy.experience.rounds import Rounds
from thinking_policy.experience.server_link import ServerLink
from thinking_policy.experience.verdicts import Misconfigured, TryAgain, one_line, refusal, waits

LOOK_S = 5.0  # while it waits after a failure it looks so often for another token
_OFF = DownlinkStatus('off', 'no server is named (url)')


class Downlink:
    """Fetches; a context manager. `status` may be called by any thread.

    `start` makes a thread of its own. Without it, `step` asks once in the caller's.
    """

    def __init__(
        self,
        link: ServerLink | None,
        folder: PolicyFolder,
        robot: str,
        verify: Callable[[Path], None],
        swap: Callable[[Path], str],
        options: DownlinkOptions | None = None,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = _random.random,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            link: To the server, for this downlink alone; None: it is off.
            folder: Where policies are kept.
            robot: Whose status is reported.
            verify: Checks the signature beside a file; raises a ThinkingPolicyError where it is
                not good, or missing and wanted.
            swap: Has a file run in place of what runs; returns why it is refused, empty where it
                runs. Where it raises, nothing is known, and it is tried again.
            options: How often, how much.
            clock_ns: Nanoseconds since 1970.
            monotonic: For pauses, seconds.
            random: Uniform in 0…1, for the jitter.
            wait: Waits so many seconds; by default, until `close`.
        """
        self.options = options or DownlinkOptions()
        self._link, self._folder, self._robot = link, folder, robot
        self._verify, self._swap = verify, swap
        self._clock_ns, self._random = clock_ns, random
        self._backoff = Backoff(
            self.options.pauses, clock_ns=clock_ns, monotonic=monotonic, random=random
        )
        self._memory: Memory | None = None
        self._running = ''  # the version of which that is known since the start
        self._report: dict[str, str] | None = None  # that the server hasn't heard
        self._status = DownlinkStatus() if link is not None else _OFF
        self._rounds = Rounds('policy_downlink', self.step, self._suffer, wait)

    def start(self) -> None:
        """Ask from now on, unless it is off."""
        if self._link is not None:
            self._rounds.start()

    def status(self) -> DownlinkStatus:
        """Return how it stands."""
        return self._status

    def close(self, within_s: float = 0.5) -> None:
        """Ask nothing any more; what is under way is left to itself after `within_s` seconds."""
        self._rounds.close(within_s)

    def __enter__(self) -> Downlink:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def step(self) -> float:
        """Ask the server, if it is time to; return after how many seconds to call again."""
        link = self._link
        if link is None:
            return self.options.period_s
        configuration = link.configuration()
        left_s = self._backoff.remaining_s(configuration)
        if left_s > 0.0:
            return min(left_s, LOOK_S)
        if not self._backoff.attempts:  # else it is no better yet than at the last attempt
            self._note(state='fetching')
        found = self._round(link)
        if isinstance(found, TryAgain):
            pause_s = self._backoff.failed(found.after_s, configuration)
            self._note(state='backing_off', reason=found.reason, attempts=self._backoff.attempts)
            return min(pause_s, LOOK_S)
        if isinstance(found, Misconfigured):
            pause_s = self._backoff.refused(configuration)
            self._note(state='refused', reason=found.reason, attempts=self._backoff.attempts)
            return min(pause_s, LOOK_S)
        self._backoff.succeeded()
        self._note(
            state='waiting', reason=found.reason, last_success_ns=self._clock_ns(), attempts=0
        )
        return self.options.period_s * (0.9 + 0.2 * self._random())

    def _round(self, link: ServerLink) -> Nothing | TryAgain | Misconfigured:
        """Ask, take what is offered, and report."""
        try:
            memory = self._begun()
            found = self._ask(link, memory)
            if isinstance(found, Offer):
                self._take(found, memory)
                found = Nothing()
            if isinstance(found, Nothing) and self._report is not None:
                found = self._tell(link, self._report) or found
        except httpx.HTTPError as error:
            return TryAgain(one_line(f'{link.options.url}: {error or type(error).__name__}'))
        except Exception as error:  # a disk, or who swaps: the next time may be better
            return TryAgain(one_line(str(error) or repr(error)))
        return found

    def _begun(self) -> Memory:
        """Have the policy that ran before the restart run again; once."""
        if self._memory is not None:
            return self._memory
        memory = self._folder.memory()
        if memory.current:
            reason = self._try(self._folder.file(memory.current))
            self._running = '' if reason else memory.current
            self._say(memory.current, reason)
        if memory.refused:
            # Whoever restarts may have changed what it was refused for.
            memory = replace(memory, etag='')
        self._remember(memory)
        return memory

    def _ask(self, link: ServerLink, memory: Memory) -> Offer | Nothing | TryAgain | Misconfigured:
        try:
            answer = link.request(
                'GET',
                'v1/policy',
                headers={'If-None-Match': memory.etag} if memory.etag else {},
                most_bytes=self.options.most_bytes,
            )
        except ExperienceError as error:
            return Misconfigured(str(error))
        return read_offer(answer, self._clock_ns())

    def _take(self, offer: Offer, memory: Memory) -> None:
        reason = one_line(offer.problem or self._refused(offer, memory))
        if reason:
            after = replace(memory, etag=offer.etag, refused=offer.version, reason=reason)
        else:
            previous = memory.current if memory.current != offer.version else memory.previous
            after = Memory(offer.etag, offer.version, previous)
            self._running = offer.version
        self._folder.remember(after)
        self._remember(after)
        self._say(offer.version, reason)
        self._note(fetched=self._status.fetched + 1)

    def _refused(self, offer: Offer, memory: Memory) -> str:
        """Verify, keep and run a policy; return why it is refused."""
        folder, version = self._folder, offer.version
        same = folder.holds(version, offer.body)
        if same is False and version in (memory.current, memory.previous):
            return f'{version}: is here with another content, and a version never changes'
        try:
            self._verify(folder.draft(offer.body, offer.signature))
        except ThinkingPolicyError as error:
            return str(error)
        path = folder.keep(version, offer.body, offer.signature)
        return '' if version == self._running else self._swap(path)

    def _try(self, path: Path) -> str:
        try:
            self._verify(path)
        except ThinkingPolicyError as error:
            return str(error)
        return self._swap(path)

    def _say(self, version: str, reason: str) -> None:
        self._report = {
            'robot': self._robot,
            'policy_version': version,
            'state': 'refused' if reason else 'running',
            'reason': reason,
        }

    def _tell(self, link: ServerLink, report: dict[str, str]) -> TryAgain | Misconfigured | None:
        answer = link.request(
            'POST',
            'v1/robots/status',
            content=json.dumps(report).encode(),
            headers={'Content-Type': 'application/json'},
        )
        if answer.status in (200, 204):
            self._report = None
            return None
        if waits(answer.status):
            return TryAgain.of(answer, self._clock_ns())
        return Misconfigured(f'robots/status: {refusal(answer)}')

    def _remember(self, memory: Memory) -> None:
        self._memory = memory
        self._note(
            version=memory.current,
            previous=memory.previous,
            refused_version=memory.refused,
            refused_reason=memory.reason,
        )

    def _suffer(self, error: Exception) -> None:
        self._note(state='backing_off', reason=one_line(str(error) or repr(error)))

    def _note(self, **changes: Any) -> None:
        self._status = replace(self._status, **changes)  # one thread writes, and whole ones


__all__ = [
    'Downlink',
    'DownlinkOptions',
    'DownlinkStatus',
    'LinkOptions',
    'PolicyFolder',
    'ServerLink',
]
