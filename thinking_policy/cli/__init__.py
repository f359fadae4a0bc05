# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The console command `thinking-policy`. One file per command group."""

from thinking_policy.cli.main import main

__all__ = ['main']
