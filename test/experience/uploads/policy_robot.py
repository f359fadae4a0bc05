# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A robot as a downlink sees it."""

from __future__ import annotations

from pathlib import Path

from thinking_policy.policy import PolicyError


class Robot:
    """What a robot does with policies: it runs what it is told to, unless a test objects."""

    def __init__(self):
        self.ran: list[str] = []
        self.verified: list[Path] = []
        self.objection = ''
        self.bad_signature = ''
        self.unreachable = False

    @property
    def runs(self):
        return self.ran[-1] if self.ran else ''

    def verify(self, path):
        self.verified.append(path)
        if self.bad_signature:
            raise PolicyError(self.bad_signature)

    def swap(self, path):
        if self.unreachable:
            raise TimeoutError('the policy node does not answer')
        if not self.objection:
            self.ran.append(path.read_text())
        return self.objection
