# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The one error class of this room."""

from thinking_policy import ThinkingPolicyError


class ServerError(ThinkingPolicyError):
    """The server, its database or a token is not what was expected; the message says what is."""
