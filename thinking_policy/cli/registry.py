# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy registry`: which policy the robots of a tenant are to run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from thinking_policy.cli.server_database import (
    DatabaseOption,
    TenantOption,
    database_path,
    lent_database,
    only_tenant,
)
from thinking_policy.cli.tables import printable
from thinking_policy.cli.token import day

if TYPE_CHECKING:
    from thinking_policy.server.tenancy import TenantData

PUBLISH_EXAMPLES = """\b
Examples:
  thinking-policy registry publish policy.onnx
  thinking-policy registry publish policy.onnx --key policy_public.pem --tenant lab
"""
LIST_EXAMPLES = """\b
Example:
  thinking-policy registry list --tenant lab
"""
ROLLBACK_EXAMPLES = """\b
Examples:
  thinking-policy registry rollback
  thinking-policy registry rollback 3f2a9c0d1e4b5a67 --tenant lab
"""
ROBOTS_EXAMPLES = """\b
Example:
  thinking-policy registry robots
"""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help='Publish policies, go back to earlier ones, see what robots run.',
)


@app.command(epilog=PUBLISH_EXAMPLES, no_args_is_help=True)
def publish(
    file: Annotated[
        Path, typer.Argument(metavar='FILE', readable=False, help='Policy file (.onnx).')
    ],
    key: Annotated[
        Path | None,
        typer.Option(
            metavar='PUB', readable=False, help='Public key (PEM) that the signature must fit.'
        ),
    ] = None,
    tenant: TenantOption = '',
    db: DatabaseOption = None,
) -> None:
    """Make a policy current: robots fetch it with their next question.

    It is tried first, as a robot does. The signature beside it (FILE.sig) goes along.
    """
    from thinking_policy.server.registry import read_policy

    policy = read_policy(file, key)
    with _of_tenant(db, tenant, writes=True) as data:
        release = data.policies.publish(policy, time.time_ns())
    if policy.signature is None:
        signed = 'not signed; robots with a public key will refuse it'
    else:
        signed = 'signed' if key else 'signed; signature not checked: no --key given'
    print(f'{file}: version {release.version} is current, {signed}')


@app.command('list', epilog=LIST_EXAMPLES)
def list_(tenant: TenantOption = '', db: DatabaseOption = None) -> None:
    """List what was published, latest first."""
    with _of_tenant(db, tenant) as data:
        releases, current = data.policies.releases(), data.policies.current()
    table = Table('', 'version', 'published', 'signed')
    for release in releases:
        table.add_row(
            'current' if current is not None and release.seq == current.seq else '',
            release.version,
            day(release.released_ns),
            'no' if release.signature is None else 'yes',
        )
    Console(highlight=False, markup=False).print(table)


@app.command(epilog=ROLLBACK_EXAMPLES)
def rollback(
    version: Annotated[
        str | None,
        typer.Argument(metavar='[VERSION]', help='Default: what was current before.'),
    ] = None,
    tenant: TenantOption = '',
    db: DatabaseOption = None,
) -> None:
    """Make an earlier policy current again; nothing is deleted."""
    with _of_tenant(db, tenant, writes=True) as data:
        release = data.policies.rollback(version, time.time_ns())
    print(f'version {release.version} is current')


@app.command(epilog=ROBOTS_EXAMPLES)
def robots(tenant: TenantOption = '', db: DatabaseOption = None) -> None:
    """List the robots, and which policy each said it runs."""
    with _of_tenant(db, tenant) as data:
        reports, current = data.robots.all(), data.policies.current()
    table = Table('robot', 'policy', 'state', 'heard', 'reason')
    for report in reports:
        newest = current is not None and report.policy_version == current.version
        table.add_row(
            printable(report.robot),
            f'{printable(report.policy_version)}{" (current)" if newest else ""}',
            report.state,
            day(report.reported_ns),
            printable(report.reason),
        )
    Console(highlight=False, markup=False).print(table)


@contextmanager
def _of_tenant(db: Path | None, tenant: str, *, writes: bool = False) -> Iterator[TenantData]:
    """Lend one tenant's data within a transaction, or for reading."""
    from thinking_policy.server.tenancy import TenantData

    with lent_database(database_path(db), writes=writes) as database:
        yield TenantData(database, only_tenant(database, tenant))
