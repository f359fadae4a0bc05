# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy experience quarantine|purge`: what the server refused, and what may go."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.experience_options import (
    AsJson,
    Db,
    Robot,
    Tenant,
    chosen,
    database_path,
    moment_given,
    store_to_change,
    store_to_read,
)
from thinking_policy.cli.progress import showing_progress

QUARANTINE_EXAMPLES = """\b
Examples:
  thinking-policy experience quarantine
  thinking-policy experience quarantine release 0197a3f0-5b8c
  thinking-policy experience quarantine export refused.jsonl
"""
PURGE_EXAMPLES = """\b
Examples:
  thinking-policy experience purge --uploaded --before 30d
  thinking-policy experience purge --unlabelled --before 2026-01-01 --yes
  thinking-policy experience purge --db server.db --tenant acme --robot walker_1 --yes
"""

quarantine = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    help='Records that the server refused, with its reason: list, try again, export.',
)


@quarantine.callback(invoke_without_command=True, epilog=QUARANTINE_EXAMPLES)
def quarantine_alone(ctx: typer.Context, db: Db = None, as_json: AsJson = False) -> None:
    """Show records that the server refused, with its reason; let them be tried again."""
    if ctx.invoked_subcommand is None:
        list_quarantined(db, as_json)
    elif db is not None or as_json:
        raise ThinkingPolicyError(
            f'--db and --json: write them behind `quarantine {ctx.invoked_subcommand}`'
        )


@quarantine.command('list', epilog=QUARANTINE_EXAMPLES)
def list_quarantined(db: Db = None, as_json: AsJson = False) -> None:
    """List them, with the reason; --json: one object a line."""
    from thinking_policy.cli.tables import columns, printable
    from thinking_policy.experience.search import quarantined

    rows = [('id', 'revision', 'robot', 'reason')]
    with store_to_read(db, '') as store:
        for one in quarantined(store):
            if as_json:
                print(json.dumps(dataclasses.asdict(one)))
            rows.append((one.id, str(one.revision), one.robot, one.reason))
    if as_json:
        return
    if len(rows) == 1:
        print('nothing is quarantined')
        return
    for line in columns(rows, right=(1,)):
        print(printable(line))


@quarantine.command(epilog=QUARANTINE_EXAMPLES)
def release(
    one: Annotated[
        str,
        typer.Argument(metavar='[ID]', help='Only this experience, by its id or its beginning.'),
    ] = '',
    db: Db = None,
) -> None:
    """Let them be uploaded again: once the server, its limits or the token were corrected."""
    from thinking_policy.experience.search import whole_id
    from thinking_policy.experience.transaction import transaction

    with store_to_change(db, '') as store:
        chosen_id = whole_id(store, one, alone=True) if one else None
        with transaction(store.database):
            count = store.release(chosen_id)
    print(f'{database_path(db)}: {count:,} {"record" if count == 1 else "records"} released')


@quarantine.command('export', epilog=QUARANTINE_EXAMPLES)
def export_quarantined(
    file: Annotated[Path, typer.Argument(metavar='FILE.jsonl', readable=False)],
    db: Db = None,
    force: Annotated[bool, typer.Option('--force', help='Replace a file that is there.')] = False,
) -> None:
    """Write them as they are, one a line; they stay quarantined here."""
    from thinking_policy.experience.search import quarantined
    from thinking_policy.whole_file import whole_file

    if file.suffix != '.jsonl':
        raise ThinkingPolicyError(f'{file}: expected a name that ends in .jsonl')
    if file.exists() and not force:
        raise ThinkingPolicyError(
            f'{file}: exists already; choose another name or replace it with --force'
        )
    count = 0
    with store_to_read(db, '') as store, whole_file(file) as draft, draft.open('wb') as lines:
        for one in quarantined(store):
            body = next(line.body for line in store.lines(one.id) if line.revision == one.revision)
            lines.write(body + b'\n')
            count += 1
    print(f'{file}: {count:,} {"record" if count == 1 else "records"}')


def purge(
    before: Annotated[
        str | None,
        typer.Option(metavar='TIME', help='Situations before then: 2026-05-01, or 30d (ago).'),
    ] = None,
    uploaded: Annotated[
        bool, typer.Option('--uploaded', help='All of whose records the server has committed.')
    ] = False,
    robot: Robot = None,
    unlabelled: Annotated[
        bool, typer.Option('--unlabelled', help='Without an outcome or feedback.')
    ] = False,
    yes: Annotated[bool, typer.Option('--yes', help='Delete them; else it is only said.')] = False,
    db: Db = None,
    tenant: Tenant = '',
    as_json: AsJson = False,
) -> None:
    """Delete experiences to which all of these apply, with their amendments.

    Without --yes it only says what would go, and exits with 1 where something would. Pinned ones
    are evidence of living knowledge and stay. What goes is counted, and its room is given back.
    """
    from thinking_policy.experience.clearing import affected
    from thinking_policy.experience.clearing import purge as purge_store

    if before is None and robot is None and not uploaded and not unlabelled:
        raise ThinkingPolicyError(
            'expected --before, --uploaded, --robot or --unlabelled: what shall go?'
        )
    filters = dataclasses.replace(
        chosen(robot=robot, labelled=False if unlabelled else None),
        uploaded=True if uploaded else None,
        until_ns=None if before is None else moment_given('--before', before, time.time_ns()),
    )
    gone = 0
    if yes:
        with store_to_change(db, tenant) as store:
            found, tenant = affected(store, filters), store.tenant
            with showing_progress('deleting', found.experiences) as told:
                gone = purge_store(store, filters, told)
    else:
        with store_to_read(db, tenant) as store:
            found, tenant = affected(store, filters), store.tenant
    answer = {**dataclasses.asdict(found), 'purged_records': gone}
    if as_json:
        print(json.dumps(answer))
    else:
        word = f'{gone:,} records went' if yes else 'would go, with --yes'
        pending = '' if tenant else f', {found.pending:,} not uploaded'
        print(
            f'{database_path(db)}: {found.experiences:,} experiences, {found.bytes:,} bytes '
            f'({found.labelled:,} with outcome or feedback{pending}): {word}'
        )
        if found.pinned:
            print(f'  {found.pinned:,} more are pinned and stay')
    if found.experiences and not yes:
        raise typer.Exit(1)
