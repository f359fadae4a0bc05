# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy doctor`: what is there, what is missing, what to do."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from thinking_policy.cli.finding import Finding

EXAMPLES = """\b
Examples:
  thinking-policy doctor
  thinking-policy doctor --config turtlebot3
  thinking-policy doctor --config my_robot.yaml --policy my_policy.onnx --json
"""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
def doctor(
    config: Annotated[
        str, typer.Option(metavar='FILE', help='Robot file, or the name of a shipped one.')
    ] = '',
    policy: Annotated[
        Path | None, typer.Option(metavar='FILE', help='Policy file; default: the bundled one.')
    ] = None,
    namespace: Annotated[
        str, typer.Option(metavar='NAME', help='In which relative topics are looked for.')
    ] = '',
    json_lines: Annotated[
        bool, typer.Option('--json', help='One JSON object a line for each finding.')
    ] = False,
) -> None:
    """Check this machine: ROS, messages, policy against configuration, topics, extras.

    Each finding comes with its remedy. The exit code is 1 where something failed.
    """
    from thinking_policy.cli.finding import FAIL  # NumPy and more, which --help need not

    findings = _examine(config, policy, namespace)
    for finding in findings:
        if json_lines:
            print(json.dumps(dataclasses.asdict(finding), ensure_ascii=False))
        else:
            print(_lines(finding, sys.stdout.isatty()))
    failed = sum(finding.status == FAIL for finding in findings)
    if not json_lines:
        print(f'\n{failed} of {len(findings)} failed' if failed else '\nnothing failed')
    raise typer.Exit(1 if failed else 0)


def _examine(config_name: str, policy: Path | None, namespace: str) -> list[Finding]:
    from thinking_policy.cli import checks, ros_checks
    from thinking_policy.cli.finding import FAIL

    config, configuration = checks.check_configuration(config_name, namespace)
    ros = ros_checks.check_ros()
    findings = [
        *checks.check_python(),
        *ros,
        *ros_checks.check_messages(config),
        *configuration,
        *checks.check_policy(policy, config),
        *ros_checks.check_domain(os.environ),
    ]
    if config is not None and all(finding.status != FAIL for finding in ros):
        findings += ros_checks.check_topics(config, ros_checks.published_topics(), namespace)
    return [*findings, *checks.check_extras()]


def _lines(finding: Finding, colours: bool) -> str:
    colour = {'ok': '32', 'note': '33', 'fail': '1;31'}[finding.status]
    status = f'{finding.status:<5}'
    if colours:
        status = f'\x1b[{colour}m{status}\x1b[0m'
    remedy = f'\n{"":<20} → {finding.remedy}' if finding.remedy else ''
    return f'{status} {finding.check:<14} {finding.found}{remedy}'
