# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `bag info` finds out: of one bag all there is, of several a line each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinking_policy import ThinkingPolicyError
from thinking_policy.bags import Bag, BagError, BagTopic, open_bag
from thinking_policy.bags.info import SignalInfo, advice, inspect_signals
from thinking_policy.bags.record_order import StepsBack, steps_back
from thinking_policy.bags.times import TopicTimes, topic_times
from thinking_policy.cli import bag_lines
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.tables import columns, counted
from thinking_policy.situation import SituationConfig


@dataclass(frozen=True)
class Inspected:
    """What is in one bag.

    Attributes:
        name: What it is called.
        formats: Kinds of its storage files.
        topics: By name.
        messages: On all topics.
        start_ns: Record time of the first message.
        end_ns: Record time of the last one.
        times: By topic; empty where the messages were not read.
        steps_back: Where the recording machine's clock was set back.
        signals: What a configuration finds, one for each of its signals.
        advice: What stands out about the clocks of its topics.
        problems: What was odd, with how often.
    """

    name: str
    formats: tuple[str, ...]
    topics: tuple[BagTopic, ...]
    messages: int
    start_ns: int
    end_ns: int
    times: Mapping[str, TopicTimes]
    steps_back: StepsBack
    signals: tuple[SignalInfo, ...]
    advice: tuple[str, ...]
    problems: Mapping[str, int]


@dataclass(frozen=True)
class Inspection:
    """Several bags.

    Attributes:
        bags: What is in each that can be read.
        broken: Why the others cannot be, by name.
    """

    bags: list[Inspected] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)


def inspect(
    path: Path, name: str, config: SituationConfig | None, namespace: str, *, quick: bool
) -> Inspected:
    """Look into one bag.

    Args:
        path: The bag.
        name: What it is called.
        config: What to look for, or None.
        namespace: The robot's in the bag.
        quick: Whether to leave the messages unread.

    Raises:
        BagError: It cannot be read.
    """
    with open_bag(path) as bag:
        times: dict[str, TopicTimes] = {}
        back = StepsBack()
        if not quick:
            with showing_progress('reading times', bag.message_count) as progress:
                back = steps_back(bag, progress)
            with showing_progress('reading', bag.message_count) as progress:
                times = topic_times(bag, [t.name for t in bag.topics if t.count], progress)
        return Inspected(
            name=name,
            formats=bag.formats,
            topics=bag.topics,
            messages=bag.message_count,
            start_ns=bag.start_ns,
            end_ns=bag.end_ns,
            times=times,
            steps_back=back,
            signals=inspect_signals(bag, config, namespace) if config is not None else (),
            advice=_advice(bag, config, times, namespace),
            problems=dict(bag.problems),
        )


def inspect_all(
    bags: Mapping[str, Path], config: SituationConfig | None, namespace: str
) -> Inspection:
    """Look into several bags without reading their messages; a broken one is no obstacle.

    Raises:
        BagError: None can be read; the message has all the reasons.
    """
    found = Inspection()
    with showing_progress('bags', len(bags)) as progress:
        for count, (name, path) in enumerate(bags.items()):
            progress(count)
            try:
                found.bags.append(inspect(path, name, config, namespace, quick=True))
            except BagError as error:
                found.broken[name] = without_path(str(error), path)
    if not found.bags:
        raise nothing_readable(found.broken)
    return found


def nothing_readable(broken: Mapping[str, str]) -> ThinkingPolicyError:
    """Return the error that has all the reasons."""
    return BagError(
        f'none of the {len(broken)} bags can be read: ' + '; '.join(bag_lines.by_reason(broken))
    )


def without_path(reason: str, path: Path) -> str:
    """Return a reason without the path that stands before it."""
    return reason.removeprefix(f'{path}: ')


def lines(found: Inspected, config: str) -> Iterator[str]:
    """Yield all about one bag."""
    yield from bag_lines.overview(found)
    if found.times:
        yield ''
        yield from bag_lines.times(found.times)
        yield from bag_lines.steps_back(found.steps_back)
    elif found.messages:
        yield ''
        yield 'counts only (--quick): gaps and clocks need one reading of all messages'
    if config:
        yield ''
        yield from bag_lines.signals(config, found.signals)
        yield from (f'  {line}' for line in found.advice)
    yield from bag_lines.problems(found.problems)


def table(found: Inspection, config: str) -> Iterator[str]:
    """Yield a line for each of several bags, and the broken ones with their reason."""
    heading = ['bag', 'kind', 'topics', 'messages', 'from', 'length', 'noticed']
    rows = [heading + ([f'signals of {config}'] if config else [])]
    for bag in found.bags:
        span = f'{(bag.end_ns - bag.start_ns) / 1e9:,.1f} s' if bag.messages else '-'
        fed = f'{sum(not s.problem for s in bag.signals)} of {len(bag.signals)}'
        rows.append(
            [
                bag.name,
                '+'.join(bag.formats),
                f'{len(bag.topics):,}',
                f'{bag.messages:,}',
                bag_lines.moment(bag.start_ns) if bag.messages else '-',
                span,
                f'{sum(bag.problems.values()):,}' if bag.problems else '-',
                *([fed] if config else []),
            ]
        )
    yield from columns(rows, right=(2, 3, 5, 6))
    yield ''
    total = sum(bag.messages for bag in found.bags)
    broken = f', {len(found.broken)} cannot be read' if found.broken else ''
    yield f'{counted(len(found.bags), "bag")} with {counted(total, "message")}{broken}'
    noticed: dict[str, list[str]] = {}
    for bag in found.bags:
        for what in bag.problems:
            noticed.setdefault(what, []).append(bag.name)
    for what, names in noticed.items():
        shown = ', '.join(names[:3]) + (f' and {len(names) - 3} more' if names[3:] else '')
        yield f'  noticed: {what}: {shown}'
    yield from bag_lines.left_alone(found.broken)


def as_json(found: Inspected, config: str) -> dict[str, Any]:
    """Return one bag as what JSON can hold."""
    made: dict[str, Any] = {
        'bag': found.name,
        'formats': list(found.formats),
        'messages': found.messages,
        'start_ns': found.start_ns,
        'end_ns': found.end_ns,
        'topics': [
            {
                'name': topic.name,
                'type': topic.type,
                'messages': topic.count,
                'type_known': topic.message_type is not None,
                'times': _times_as_json(found.times.get(topic.name)),
            }
            for topic in found.topics
        ],
        'steps_back': dataclasses.asdict(found.steps_back),
        'problems': dict(found.problems),
    }
    if config:
        made['configuration'] = {
            'file': config,
            'signals': [dataclasses.asdict(signal) for signal in found.signals],
            'advice': list(found.advice),
        }
    return made


def _times_as_json(times: TopicTimes | None) -> dict[str, Any] | None:
    if times is None:
        return None
    return {**dataclasses.asdict(times), 'rate_hz': times.rate_hz, 'unstamped': times.unstamped}


def _advice(
    bag: Bag, config: SituationConfig | None, times: Mapping[str, TopicTimes], namespace: str
) -> tuple[str, ...]:
    return advice(bag, config, times, namespace) if config is not None else ()
