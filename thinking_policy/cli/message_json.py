# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A ROS message as JSON: field names kept, NaN and infinities as null."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def message_line(message: Any) -> str:
    """Return one line of JSON for a ROS message of any type."""
    return json.dumps(plain(message), allow_nan=False, ensure_ascii=False, separators=(',', ':'))


def plain(message: Any) -> dict[str, Any]:
    """Return a ROS message as dicts, lists, numbers and text.

    A float32 becomes the shortest decimal that means the same float32 (0.7, not
    0.699999988079071).
    """
    fields = message.get_fields_and_field_types()
    return {name: _value(getattr(message, name), kind) for name, kind in fields.items()}


def _value(value: Any, kind: str) -> Any:
    if hasattr(value, 'get_fields_and_field_types'):
        return plain(value)
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return list(value)
    if hasattr(value, '__len__'):
        item = kind.removeprefix('sequence<').split(',')[0].split('[')[0].rstrip('>')
        return [_value(entry, item) for entry in value]
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            return None
        return float(str(np.float32(value))) if kind == 'float' else float(value)
    return int(value)
