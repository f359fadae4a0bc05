# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Modules beside the tests, and the fixtures that most of them take."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip('sqlite_utils')
pytest.importorskip('pydantic')

HERE = Path(__file__).resolve().parent
# pytest's importlib mode doesn't look beside a test.
sys.path.append(str(HERE))
sys.path.append(str(HERE / 'uploads'))
sys.path.append(str(HERE / 'faults'))

from buffer_fixtures import moved_clock, open_buffer, path, wait_until  # noqa: E402, F401
