# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Names in rules: event codes with * and ?, activities, signals, origins."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence

from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.situation.checked_values import did_you_mean

KINDS = ('person', 'outcome', 'rule', 'llm')
"""Where labels come from: what stands before the colon of an origin."""


def pattern_of(text: str) -> str:
    """Return an event code, or several with `|` between, that may hold * and ?.

    Raises:
        ValueError: An empty one.
    """
    if not all(part.strip() for part in text.split('|')):
        raise ValueError('expected event codes with | between, such as estop|motor_*')
    return text


def matching(pattern: str, codes: Iterable[str]) -> frozenset[str]:
    """Return those codes that a pattern means."""
    parts = [re.compile(fnmatch.translate(part.strip())) for part in pattern.split('|')]
    return frozenset(code for code in codes if any(part.match(code) for part in parts))


def check_known(names: Iterable[str], known: Sequence[str], where: str, what: str) -> None:
    """Refuse names that are not known.

    Raises:
        LabelError: With where the name stands and what it may have meant.
    """
    for name in names:
        if name not in known:
            raise LabelError(
                f'{where}: no {what} {name!r}; known are {", ".join(known) or "none"}'
                f'{did_you_mean(name, known)}'
            )


def check_precedence(order: Sequence[str], origins: Sequence[str], where: str) -> None:
    """Refuse an order that names something twice or nothing that exists.

    Raises:
        LabelError: With the name.
    """
    for name in order:
        if order.count(name) > 1:
            raise LabelError(f'{where}: precedence: {name!r} stands there twice')
        if name not in KINDS and ':' not in name:
            raise LabelError(
                f'{where}: precedence: expected {", ".join(KINDS)} or an origin such as '
                f'rule:rising, found {name!r}{did_you_mean(name, KINDS)}'
            )
        if name.startswith(('rule:', 'outcome:')):
            check_known([name], origins, f'{where}: precedence', 'origin')
