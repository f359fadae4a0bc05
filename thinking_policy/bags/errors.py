# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The one error class of this room."""

from thinking_policy import ThinkingPolicyError


class BagError(ThinkingPolicyError):
    """A bag, CSV or map from which nothing can be read; one line with what to do."""
