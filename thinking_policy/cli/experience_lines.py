# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Experiences in a table, and counts of them in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinking_policy.cli.bag_lines import moment
from thinking_policy.cli.picture import number
from thinking_policy.cli.tables import columns
from thinking_policy.experience.accounts import Accounts
from thinking_policy.experience.search import Found, Standing

SHORTEST_ID = 13  # characters: its time in milliseconds
MOST_NAMED = 12  # episodes, days and the like; all are in --json


def table(found: Sequence[Found], total: int, tenant: str = '') -> Iterator[str]:
    """Yield a line for each experience, newest first.

    Args:
        found: Those to show.
        total: How many there are.
        tenant: Whose; empty: a robot's own, of which an upload may be pending.
    """
    if not found:
        yield 'no such experience'
        return
    short = _shortest([one.experience.id for one in found])
    rows = [
        ('time, UTC', 'id', 'robot', 'episode', 'recorded for', 'active', 'novelty', 'outcome',
         'state'),
    ]  # fmt: skip
    for one in found:
        experience = one.experience
        label = one.label
        outcome = '-' if label is None else label.code or label.kind.value
        if label is not None and label.reward is not None:
            outcome += f' {label.reward:+g}'
        rows.append(
            (
                moment(experience.situation.stamp_ns).removesuffix(' UTC'),
                experience.id[:short],
                experience.robot,
                experience.situation.episode,
                ', '.join(reason.value for reason in experience.reasons),
                ', '.join(experience.active) or '-',
                novelty(one),
                outcome,
                state(one.standing, tenant),
            )
        )
    yield from columns(rows, right=(6,))
    if total > len(found):
        yield ''
        yield f'{len(found):,} of {total:,}; more with --limit'


def novelty(one: Found) -> str:
    """Return it, with a mark where it is above its threshold."""
    value, threshold = one.experience.novelty, one.experience.novelty_threshold
    if value is None:
        return '-'
    return f'{number(value)}{"!" if threshold is not None and value > threshold else ""}'


def state(standing: Standing, tenant: str) -> str:
    """Return how its records stand, in a word or two."""
    word = 'stored' if tenant and standing.state == 'pending' else standing.state
    return f'{word}, pinned' if standing.pinned else word


def as_json(one: Found, tenant: str = '') -> dict[str, Any]:
    """Return what the table shows of an experience, for scripts."""
    experience, label = one.experience, one.label
    return {
        'id': experience.id,
        'stamp_ns': experience.situation.stamp_ns,
        'robot': experience.robot,
        'episode': experience.situation.episode,
        'tick': experience.situation.tick,
        'policy_version': experience.policy_version,
        'reasons': [reason.value for reason in experience.reasons],
        'active': list(experience.active),
        'novelty': experience.novelty,
        'novelty_threshold': experience.novelty_threshold,
        'label': None if label is None else label.model_dump(mode='json'),
        'amendments': len(one.amendments),
        'state': state(Standing(one.standing.state), tenant),
        'pinned': list(one.standing.pinned),
    }


def accounts(found: Accounts, file: Path, tenant: str = '') -> Iterator[str]:
    """Yield what a file holds of one tenant."""
    totals = found.totals
    yield f'{file}{f", tenant {tenant}" if tenant else ""}'
    rows = [
        ('  experiences', f'{totals["experiences"]:,}'),
        ('  with outcome or feedback', f'{totals["labelled"]:,}'),
        ('  amendments', f'{totals["amendments"]:,}'),
        ('  pinned', f'{totals["pinned"]:,}'),
    ]
    if not tenant:
        rows += [
            ('  records to upload', f'{totals["pending"]:,}'),
            ('  records quarantined', f'{totals["quarantined"]:,}'),
        ]
    rows += [
        ('  bytes of records', f'{totals["bytes"]:,}'),
        ('  bytes of the file', f'{found.file_bytes:,} ({found.free_bytes:,} free)'),
    ]
    yield from columns(rows)
    if found.first_ns is not None and found.last_ns is not None:
        yield f'  from {moment(found.first_ns)} to {moment(found.last_ns)}'
    for name, counts in (
        ('recorded for', found.by_reason),
        ('robot', found.by_robot),
        ('policy', found.by_policy),
        ('day', found.by_day),
        ('episode', found.by_episode),
    ):
        yield from _counted(name, counts)
    if found.counters:
        yield from _counted('since the file was made, records', found.counters)
    if not tenant:
        yield ''
        yield f'upload: {_uplink(found)}'


def _counted(name: str, counts: Mapping[str, int]) -> Iterator[str]:
    if not counts:
        return
    yield ''
    yield f'{name}'
    shown = list(counts.items())
    if name in ('day', 'episode'):  # the newest say most; their names begin with the time
        shown = shown[-MOST_NAMED:]
    yield from columns([(f'  {key or "-"}', f'{value:,}') for key, value in shown], right=(1,))
    if len(counts) > len(shown):
        yield f'  and {len(counts) - len(shown):,} before; all with --json'


def _uplink(found: Accounts) -> str:
    kept, sent = found.uplink, found.counters.get('uploaded', 0)
    if 'unreadable' in kept:
        return f'what it keeps cannot be read: {kept["unreadable"]!r}'
    failed, next_ns = kept.get('attempts', 0), kept.get('not_before_ns', 0)
    if not failed:
        return f'{sent:,} records sent, nothing has failed' if sent else 'nothing sent yet'
    at_once = not isinstance(next_ns, int) or next_ns <= 0
    when = 'at once' if at_once else f'at {moment(next_ns)}'
    times = 'once' if failed == 1 else f'{failed} times in a row'
    return f'{sent:,} records sent; failed {times}, tried again {when}'


def _shortest(ids: Sequence[str]) -> int:
    """Return how many characters tell all of these apart."""
    for length in range(SHORTEST_ID, 36):
        if len({one[:length] for one in ids}) == len(ids):
            return length
    return 36
