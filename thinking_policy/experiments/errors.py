# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in an experiment."""

from thinking_policy import ThinkingPolicyError


class ExperimentError(ThinkingPolicyError):
    """An experiment can't be run, gone on with or reported; the message says what to do."""
