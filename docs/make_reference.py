#!/usr/bin/env python3
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/topics.md that stand in the code: parameters and messages.

.venv/bin/python docs/make_reference.py           # after a change of msg/ or a dataclass
.venv/bin/python docs/make_reference.py --check   # exit code 1 where the page is out of date
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import typing
from pathlib import Path
from typing import Any

from thinking_policy.ros.bag_player import PlayerOptions
from thinking_policy.ros.node_options import NodeOptions
from thinking_policy.ros.simulated_robot import RobotOptions
from thinking_policy.situation.configuration import (
    EpisodeConfig,
    EventConfig,
    SignalConfig,
    SituationConfig,
)

PAGE = Path(__file__).resolve().parent / 'topics.md'
MESSAGES = PAGE.parent.parent / 'msg'
SECTIONS: dict[str, tuple[str, Any]] = {
    'parameters-signal': ('signals.&lt;name&gt;.', SignalConfig),
    'parameters-situation': ('', SituationConfig),
    'parameters-events': ('events.', EventConfig),
    'parameters-episode': ('episode.', EpisodeConfig),
    'parameters-node': ('', NodeOptions),
    'parameters-player': ('', PlayerOptions),
    'parameters-robot': ('', RobotOptions),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--check', action='store_true', help='write nothing')
    check = parser.parse_args().check
    before = PAGE.read_text(encoding='utf-8')
    after = fill(before)
    if before != after and not check:
        PAGE.write_text(after, encoding='utf-8')
    if before != after:
        print(f'{PAGE}: {"out of date" if check else "written"}')
    return int(check and before != after)


def fill(page: str) -> str:
    """Return the page with everything between `<!-- NAME -->` and `<!-- end -->` made anew."""
    tables = {name: parameter_table(prefix, kind) for name, (prefix, kind) in SECTIONS.items()}
    tables |= {f'message-{path.stem}': message_table(path) for path in MESSAGES.glob('*.msg')}

    def made_anew(match: re.Match[str]) -> str:
        return f'<!-- {match[1]} -->\n{tables[match[1]]}\n<!-- end -->'

    return re.sub(
        r'<!-- ((?:parameters|message)-\w+) -->\n.*?<!-- end -->', made_anew, page, flags=re.DOTALL
    )


def parameter_table(prefix: str, kind: Any) -> str:
    """Return a dataclass of options as a table: name, type, default, range, meaning."""
    hints = typing.get_type_hints(kind)
    lines = ['| parameter | type | default | allowed | what it is |', '|---|---|---|---|---|']
    for field in dataclasses.fields(kind):
        if not field.metadata or (kind is SignalConfig and field.name == 'name'):
            continue
        default = getattr(kind(), field.name)
        text = field.metadata['text'] + (
            '' if not field.metadata['dynamic'] else ' *(may change while active)*'
        )
        lines.append(
            f'| `{prefix}{field.name}` | {_type(hints[field.name])} '
            f'| {_value(default)} | {_allowed(field.metadata)} | {text} |'
        )
    return '\n'.join(lines).replace('&lt;', '<').replace('&gt;', '>')


def message_table(path: Path) -> str:
    """Return a message file as a list of its fields with their comments."""
    lines = ['| field | type | what it is |', '|---|---|---|']
    for line in path.read_text(encoding='utf-8').splitlines():
        declaration, _, comment = line.partition('#')
        words = declaration.split()
        if len(words) >= 2:
            name = ' '.join(words[1:])
            lines.append(f'| `{name}` | {words[0]} | {comment.strip()} |')
    return '\n'.join(lines)


def _type(hint: Any) -> str:
    names = {bool: 'bool', int: 'int', float: 'double', str: 'string'}
    if hint in names:
        return names[hint]
    return f'{names[typing.get_args(hint)[0]]}[]'


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f'`[{", ".join(map(str, value))}]`'
    if isinstance(value, bool):
        return f'`{str(value).lower()}`'
    if isinstance(value, float):
        return '`.nan`' if math.isnan(value) else f'`{value}`'
    return f'`{value}`' if value != '' else "`''`"


def _allowed(metadata: Any) -> str:
    choices = [choice or "''" for choice in metadata['choices']]
    if choices:
        return ', '.join(f'`{choice}`' for choice in choices)
    low, high = metadata['low'], metadata['high']
    if low is None and high is None:
        return ''
    return f'{"−∞" if low is None else f"{low:g}"} … {"∞" if high is None else f"{high:g}"}'


if __name__ == '__main__':
    raise SystemExit(main())
