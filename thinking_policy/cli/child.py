# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one node as a child of `thinking-policy run`.

It asks the kernel to end the node when its parent dies, even by SIGKILL, so that no node is left
behind that goes on publishing.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # from <sys/prctl.h>


def main() -> int:
    """Run a node and return its exit code.

    The arguments are the module whose `main()` is run, the parent's process id, and what the
    node gets.
    """
    module, parent, *arguments = sys.argv[1:]
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it died before we could ask
        return 1
    sys.argv = [module, *arguments]
    return importlib.import_module(module).main() or 0
