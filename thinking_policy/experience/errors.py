# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The one error class of this room."""

from thinking_policy import ThinkingPolicyError


class ExperienceError(ThinkingPolicyError):
    """A record, a store or an upload is not what was expected; the message says what is.

    Attributes:
        code: What a server answers of a record: `invalid`, `schema` or `too_large`.
    """

    def __init__(self, message: str, code: str = 'invalid') -> None:
        super().__init__(message)
        self.code = code
