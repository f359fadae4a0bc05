# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Names the machine that a figure was measured on, and what was installed there."""

from __future__ import annotations

import datetime
import importlib.metadata
import os

from thinking_policy.experiments import provenance

RELEASES = ('jazzy', 'kilted', 'lyrical')


def machine() -> dict[str, str | int | float]:
    """Return processor, cores, memory, system and the versions that matter."""
    return {
        **provenance.machine(),
        **provenance.versions(),
        'rclpy': _rclpy(),
        'rmw': os.environ.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps_cpp',
        'load_average': round(os.getloadavg()[0], 2),
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d'),
    }


def heading(facts: dict[str, str | int | float]) -> str:
    """Return the machine in one line."""
    named = (
        ('Python', 'python'),
        ('rclpy', 'rclpy'),
        ('ONNX Runtime', 'onnxruntime'),
        ('torch', 'torch'),
        ('FAISS', 'faiss-cpu'),
    )
    versions = [f'{label} {facts[key]}' for label, key in named if facts[key] != 'not installed']
    return ', '.join(
        (f'{facts["processor"]}', f'{facts["cores"]} cores', f'{facts["system"]}', *versions)
    ) + (f', load {facts["load_average"]}, {facts["date"]}')


def _rclpy() -> str:
    for candidate in ('rclpy', *(f'ros-{release}-rclpy' for release in RELEASES)):
        try:
            return importlib.metadata.version(candidate)
        except importlib.metadata.PackageNotFoundError:
            continue
    return 'not installed'
