# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one node as a child of `thinking-policy run`: python -m thinking_policy.cli.child MODULE …

Not for people. It asks the kernel to end the node when its parent dies, even by SIGKILL, so
that no node is left behind that goes on publishing.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # from <sys/prctl.h>


def main() -> int:
    """Run `main()` of the module named by the first argument and return its exit code."""
    module, parent, *arguments = sys.argv[1:]
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it died before we could ask
        return 1
    sys.argv = [module, *arguments]
    return importlib.import_module(module).main() or 0


if __name__ == '__main__':
    raise SystemExit(main())
