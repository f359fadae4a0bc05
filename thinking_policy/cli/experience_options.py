# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the commands of `experience` have in common: which file, whose, and which experiences."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.experience.default_database import default_database

if TYPE_CHECKING:
    from sqlite_utils import Database

    from thinking_policy.experience.search import Filters
    from thinking_policy.experience.store import ExperienceStore

Db = Annotated[
    Path | None,
    typer.Option(
        '--db',
        metavar='PATH',
        readable=False,
        help="File of experiences, a robot's or a server's (default: the experience node's, "
        'below ROS_HOME).',
    ),
]
Tenant = Annotated[
    str,
    typer.Option(
        metavar='NAME',
        help="Whose, of a server's file; may be left out where only one has tokens.",
    ),
]
Robot = Annotated[str | None, typer.Option(metavar='NAME', help='Only of this robot.')]
Episode = Annotated[str | None, typer.Option(metavar='NAME', help='Only of this episode.')]
ReasonOption = Annotated[
    str | None,
    typer.Option(
        '--reason',
        metavar='WORD',
        help='Recorded because of change, novelty, event, outcome, feedback or sample.',
    ),
]
Activity = Annotated[
    str | None, typer.Option(metavar='ID', help='This kind of thinking was active.')
]
Labelled = Annotated[
    bool | None,
    typer.Option('--labelled/--unlabelled', help='With or without an outcome or feedback.'),
]
Since = Annotated[
    str | None,
    typer.Option(metavar='TIME', help='From then on: 2026-05-01, 2026-05-01T08:30, or 90m, 2h, 7d '
                 '(ago); UTC unless it says otherwise.'),
]  # fmt: skip
Until = Annotated[str | None, typer.Option(metavar='TIME', help='Before then.')]
AsJson = Annotated[bool, typer.Option('--json', help='JSON instead.')]

_AGO = re.compile(r'(\d+(?:\.\d+)?)\s*([smhdw])')
_LONGEST_S = 9e9
_UNITS_S = {'s': 1, 'm': 60, 'h': 3600, 'd': 86_400, 'w': 604_800}


def database_path(given: Path | None) -> Path:
    """Return the file that is meant."""
    return default_database(os.environ) if given is None else given.expanduser()


@contextmanager
def store_to_read(db: Path | None, tenant: str) -> Iterator[ExperienceStore]:
    """Lend a store that can't be changed.

    Raises:
        ExperienceError: As `reading`; or nothing of that tenant is there and of others is.
    """
    from thinking_policy.experience.opening import reading
    from thinking_policy.experience.store import ExperienceStore

    with reading(database_path(db)) as database:
        yield ExperienceStore(database, _tenant_of(database, tenant, database_path(db)))


@contextmanager
def store_to_change(
    db: Path | None, tenant: str, *, make: bool = False
) -> Iterator[ExperienceStore]:
    """Lend a store whose connection commits by itself.

    Raises:
        ExperienceError: As `changing` and `store_to_read`.
    """
    from thinking_policy.experience.opening import changing
    from thinking_policy.experience.store import ExperienceStore

    with changing(database_path(db), make=make) as database:
        yield ExperienceStore(database, _tenant_of(database, tenant, database_path(db)))


def _tenant_of(database: Database, given: str, path: Path) -> str:
    """Refuse a name that is nobody's: a slip would look like a file without experiences."""
    if not database.table('token').exists():
        if given:
            raise ThinkingPolicyError(
                f"{path}: is a robot's file, which has no tenants; leave --tenant {given} out"
            )
        return given
    rows = database.conn.execute('SELECT DISTINCT tenant FROM token ORDER BY tenant')
    names = [str(name) for (name,) in rows]
    if given not in names and (given or len(names) != 1):
        known = ', '.join(names) or 'none yet'
        raise ThinkingPolicyError(
            f"{path}: is a server's file; name one of its tenants with --tenant: {known}"
        )
    return given or names[0]


def chosen(
    *,
    robot: str | None = None,
    episode: str | None = None,
    reason: str | None = None,
    activity: str | None = None,
    labelled: bool | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Filters:
    """Return which experiences are meant.

    Raises:
        ThinkingPolicyError: A reason or a time that is none.
    """
    from thinking_policy.experience.record import Reason
    from thinking_policy.experience.search import Filters

    for option, name in (('--robot', robot), ('--episode', episode), ('--activity', activity)):
        check_text(option, name or '')
    reasons = [one.value for one in Reason]
    if reason is not None and reason not in reasons:
        raise ThinkingPolicyError(
            f'--reason: expected one of {", ".join(reasons)}, found {reason!r}'
        )
    now = time.time_ns()
    return Filters(
        robot=robot,
        episode=episode,
        reason=None if reason is None else Reason(reason),
        activity=activity,
        labelled=labelled,
        since_ns=None if since is None else moment_given('--since', since, now),
        until_ns=None if until is None else moment_given('--until', until, now),
    )


def check_text(option: str, text: str) -> None:
    """Refuse what the terminal sent and is no UTF-8.

    Raises:
        ThinkingPolicyError: It is none.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ThinkingPolicyError(f'{option}: expected UTF-8 text, found {text!r}') from error


def moment_given(option: str, text: str, now_ns: int) -> int:
    """Return a time in nanoseconds since 1970.

    Args:
        option: Named in the error.
        text: Date, date and time (UTC where it has no zone), or a span such as `2h`: so long ago.
        now_ns: What spans count from.

    Raises:
        ThinkingPolicyError: It is none of these.
    """
    if ago := _AGO.fullmatch(text.strip()):
        return max(0, now_ns - round(min(float(ago[1]) * _UNITS_S[ago[2]], _LONGEST_S) * 1e9))
    try:
        when = datetime.fromisoformat(text.strip().replace('Z', '+00:00'))
        if not 1970 <= when.year < 2262:
            raise ValueError('out of what nanoseconds can count')
    except ValueError as error:
        raise ThinkingPolicyError(
            f'{option}: expected a time from 1970 to 2261, such as 2026-05-01, 2026-05-01T08:30 '
            f'or 2h (ago), found {text!r}'
        ) from error
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    whole = int(when.replace(microsecond=0).timestamp())
    return whole * 10**9 + when.microsecond * 1000
