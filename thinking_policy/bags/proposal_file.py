# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A proposal as a robot file, with comments that say where each number comes from."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from thinking_policy.bags.errors import BagError
from thinking_policy.bags.proposal import Proposal, Proposed
from thinking_policy.situation import SignalConfig, load_configuration
from thinking_policy.situation.parameter_file import as_yaml
from thinking_policy.whole_file import whole_file

_WIDTH = 98
_PLACE = '      '  # where a signal's name stands


def write_proposal(path: Path, proposal: Proposal, origin: str) -> None:
    """Write a robot file; it appears whole or not at all, and is read back first.

    Args:
        path: The file.
        proposal: What to write.
        origin: Which recordings it comes from, for the comment at the top.

    Raises:
        BagError: It cannot be written.
    """
    with whole_file(path, BagError) as draft:
        draft.write_text('\n'.join(_lines(proposal, origin)) + '\n', encoding='utf-8')
        read = load_configuration(draft)
        if repr(read) != repr(proposal.config):  # NaN is unlike NaN, but written alike
            raise BagError(f'{path}: not written: it would be read in another way than meant')


def _lines(proposal: Proposal, origin: str) -> Iterator[str]:
    config = proposal.config
    yield from _comment(
        f'Proposed by `thinking-policy bag info --propose` from {" ".join(origin.split())}. An '
        'ordinary ROS parameter file: correct names, units and ranges where you know better.',
        '',
    )
    yield '#'
    yield from _comment(
        'Nominal ranges are the middle 95 % of what these recordings hold, and a margin: they say '
        'what happened there, not what is good. Record an ordinary day and let '
        '`thinking-policy calibrate` take them from that.',
        '',
    )
    yield ''
    yield '/**/thinking_policy:  # in any namespace'
    yield '  ros__parameters:'
    yield f'    tick_period_s: {as_yaml(config.tick_period_s)}'
    yield f'    window_length: {config.window_length}'
    yield f'    time_source: {config.time_source}'
    yield from _list('    signal_names: ', config.names)
    yield '    signals:'
    for signal in config.signals:
        if signal.name in proposal.chosen:
            yield from _signal(proposal.chosen[signal.name])
        else:
            yield f'{_PLACE}{signal.name}:'
            yield f"{_PLACE}  topic: ''  # nothing in the recordings feeds it"
            yield f'{_PLACE}  unit: {_text(signal.unit)}'
    yield from _others(proposal)
    yield '    events:'
    yield f'      diagnostics_topic: {_text(config.events.diagnostics_topic)}'
    yield '    episode:'
    yield f'      idle_gap_s: {as_yaml(config.episode.idle_gap_s)}'
    yield f'      max_length_s: {as_yaml(config.episode.max_length_s)}'


def _signal(proposed: Proposed) -> Iterator[str]:
    yield f'{_PLACE}{proposed.signal.name}:'
    seen = ''
    if proposed.seen is not None:
        low, high = proposed.seen
        seen = f'; {low:.4g} to {high:.4g} in {proposed.values:,} samples'
    text = f'{proposed.messages:,} messages, {proposed.rate_hz:.3g} Hz{seen}.'
    yield from _comment(' '.join((text, *proposed.notes)), f'{_PLACE}  ')
    for name, value in _settings(proposed.signal):
        yield f'{_PLACE}  {name}: {value}'


def _others(proposal: Proposal) -> Iterator[str]:
    usable = [proposed for proposed in proposal.others if proposed.usable]
    if usable:
        yield ''
        yield from _comment(
            'More that the recordings hold. The bundled policy knows the seven signals above: put '
            'one of these in the place of another, or train a policy of your own with all of '
            'them (`bag info --propose FILE --every-signal`).',
            _PLACE,
        )
        for proposed in usable:
            for line in _signal(proposed):
                body = line[len(_PLACE) :]
                yield (
                    f'{_PLACE}# {body}'
                    if not body.startswith('  # ')
                    else f'{_PLACE}#   {body[2:]}'
                )
    unusable = [proposed for proposed in proposal.others if not proposed.usable]
    if unusable:
        yield ''
        yield f'{_PLACE}# Not used:'
        for proposed in unusable:
            signal = proposed.signal
            yield from _comment(
                f'{signal.topic} {signal.field}: {" ".join(proposed.notes)}', _PLACE
            )
    if usable or unusable:
        yield ''


def _settings(signal: SignalConfig) -> Iterator[tuple[str, str]]:
    """Yield what differs from the defaults, and what a reader looks for."""
    ranges = 'nominal_low', 'nominal_high', 'stale_s'
    always = 'topic', 'type', 'field', 'over_time', 'unit', *ranges
    for field in dataclasses.fields(SignalConfig):
        value = getattr(signal, field.name)
        default = field.default
        same = value == default or (
            isinstance(value, float) and math.isnan(value) and math.isnan(float(str(default)))
        )
        if field.name == 'name' or (field.name == 'sentinels' and not value):
            continue
        if field.name in always or not same:
            yield field.name, _value(value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, tuple):
        return f'[{", ".join(as_yaml(number) for number in value)}]'
    return as_yaml(value) if isinstance(value, float) else _text(value)


def _text(value: Any) -> str:
    return str(yaml.safe_dump(value, width=10_000, allow_unicode=True)).split('\n', 1)[0]


def _list(start: str, names: tuple[str, ...]) -> Iterator[str]:
    text = f'{start}[{", ".join(names)}]'
    yield from textwrap.wrap(
        text, _WIDTH, subsequent_indent=' ' * (len(start) + 1), break_long_words=False
    )


def _comment(text: str, indent: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=f'{indent}# ',
        subsequent_indent=f'{indent}# ',
        break_long_words=False,
        break_on_hyphens=False,
    )
