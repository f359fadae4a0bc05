# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The one error class of this room."""

from thinking_policy import ThinkingPolicyError


class PolicyError(ThinkingPolicyError):
    """A policy file, key or activity list that can't be used; the message says why."""
