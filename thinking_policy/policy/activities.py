# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of thinking that a policy may call for, as a person writes them down."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinking_policy.policy.errors import PolicyError
from thinking_policy.situation.yaml_file import read_yaml

DEFAULT_THRESHOLD = 0.5
# Off this far below on, where the file is silent: wide enough for the noise of one sample.
DEFAULT_GAP = 0.15
_ID = re.compile(r'[a-z][a-z0-9_]*\Z')


@dataclass(frozen=True)
class ThinkingActivity:
    """One kind of thinking (g of the paper).

    Attributes:
        id: Lower-case name, unique in a policy.
        title: A few words for people.
        directive: Imperative sentence for a planner or a language model.
        threshold: Probability at which it becomes active, 0...1.
        threshold_off: Probability below which it ends, 0...threshold.
    """

    id: str
    title: str
    directive: str
    threshold: float = DEFAULT_THRESHOLD
    threshold_off: float = DEFAULT_THRESHOLD - DEFAULT_GAP


def load_activities(path: Path) -> tuple[ThinkingActivity, ...]:
    """Read a list of activities such as `config/thinking.yaml`.

    Raises:
        PolicyError: Not readable, not such a list, or a wrong entry; the message names it.
    """
    document = read_yaml(path, PolicyError)
    entries = document.get('activities') if isinstance(document, dict) else None
    if not isinstance(entries, list) or not entries:
        raise PolicyError(f'{path}: expected "activities:" with at least one entry, found none')
    return activities_from_entries(entries, str(path))


def activities_from_entries(entries: Sequence[Any], source: str) -> tuple[ThinkingActivity, ...]:
    """Return checked activities from a list of mappings.

    Args:
        entries: One mapping for each activity, with the attributes' names as keys.
        source: File named in errors.

    Raises:
        PolicyError: A wrong entry; the message names the activity, the key and what was found.
    """
    activities = tuple(
        _activity(entry, f'{source}: activities[{index}]') for index, entry in enumerate(entries)
    )
    seen: set[str] = set()
    for activity in activities:
        if activity.id in seen:
            raise PolicyError(f'{source}: activity {activity.id!r} stands there twice')
        seen.add(activity.id)
    return activities


def with_thresholds(
    activities: Sequence[ThinkingActivity],
    on: Mapping[str, float],
    off: Mapping[str, float],
    source: str = 'thresholds',
) -> tuple[ThinkingActivity, ...]:
    """Return the activities with some thresholds replaced.

    Where only the on-threshold is given, the off-threshold keeps its distance below it.

    Args:
        activities: As the manifest has them.
        on: On-threshold by activity id.
        off: Off-threshold by activity id.
        source: Where the values came from, named in errors.

    Raises:
        PolicyError: An unknown id, or a threshold out of range.
    """
    known = [activity.id for activity in activities]
    for name in (*on, *off):
        if name not in known:
            raise PolicyError(f'{source}: unknown activity {name!r}; the policy has {known}')
    changed = []
    for activity in activities:
        threshold = on.get(activity.id, activity.threshold)
        gap = activity.threshold - activity.threshold_off
        lower = off.get(activity.id, max(0.0, threshold - gap))
        _check_thresholds(threshold, lower, f'{source}: {activity.id}')
        changed.append(dataclasses.replace(activity, threshold=threshold, threshold_off=lower))
    return tuple(changed)


def _activity(entry: Any, where: str) -> ThinkingActivity:
    if not isinstance(entry, Mapping):
        raise PolicyError(f'{where}: expected names and values, found {entry!r:.80}')
    known = [field.name for field in dataclasses.fields(ThinkingActivity)]
    for key in entry:
        if key not in known:
            raise PolicyError(f'{where}: unknown key {key!r:.80}; known are {known}')
    for key in ('id', 'title', 'directive'):
        value = entry.get(key)
        if not isinstance(value, str) or not value.strip():
            raise PolicyError(f'{where}.{key}: expected text, found {value!r:.80}')
    if not _ID.match(entry['id']):
        raise PolicyError(
            f'{where}.id: expected lower-case letters, digits and _, found {entry["id"]!r:.80}'
        )
    threshold = _number(entry.get('threshold', DEFAULT_THRESHOLD), f'{where}.threshold')
    off = _number(
        entry.get('threshold_off', max(0.0, threshold - DEFAULT_GAP)), f'{where}.threshold_off'
    )
    _check_thresholds(threshold, off, where)
    # YAML's folded texts end in a line break.
    texts = {key: ' '.join(entry[key].split()) for key in ('id', 'title', 'directive')}
    for key, text in texts.items():
        if not text.isprintable():
            raise PolicyError(f'{where}.{key}: expected printable text, found {text!r:.80}')
    return ThinkingActivity(**texts, threshold=threshold, threshold_off=off)


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e9:
        raise PolicyError(f'{where}: expected a number in 0...1, found {value!r:.80}')
    return float(value)


def _check_thresholds(on: float, off: float, where: str) -> None:
    if not (math.isfinite(on) and math.isfinite(off) and 0.0 <= off <= on <= 1.0 and on > 0.0):
        raise PolicyError(
            f'{where}: expected 0 <= threshold_off <= threshold <= 1 and threshold > 0, '
            f'found threshold {on} and threshold_off {off}'
        )
