# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the executables call first: a stop signal during the imports ends them quietly, too."""

from __future__ import annotations

import importlib
import os
import signal


def start(node: str) -> int:
    """Import a node of this room and run its `main()`.

    The imports take most of a second, in which Python would answer Ctrl-C with a traceback.

    Args:
        node: Name of its module, such as `policy_node`.

    Returns:
        Exit code.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    return int(importlib.import_module(f'thinking_policy.ros.{node}').main() or 0)
