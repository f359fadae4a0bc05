# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while labels are made, read or written."""

from thinking_policy import ThinkingPolicyError


class LabelError(ThinkingPolicyError):
    """A table, rules or spans from which no labels can be made; one line with what to do."""
