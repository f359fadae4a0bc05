# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The one error class of this room."""

from thinking_policy import ThinkingPolicyError


class SituationError(ThinkingPolicyError):
    """A configuration, field path or message from which no situation can be made."""
