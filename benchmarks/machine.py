# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Names the machine that a figure was measured on."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path

RELEASES = ('jazzy', 'kilted', 'lyrical')


def machine() -> dict[str, str | int | float]:
    """Return processor, cores, memory, kernel and the versions that matter."""
    return {
        'processor': _first('/proc/cpuinfo', 'model name') or platform.machine(),
        'architecture': platform.machine(),
        'cores': os.cpu_count() or 0,
        'memory_gb': round(int((_first('/proc/meminfo', 'MemTotal') or '0 kB').split()[0]) / 1e6),
        'kernel': platform.release(),
        'python': platform.python_version(),
        'rclpy': _version('rclpy'),
        'rmw': os.environ.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps_cpp',
        'onnxruntime': _version('onnxruntime'),
        'numpy': _version('numpy'),
        'load_average': round(os.getloadavg()[0], 2),
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d'),
    }


def heading(facts: dict[str, str | int | float]) -> str:
    """Return the machine in one line."""
    return (
        f'{facts["processor"]}, {facts["cores"]} cores, Linux {facts["kernel"]}, '
        f'Python {facts["python"]}, rclpy {facts["rclpy"]}, '
        f'ONNX Runtime {facts["onnxruntime"]}, {facts["date"]}'
    )


def _first(path: str, name: str) -> str:
    try:
        for line in Path(path).read_text().splitlines():
            key, _, value = line.partition(':')
            if key.strip() == name:
                return value.strip()
    except OSError:
        pass
    return ''


def _version(name: str) -> str:
    for candidate in (name, *(f'ros-{release}-{name}' for release in RELEASES)):
        try:
            return importlib.metadata.version(candidate)
        except importlib.metadata.PackageNotFoundError:
            continue
    return 'unknown'
