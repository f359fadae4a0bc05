# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Values from files and parameters, held against the type and range of a setting."""

from __future__ import annotations

import difflib
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from thinking_policy.situation.errors import SituationError


def check_value(where: str, value: Any, hint: Any, meta: Mapping[str, Any]) -> Any:
    """Return `value` as the type `hint` asks for, within the range of the field's metadata.

    Raises:
        SituationError: The message names `where`, the allowed range or words, and the value.
    """
    if isinstance(hint, types.GenericAlias):
        (item, _) = typing.get_args(hint)
        if not isinstance(value, (list, tuple)):
            raise SituationError(f'{where}: expected a list, found {value!r}')
        return tuple(check_value(where, entry, item, {}) for entry in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = as_float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        hint_at = '; YAML reads a power of ten as 1.0e+3' if _is_power_of_ten(value) else ''
        raise SituationError(f'{where}: expected {hint.__name__}, found {value!r}{hint_at}')
    choices = meta.get('choices') or ()
    if choices and value not in choices:
        raise SituationError(
            f'{where}: expected one of {[c for c in choices if c]}, found {value!r}'
            f'{did_you_mean(value, choices)}'
        )
    low, high = meta.get('low'), meta.get('high')
    if (low is not None or high is not None) and not (
        (low is None or value >= low) and (high is None or value <= high)
    ):
        bounds = f'{"-inf" if low is None else low}...{"inf" if high is None else high}'
        raise SituationError(f'{where}: expected a number in {bounds}, found {value!r}')
    return value


def as_float(value: int) -> float:
    """Return a whole number as float; infinite where it is beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_power_of_ten(value: Any) -> bool:
    return (
        isinstance(value, str) and re.fullmatch(r'[-+]?[\d.]+e[-+]?\d+', value, re.I) is not None
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` where a known name is close, else nothing."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f'; did you mean {close[0]!r}?' if close else ''
