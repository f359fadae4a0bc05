# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Requests to the server: with the robot's token, verified, bounded in size and time."""

from __future__ import annotations

import hashlib
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from thinking_policy import __version__
from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.link_options import LinkOptions

LONGEST_TOKEN = 4096  # characters
CONNECT_S = 10.0
LONGEST_ANSWER_S = 600.0  # for one that trickles; each part of it has `timeout_s`


@dataclass(frozen=True)
class Answer:
    """What the server answered.

    Attributes:
        status: HTTP status.
        headers: By name in small letters.
        body: As far as it was asked for.
        whole: Whether that is all of it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool = True


class ServerLink:
    """A connection that is made when it is needed. One thread uses it."""

    def __init__(
        self,
        options: LinkOptions,
        *,
        transport: httpx.BaseTransport | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Connect nothing yet.

        Args:
            options: Where to; with a URL.
            transport: In place of the network.
            environment: For the token.
        """
        self.options = options
        self._transport = transport
        self._environment = environment
        self._client: httpx.Client | None = None

    def configuration(self) -> str:
        """Return what changes when URL or token do, and tells neither."""
        try:
            token = self._token()
        except ExperienceError as error:
            token = str(error)
        return hashlib.sha256(f'{self.options.url}\n{token}'.encode()).hexdigest()[:16]

    def request(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        most_bytes: int = 4 << 20,
    ) -> Answer:
        """Ask the server. Redirects are not followed: the token would go along.

        Args:
            method: GET or POST.
            path: Below the URL, without a slash in front.
            content: Body.
            headers: Beside those of every request.
            most_bytes: Of the answer's body; what is beyond is not received.

        Returns:
            Its answer, whatever the status is.

        Raises:
            ExperienceError: There is no token, or no certificates.
            httpx.HTTPError: No answer, or none that is understood.
        """
        authorization = {'Authorization': f'Bearer {self._token()}'}
        if self._client is None:
            self._client = self._connected()
        ends = time.monotonic() + LONGEST_ANSWER_S
        try:
            with self._client.stream(
                method, path, content=content, headers={**authorization, **(headers or {})}
            ) as response:
                found = {name.lower(): value for name, value in response.headers.items()}
                if found.get('content-encoding', 'identity') != 'identity':
                    raise httpx.DecodingError('the answer is encoded, which was not asked for')
                body, whole = _received(response, most_bytes, ends)
        except BaseException:
            self.disconnect()
            raise
        return Answer(response.status_code, found, body, whole)

    def disconnect(self) -> None:
        """Let go of the connection; the next request makes another, with the files as they are."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connected(self) -> httpx.Client:
        options = self.options
        return httpx.Client(
            base_url=options.url,
            headers={
                'User-Agent': f'thinking_policy/{__version__}',
                'Accept-Encoding': 'identity',
            },
            verify=_trust(options),
            timeout=httpx.Timeout(options.timeout_s, connect=min(CONNECT_S, options.timeout_s)),
            follow_redirects=False,
            transport=self._transport,
        )

    def _token(self) -> str:
        options = self.options
        if options.token_file:
            where = options.token_file
            try:
                with Path(where).expanduser().open(encoding='ascii', errors='replace') as file:
                    token = file.readline(LONGEST_TOKEN + 1)
            except OSError as error:
                raise ExperienceError(
                    f'{where}: the token cannot be read: {error.strerror or error}'
                ) from error
        else:
            where = f'${options.token_variable}'
            token = self._environment.get(options.token_variable, '')
        token = token.strip()
        if not token:
            raise ExperienceError(
                f'{where}: holds no token; the server makes one with `thinking-policy token new`'
            )
        # Checked here, since what complains later would show it.
        if len(token) > LONGEST_TOKEN or not all('!' <= character <= '~' for character in token):
            raise ExperienceError(
                f'{where}: expected a token of up to {LONGEST_TOKEN} visible ASCII characters in '
                'one line, found something else'
            )
        return token


def _received(response: httpx.Response, most_bytes: int, ends: float) -> tuple[bytes, bool]:
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > most_bytes:
            return bytes(body[:most_bytes]), False
        if time.monotonic() > ends:
            raise httpx.ReadTimeout(f'the answer took longer than {LONGEST_ANSWER_S:g} s')
    return bytes(body), True


def _trust(options: LinkOptions) -> ssl.SSLContext:
    if httpx.URL(options.url).scheme != 'https':
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # not used; the real one takes time to make
    where = Path(options.ca_file).expanduser() if options.ca_file else None
    try:
        return ssl.create_default_context(cafile=where)
    except OSError as error:  # ssl.SSLError is one
        raise ExperienceError(
            f'{where}: expected certificates as PEM: {error.strerror or error}'
        ) from error
