# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the files that come with the package: config/policy.yaml, robots/*.yaml, policy.onnx."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import thinking_policy
from thinking_policy import ThinkingPolicyError

PACKAGE = 'thinking_policy'


def config_folder() -> Path:
    """Return the installed `config` folder; needs no environment variable.

    Raises:
        ThinkingPolicyError: There is none: only the Python part is installed, as pip does.
    """
    for folder in _candidates():
        if (folder / 'policy.yaml').is_file():
            return folder
    raise ThinkingPolicyError(
        "the package's config folder is not installed (pip brings only the Python part): "
        'build with colcon or `make setup`, or name the files yourself'
    )


def _candidates() -> Iterator[Path]:
    package = Path(thinking_policy.__file__).parent
    for parent in package.parents:  # <prefix>/lib/python3.x/site-packages/thinking_policy
        yield parent / 'share' / PACKAGE / 'config'
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix) / 'share' / PACKAGE / 'config'
    yield package.parent / 'config'  # a checkout
