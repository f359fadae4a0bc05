# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The one error class of this room."""

from thinking_policy import ThinkingPolicyError


class LearningError(ThinkingPolicyError):
    """Data that nothing can be learned from, or a fit that failed; one line with what to do."""
