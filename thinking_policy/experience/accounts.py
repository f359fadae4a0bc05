# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How many experiences of one tenant there are, of which kind, and how the upload stands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from thinking_policy.experience.store import ExperienceStore

UPLINK = 'uplink'  # the setting in which the uplink keeps its backoff
_DAY_NS = 86_400 * 10**9


@dataclass(frozen=True)
class Accounts:
    """What `account` counts.

    Attributes:
        totals: As `ExperienceStore.totals`, and `pinned` experiences.
        by_reason, by_robot, by_episode, by_policy: Experiences; one with two reasons counts for
            both.
        by_day: Experiences by day of their situation, UTC, as YYYY-MM-DD.
        counters: Of the file, over restarts.
        file_bytes, free_bytes: Size of the file without its log, and how much of that is free.
        first_ns, last_ns: Time of the oldest and the newest situation; None where there is none.
        uplink: What the uplink keeps; empty: it never ran.
    """

    totals: dict[str, int]
    by_reason: dict[str, int]
    by_robot: dict[str, int]
    by_episode: dict[str, int]
    by_policy: dict[str, int]
    by_day: dict[str, int]
    counters: dict[str, int]
    file_bytes: int
    free_bytes: int
    first_ns: int | None
    last_ns: int | None
    uplink: dict[str, Any]


def account(store: ExperienceStore) -> Accounts:
    """Count what a store holds; reads all of it once, for the reasons."""
    execute = store.database.conn.execute

    def by(expression: str) -> dict[str, int]:
        rows = execute(
            f'SELECT {expression} AS name, COUNT(*) FROM record WHERE tenant = ? '
            'AND revision = 0 GROUP BY name ORDER BY name',
            (store.tenant,),
        )
        return {str(name): int(number) for name, number in rows}

    first, last = execute(
        'SELECT MIN(stamp_ns), MAX(stamp_ns) FROM record WHERE tenant = ? AND revision = 0',
        (store.tenant,),
    ).fetchone()
    pinned = execute(
        'SELECT COUNT(DISTINCT id) FROM pin WHERE tenant = ?', (store.tenant,)
    ).fetchone()[0]
    file_bytes, free_bytes = store.file_bytes()
    return Accounts(
        totals={**store.totals(), 'pinned': int(pinned)},
        by_reason=_by_reason(by("json_extract(CAST(body AS TEXT), '$.reasons')")),
        by_robot=by('robot'),
        by_episode=by('episode'),
        by_policy=by('policy_version'),
        by_day=by(f"date(stamp_ns / {_DAY_NS} * 86400, 'unixepoch')"),
        counters=dict(sorted(store.counters().items())),
        file_bytes=file_bytes,
        free_bytes=free_bytes,
        first_ns=first,
        last_ns=last,
        uplink=_setting(store),
    )


def _by_reason(by_list: dict[str, int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for text, number in by_list.items():
        for reason in json.loads(text):
            counts[str(reason)] = counts.get(str(reason), 0) + number
    return dict(sorted(counts.items()))


def _setting(store: ExperienceStore) -> dict[str, Any]:
    # Settings are the file's, not a tenant's: a server's file has no uplink.
    text = None if store.tenant else store.setting(UPLINK)
    if text is None:
        return {}
    try:
        kept = json.loads(text)
    except ValueError:
        return {'unreadable': text[:200]}
    return kept if isinstance(kept, dict) else {'unreadable': text[:200]}
