# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Where the server is; known without the packages that speak with it.

A robot without a server has neither httpx nor tenacity, which the extra `[fleet]` brings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinking_policy.experience.errors import ExperienceError

if TYPE_CHECKING:
    import httpx

TOKEN_VARIABLE = 'THINKING_POLICY_TOKEN'


@dataclass(frozen=True)
class LinkOptions:
    """Where the server is and how to speak with it.

    Attributes:
        url: Such as `https://fleet.example.org`, also with a path; empty: there is none.
        token_file: Holds the token in its first line; empty: `token_variable` does. Read with
            each request, so that a new token counts at once.
        token_variable: Environment variable that holds the token.
        ca_file: Certificates (PEM) to trust in place of the system's; empty: the system's.
        timeout_s: How long the server may be silent, and each part of a request may take; seconds.
    """

    url: str = ''
    token_file: str = ''
    token_variable: str = TOKEN_VARIABLE
    ca_file: str = ''
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ExperienceError: One is not what it has to be; the message never shows a secret.
        """
        if not self.timeout_s > 0.0:
            raise ExperienceError(
                f'timeout_s: expected more than 0 seconds, found {self.timeout_s!r}'
            )
        if not self.url:
            return
        found = _parsed(self.url)
        if found.userinfo:
            raise ExperienceError(
                'url: expected no name and password in it; the token is read from token_file or '
                'the environment'
            )
        if (
            found.scheme not in ('http', 'https')
            or not found.host
            or found.query
            or found.fragment
        ):
            raise ExperienceError(
                f'url: expected http(s)://HOST[:PORT][/PATH], found {self.url!r}'
            )

    @property
    def shows_token(self) -> bool:
        """Whether the token goes over a network unencrypted; over a VPN that may be meant."""
        url = _parsed(self.url)
        return url.scheme == 'http' and url.host not in ('localhost', '127.0.0.1', '::1')


def _parsed(url: str) -> httpx.URL:
    try:
        import httpx
        import tenacity  # noqa: F401 (the link needs both: said before it is made)
    except ImportError as error:
        raise ExperienceError(
            f'url: {error.name} is not installed, which a server needs; install the extra: '
            "pip install 'thinking_policy[fleet]'"
        ) from error
    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError) as error:
        raise ExperienceError(
            f'url: expected http(s)://HOST[:PORT], found none: {error}'
        ) from error
