# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`bag info --propose`: writes a robot file from what bags hold, and says what is in it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from thinking_policy.bags import BagError
from thinking_policy.bags.locating import is_part
from thinking_policy.bags.proposal import Proposal
from thinking_policy.bags.proposal_file import write_proposal
from thinking_policy.bags.propose import propose
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_files import find_configuration, robots
from thinking_policy.cli.tables import columns
from thinking_policy.situation import load_configuration


def check_proposal(path: Path, bags: Iterable[Path], force: bool) -> None:
    """Refuse a place whose content is not ours to replace, before any work.

    Raises:
        BagError: Something is there, or it is a part of a bag.
    """
    if any(is_part(path, bag) for bag in bags):
        raise BagError(f'{path}: is a bag or a part of one; choose another name')
    if path.suffix not in ('.yaml', '.yml'):
        raise BagError(f'{path}: expected a name that ends in .yaml')
    if path.exists() and not (force and path.is_file()):
        raise BagError(f'{path}: exists already; choose another name or replace it with --force')


def proposed(
    path: Path, bags: Mapping[str, Path], namespace: str, *, every_signal: bool
) -> Iterator[str]:
    """Write the proposal and yield what is in it.

    Raises:
        BagError: No topic can feed a signal, or the file cannot be written.
    """
    known = [load_configuration(find_configuration(name)) for name in robots()]
    with showing_progress('trying signals') as progress:
        found = propose(
            tuple(bags.values()), known, namespace, every_signal=every_signal, progress=progress
        )
    names = list(bags)
    origin = names[0] if len(names) == 1 else f'{len(names)} bags, {names[0]} to {names[-1]}'
    write_proposal(path, found, origin)
    yield ''
    yield from _table(found)
    spare = sum(other.usable for other in found.others)
    more = f'; {spare} more stand by in its comments' if spare else ''
    yield f'wrote {path}: {len(found.chosen)} of {len(found.config.signals)} signals are fed{more}'
    example = ['--config', str(path), *(['--namespace', namespace] if namespace else [])]
    bag = next(iter(bags.values()))
    yield f'try: thinking-policy bag situations {shlex.join([str(bag), *example])} -o x.npz'


def _table(found: Proposal) -> Iterator[str]:
    rows = [('signal', 'from', 'nominal range', 'samples', '')]
    for name, made in found.chosen.items():
        signal = made.signal
        unit = f' {signal.unit}' if signal.unit else ''
        rows.append(
            (
                name,
                f'{signal.topic} {signal.field}',
                f'{signal.nominal_low:g} ... {signal.nominal_high:g}{unit}',
                f'{made.values:,}',
                ' '.join(made.notes),
            )
        )
    yield from columns(rows, right=(3,))
