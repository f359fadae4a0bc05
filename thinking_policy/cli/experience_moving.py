# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy experience export|import`: out of a file and into one."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.experience_options import (
    Activity,
    Db,
    Episode,
    Labelled,
    ReasonOption,
    Robot,
    Since,
    Tenant,
    Until,
    chosen,
    database_path,
    store_to_change,
    store_to_read,
)
from thinking_policy.cli.progress import showing_progress

EXPORT_EXAMPLES = """\b
Examples:
  thinking-policy experience export all.jsonl
  thinking-policy experience export may.parquet --since 2026-05-01 --until 2026-06-01 --labelled
  thinking-policy experience export acme.parquet --db server.db --tenant acme
"""
IMPORT_EXAMPLES = """\b
Examples:
  thinking-policy experience import all.jsonl --db copy.db
  thinking-policy experience import bad_lines_too.jsonl --json
"""
PROBLEMS_SHOWN = 20  # lines; all are in --json

Force = Annotated[bool, typer.Option('--force', help='Replace a file that is there.')]


def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar='FILE',
            readable=False,
            help='.jsonl: records as they are, one a line; .parquet: a row for each experience.',
        ),
    ],
    robot: Robot = None,
    episode: Episode = None,
    reason: ReasonOption = None,
    activity: Activity = None,
    labelled: Labelled = None,
    since: Since = None,
    until: Until = None,
    db: Db = None,
    tenant: Tenant = '',
    force: Force = False,
) -> None:
    """Write experiences to a file, for learning or for another database.

    JSONL holds every record with the bytes that it has here; `import` gives them back. Parquet
    has a row for each experience: window and valid as flat lists (T x F, oldest first), signals,
    activations, events, and what was observed of it, at once or later. Memory stays flat.
    """
    from thinking_policy.experience.search import count, lines_of
    from thinking_policy.whole_file import whole_file

    _check_output(file, db, force)
    filters = chosen(
        robot=robot,
        episode=episode,
        reason=reason,
        activity=activity,
        labelled=labelled,
        since=since,
        until=until,
    )
    with store_to_read(db, tenant) as store:
        total = count(store, filters)
        with whole_file(file) as draft, showing_progress('exporting', total) as told:
            groups = lines_of(store, filters)
            if file.suffix == '.parquet':
                from thinking_policy.experience.parquet import write_table

                written, alone = write_table(draft, groups, told)
            else:
                from thinking_policy.experience.line_files import write_lines

                with draft.open('wb') as lines:
                    written, records = write_lines(lines, groups, told)
    if file.suffix == '.parquet':
        print(f'{file}: {written:,} experiences')
        if alone:
            print(f'  left out: {alone:,} amendments of experiences that are not there')
    else:
        print(f'{file}: {written:,} experiences, {records:,} records')


def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar='FILE.jsonl', readable=False, help='Records, one a line, as `export` writes.'
        ),
    ],
    db: Db = None,
    tenant: Tenant = '',
    as_json: Annotated[
        bool, typer.Option('--json', help='One JSON object with counts and bad lines instead.')
    ] = False,
) -> None:
    """Store the records of a file; the same file twice adds nothing.

    A line that is no record is counted and said with its number, and so is one that differs from
    a record of the same id, which stays. Records that are new to a robot's file are uploaded as
    its own are. Exits with 1 where a line was left out.
    """
    from thinking_policy.experience.line_files import check_line_file, read_lines

    size = check_line_file(file)
    with (
        store_to_change(db, tenant, make=not tenant) as store,
        file.open('rb') as lines,
        showing_progress('importing, bytes', size) as told,
    ):
        imported = read_lines(lines, store, time.time_ns, told)
    counts = imported.counts
    left_out = counts['bad'] + counts['conflicting']
    if as_json:
        names = ('new', 'known', 'conflicting', 'bad')
        answer = {name: counts[name] for name in names}
        problems = [{'line': line, 'reason': reason} for line, reason in imported.problems]
        print(json.dumps({**answer, 'problems': problems}))
    else:
        print(
            f'{database_path(db)}: {counts["new"]:,} new records, {counts["known"]:,} known, '
            f'{left_out:,} left out'
        )
        for line, reason in imported.problems[:PROBLEMS_SHOWN]:
            print(f'  {file.name}, line {line}: {reason}')
        if left_out > PROBLEMS_SHOWN:
            print(f'  and {left_out - PROBLEMS_SHOWN:,} more')
    if left_out:
        raise typer.Exit(1)


def _check_output(file: Path, db: Path | None, force: bool) -> None:
    if file.suffix not in ('.jsonl', '.parquet'):
        raise ThinkingPolicyError(f'{file}: expected a name that ends in .jsonl or .parquet')
    if file.suffix == '.parquet':
        import pyarrow  # noqa: F401 (that it is missing shall be said before the work)
    if file.resolve() == database_path(db).resolve():
        raise ThinkingPolicyError(f'{file}: is what is read; choose another name')
    if file.exists() and not force:
        raise ThinkingPolicyError(
            f'{file}: exists already; choose another name or replace it with --force'
        )
