# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""With what and on which machine a figure was made."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

import thinking_policy
from thinking_policy import __version__

# An experiment's own code is told apart by its `version`.
_ROOMS = ('policy', 'training')
_LIBRARIES = ('numpy', 'torch', 'onnx', 'onnxruntime', 'faiss-cpu', 'scikit-learn')


def versions() -> dict[str, str]:
    """Return the versions that may change a figure, the state of our own code among them."""
    found = {
        'thinking_policy': __version__,
        'code': code_sha256(),
        'python': platform.python_version(),
    }
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = 'not installed'
    return found


def code_sha256() -> str:
    """Return 12 digits of the hash of the code that policies are made and run by.

    A checkout changes without its version changing: figures of two states must not be mixed.
    """
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((Path(thinking_policy.__file__).parent / room).glob('*.py')):
            digest.update(f'{room}/{path.name}'.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def machine() -> dict[str, Any]:
    """Return processor, cores, memory and system."""
    return {
        'processor': _first('/proc/cpuinfo', 'model name') or platform.machine(),
        'architecture': platform.machine(),
        'cores': os.cpu_count() or 0,
        'memory_gb': round(int((_first('/proc/meminfo', 'MemTotal') or '0 kB').split()[0]) / 1e6),
        'system': f'{platform.system()} {platform.release()}',
    }


def _first(path: str, name: str) -> str:
    try:
        for line in Path(path).read_text().splitlines():
            key, _, value = line.partition(':')
            if key.strip() == name:
                return value.strip()
    except OSError:
        pass
    return ''
