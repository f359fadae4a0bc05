# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy policy`: show, verify and sign policy files, make keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.policy import (
    Manifest,
    PolicyRuntime,
    read_manifest,
    sign_file,
    write_key_pair,
)
from thinking_policy.shipped import config_folder
from thinking_policy.situation import load_configuration

SHOW_EXAMPLES = """\b
Examples:
  thinking-policy policy show
  thinking-policy policy show policy.onnx --json
"""
VERIFY_EXAMPLES = """\b
Examples:
  thinking-policy policy verify policy.onnx --config turtlebot3
  thinking-policy policy verify policy.onnx --key policy_public.pem
"""
SIGN_EXAMPLES = """\b
Example:
  thinking-policy policy sign policy.onnx --key policy_private.pem
"""
KEYGEN_EXAMPLES = """\b
Example:
  thinking-policy policy keygen -o keys
  thinking-policy policy sign policy.onnx --key keys/policy_private.pem
"""
PRIVATE_KEY, PUBLIC_KEY = 'policy_private.pem', 'policy_public.pem'

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help='Show, verify and sign policy files, make keys.',
)

File = Annotated[Path, typer.Argument(metavar='FILE', readable=False, help='Policy file (.onnx).')]


@app.command(epilog=SHOW_EXAMPLES)
def show(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar='[FILE]', readable=False, help='Policy file; default: the bundled one.'
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option('--json', help='Print the manifest as one JSON object.')
    ] = False,
) -> None:
    """Show what a policy file says about itself."""
    path = file or config_folder() / 'policy.onnx'
    manifest = read_manifest(path)
    if as_json:
        print(json.dumps({'version': manifest.version, **json.loads(manifest.to_json())}))
        return
    console = Console(highlight=False)
    size = path.stat().st_size
    for table in (
        _facts(path, size, manifest),
        _signals(manifest),
        _activities(manifest),
    ):
        console.print(table)
    if manifest.event_vocabulary:
        console.print(f'events: {", ".join(manifest.event_vocabulary)}')


@app.command(epilog=VERIFY_EXAMPLES)
def verify(
    file: File,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar='PUB',
            readable=False,
            help='Public key (PEM): the signature must belong to it.',
        ),
    ] = None,
    config: Annotated[
        str,
        typer.Option(
            metavar='FILE', help='Robot file, or the name of a shipped one: signals must fit.'
        ),
    ] = '',
) -> None:
    """Do what a robot does before it uses a policy: check, load, try.

    Exits with 2 and the reason where the robot would refuse it.
    """
    situation = load_configuration(find_configuration(config)) if config else None
    runtime = PolicyRuntime.load(file, config=situation, public_key=key)
    checked = ['whole', 'loads', 'gives probabilities']
    if key:
        checked.insert(0, 'signed')
    if situation:
        checked.append(f'fits {config}')
    print(f'{file}: good: {", ".join(checked)} (version {runtime.version})')
    if not key:
        print('  signature not checked: no --key given')
    for warning in runtime.warnings:
        print(f'  {warning}')


@app.command(epilog=SIGN_EXAMPLES)
def sign(
    file: File,
    key: Annotated[
        Path, typer.Option(metavar='PRIV', readable=False, help='Private Ed25519 key (PEM).')
    ],
) -> None:
    """Write the signature beside a policy file; replace one that is there."""
    manifest = read_manifest(file)  # so that nothing else gets signed by mistake
    print(f'{sign_file(file, key)}: signature of version {manifest.version}')


@app.command(epilog=KEYGEN_EXAMPLES)
def keygen(
    output: Annotated[
        Path,
        typer.Option(
            '-o', '--output', metavar='DIR', readable=False, help='Folder for the two files.'
        ),
    ] = Path(),
) -> None:
    """Make a key pair: the private one signs, the public one goes to the robots."""
    private, public = output / PRIVATE_KEY, output / PUBLIC_KEY
    write_key_pair(private, public)
    print(f'{private}: private key, for signing; keep it off the robots')
    print(f'{public}: public key; set public_key_path to it on the robots')


def _facts(path: Path, size: int, manifest: Manifest) -> Table:
    table = Table(title=str(path), show_header=False, title_justify='left')
    table.add_column(style='bold')
    table.add_column()
    codes = len(manifest.event_vocabulary)
    rows = {
        'version': manifest.version,
        'robot': manifest.robot,
        'created': manifest.created,
        'parent': manifest.parent or 'none',
        'network': f'{manifest.network}, {manifest.parameters:,} parameters, {size:,} bytes',
        'format': f'opset {manifest.opset}, IR version {manifest.ir_version}, '
        f'schema {manifest.schema_version}',
        'window': f'{manifest.window_length} samples, tick {manifest.tick_period_s:g} s',
        'events': f'{codes} codes known, the last {manifest.recent_events} read'
        if codes
        else 'none known',
        'training data': manifest.training_data_sha256[:16] or 'unknown',
        'training': ', '.join(f'{k} {v:g}' for k, v in manifest.training.items()) or 'unknown',
    }
    if 'f1' in manifest.metrics:
        rows['F1, held out'] = f'{manifest.metrics["f1"]:.3f}'
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _signals(manifest: Manifest) -> Table:
    table = Table(title='Signals', title_justify='left')
    table.add_column('signal')
    table.add_column('unit')
    for column in ('shown as 0', 'shown as 1', 'every'):
        table.add_column(column, justify='right')
    for signal in manifest.signals:
        table.add_row(
            signal.name,
            signal.unit,
            f'{signal.nominal_low:g}',
            f'{signal.nominal_high:g}',
            f'{signal.period_s:g} s',
        )
    return table


def _activities(manifest: Manifest) -> Table:
    table = Table(title='Kinds of thinking', title_justify='left')
    table.add_column('id', no_wrap=True)
    table.add_column('title')
    for column in ('on', 'off', 'F1'):
        table.add_column(column, justify='right')
    for activity in manifest.activities:
        f1 = manifest.metrics.get(f'f1.{activity.id}')
        table.add_row(
            activity.id,
            activity.title,
            f'{activity.threshold:.2f}',
            f'{activity.threshold_off:.2f}',
            '' if f1 is None else f'{f1:.3f}',
        )
    return table
