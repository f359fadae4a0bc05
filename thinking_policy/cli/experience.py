# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy experience`: look at what robots lived through, move it, clear it away."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from thinking_policy.cli import experience_clearing, experience_from_bag, experience_moving
from thinking_policy.cli.experience_options import (
    Activity,
    AsJson,
    Db,
    Episode,
    Labelled,
    ReasonOption,
    Robot,
    Since,
    Tenant,
    Until,
    check_text,
    chosen,
    database_path,
    store_to_read,
)
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.tables import printable

LIST_EXAMPLES = """\b
Examples:
  thinking-policy experience list
  thinking-policy experience list --reason novelty --since 2h
  thinking-policy experience list --activity trend --unlabelled --limit 100
  thinking-policy experience list --db server.db --tenant acme --robot walker_1 --json
"""
SHOW_EXAMPLES = """\b
Examples:
  thinking-policy experience show 0197a3f0-5b8c
  thinking-policy experience show 0197a3f0-5b8c --config my_robot.yaml
  thinking-policy experience show 0197a3f0-5b8c --json | jq .experience.activations
"""
STATS_EXAMPLES = """\b
Examples:
  thinking-policy experience stats
  thinking-policy experience stats --db server.db --tenant acme --json
"""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help='Look at experiences, export and import them, make them of bags, clear them away.',
)


@app.command('list', epilog=LIST_EXAMPLES)
def list_experiences(
    robot: Robot = None,
    episode: Episode = None,
    reason: ReasonOption = None,
    activity: Activity = None,
    labelled: Labelled = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, metavar='N', help='At most so many.')] = 20,
    db: Db = None,
    tenant: Tenant = '',
    as_json: AsJson = False,
) -> None:
    """List experiences, newest first; works while a robot or server writes the file.

    Novelty above its threshold has a mark (!). The state is pending, uploaded or quarantined on a
    robot, stored on a server; a pinned one is evidence of living knowledge and never goes. With
    --json one object for each line.
    """
    from thinking_policy.cli import experience_lines
    from thinking_policy.experience import search

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
        found = search.newest(store, filters, limit)
        total = search.count(store, filters) if len(found) == limit else len(found)
        tenant = store.tenant
    if as_json:
        for one in found:
            print(json.dumps(experience_lines.as_json(one, tenant)))
        return
    for line in experience_lines.table(found, total, tenant):
        print(printable(line))


@app.command(epilog=SHOW_EXAMPLES)
def show(
    one: Annotated[
        str, typer.Argument(metavar='ID', help='Its id, or as much of it as no other begins with.')
    ],
    config: Annotated[
        str,
        typer.Option(
            metavar='FILE',
            help='Robot file, or the name of a shipped one: for units and ranges (default: the '
            "bundled policy's, where that one was running).",
        ),
    ] = '',
    db: Db = None,
    tenant: Tenant = '',
    as_json: Annotated[
        bool, typer.Option('--json', help='One JSON object with the records as they are.')
    ] = False,
) -> None:
    """Show one experience: what the robot perceived, what the policy said, what came of it."""
    from thinking_policy.cli import experience_page
    from thinking_policy.experience import search

    check_text('ID', one)
    file = find_configuration(config) if config else None
    with store_to_read(db, tenant) as store:
        found = search.find(store, search.whole_id(store, one))
        tenant = store.tenant
    if found is None:
        raise typer.Exit(1)  # deleted between two queries
    if as_json:
        print(json.dumps(experience_page.as_json(found)))
        return
    scales = {} if file is None else experience_page.scales_of(file)
    for line in experience_page.page(found, scales, tenant):
        print(printable(line))


@app.command(epilog=STATS_EXAMPLES)
def stats(db: Db = None, tenant: Tenant = '', as_json: AsJson = False) -> None:
    """Count experiences by reason, robot, episode, policy and day; say how the upload stands."""
    from thinking_policy.cli import experience_lines
    from thinking_policy.experience.accounts import account

    with store_to_read(db, tenant) as store:
        accounts = account(store)
        tenant = store.tenant
    if as_json:
        print(json.dumps(dataclasses.asdict(accounts)))
        return
    for line in experience_lines.accounts(accounts, database_path(db), tenant):
        print(printable(line))


app.command('export', epilog=experience_moving.EXPORT_EXAMPLES)(experience_moving.export)
app.command('import', epilog=experience_moving.IMPORT_EXAMPLES)(experience_moving.import_file)
app.add_typer(experience_clearing.quarantine, name='quarantine')
app.command('purge', epilog=experience_clearing.PURGE_EXAMPLES)(experience_clearing.purge)
app.command('from-bag', epilog=experience_from_bag.EXAMPLES)(experience_from_bag.from_bag)
