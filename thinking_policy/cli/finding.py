# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a check of `doctor` returns."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass

OK, NOTE, FAIL = 'ok', 'note', 'fail'
RELEASES = ('jazzy', 'kilted', 'lyrical')  # whose wheels name a package ros-<release>-<package>


@dataclass(frozen=True)
class Finding:
    """One line of the report; `remedy` is empty where nothing is to be done."""

    check: str
    status: str
    found: str
    remedy: str = ''


def version(distribution: str) -> str:
    """Return the installed version of a Python package or ROS wheel, or nothing."""
    names = (
        distribution,
        *(f'ros-{release}-{distribution}' for release in RELEASES),
    )
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ''


def one_line(error: Exception) -> str:
    """Return an error's text without line breaks."""
    return ' '.join(str(error).split())
