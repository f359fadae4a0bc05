#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Records the live view of a real run as an SVG: the picture in the README.

    .venv/bin/python docs/make_picture.py --active 3 -o docs/run.svg

Starts what `thinking-policy run` starts, waits until so many kinds of thinking are active, and
draws that moment as the terminal would.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import time
from pathlib import Path

from rich.console import Console

from thinking_policy.cli.picture import Picture
from thinking_policy.cli.plan import (
    DEFAULT_SCENARIO,
    Plan,
    environment_for,
    policy_process,
    source_process,
)
from thinking_policy.cli.processes import Processes
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.view import render

FONT = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--simulate', default=DEFAULT_SCENARIO)
    parser.add_argument('--active', type=int, default=3, help='wait for so many active activities')
    parser.add_argument('--wait', type=float, default=180.0, help='seconds at most')
    parser.add_argument('--width', type=int, default=104)
    parser.add_argument('--height', type=int, default=30)
    parser.add_argument('-o', '--output', type=Path, default=Path('docs/run.svg'))
    options = parser.parse_args()
    picture = wait_for(options.simulate, options.active, options.wait)
    console = Console(record=True, width=options.width, force_terminal=True, file=io.StringIO())
    console.print(render(picture, options.width, options.height), '')
    options.output.parent.mkdir(parents=True, exist_ok=True)
    svg = self_contained(console.export_svg(title='thinking-policy run'))
    options.output.write_text(svg, encoding='utf-8')
    print(f'{options.output}: {len(svg) / 1e3:.0f} kB, {len(picture.active)} active')


def self_contained(svg: str) -> str:
    """Return the SVG without fonts from elsewhere, which pages that show it would not load."""
    svg = re.sub(r'@font-face \{.*?\}\s*', '', svg, flags=re.DOTALL)
    svg = svg.replace('font-family: Fira Code, monospace', f'font-family: {FONT}')
    svg = svg.replace('<svg ', '<svg xml:space="preserve" ', 1)
    # Clipped to their lines, some fonts would lose their underscores.
    svg = re.sub(r'<clipPath id="[^"]*-line-\d+">.*?</clipPath>\s*', '', svg, flags=re.DOTALL)
    return re.sub(r' clip-path="url\(#[^)]*-line-\d+\)"', '', svg)


def wait_for(scenario: str, active: int, wait_s: float) -> Picture:
    """Return the first moment at which so many activities are active for a few seconds."""
    plan = Plan(find_configuration(''), scenario=scenario)
    os.environ.update(environment_for(plan, os.environ))
    from thinking_policy.cli.listener import Listener  # joins ROS with that environment

    listener, processes = Listener(), Processes()
    processes.start(policy_process(plan))
    processes.start(source_process(plan))
    end = time.monotonic() + wait_s
    held = 0
    try:
        while time.monotonic() < end:
            for message in listener.spin(0.2):
                held = held + 1 if sum(a.active for a in message.activations) >= active else 0
            picture = listener.picture()
            if held >= 4 and isinstance(picture, Picture):
                return picture
        raise SystemExit(f'never {active} active in {wait_s:g} s')
    finally:
        processes.stop()
        listener.close()


if __name__ == '__main__':
    main()
