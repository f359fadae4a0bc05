# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What only the system's package manager can give: a compiler, CMake, Python's headers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from reporting import SetupError, progress

SYSTEM_PACKAGES = {'g++': 'g++', 'cmake': 'cmake', 'make': 'make'}  # command: Debian package


def install_system_packages() -> None:
    """Install what apt has to give when root; otherwise say the exact command."""
    missing = [name for command, name in SYSTEM_PACKAGES.items() if not shutil.which(command)]
    if not (Path(sysconfig.get_path('include')) / 'Python.h').exists():
        missing.append(f'python{sys.version_info.major}.{sys.version_info.minor}-dev')
    if not missing:
        return
    command = ['apt-get', 'install', '-y', '--no-install-recommends', *missing]
    if not shutil.which('apt-get'):
        raise SetupError(f'please install what Debian calls: {" ".join(missing)}')
    if os.geteuid() != 0:
        raise SetupError(f'system packages are missing. Please run:\n  sudo {" ".join(command)}')
    with progress(f'system packages: {" ".join(missing)}'):
        environment = os.environ | {'DEBIAN_FRONTEND': 'noninteractive'}
        for words in (['apt-get', 'update'], command):
            done = subprocess.run(
                words,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise SetupError(f'{" ".join(words)} failed:\n{done.stdout}{done.stderr}')
