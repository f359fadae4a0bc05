# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the `bag` commands print, as lines: the same on a terminal and in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from thinking_policy.bags import BagTopic, Replay
from thinking_policy.bags.export import Arrays
from thinking_policy.bags.from_csv import CsvReport
from thinking_policy.bags.info import SignalInfo
from thinking_policy.bags.record_order import StepsBack
from thinking_policy.bags.times import GAP_FACTOR, TopicTimes
from thinking_policy.cli.tables import columns, counted
from thinking_policy.situation import TopicCounts

# Counts of a topic that say what was left out, with the words for them.
_LEFT_OUT = {
    'broken': 'broken (the bytes are no such message)',
    'late': 'late (their tick was closed: raise lateness_s, or use time_source: receive)',
    'future': 'from the future (header time ahead of the clock)',
    'overflow': 'too many at once',
    'jumped': 'waiting when the clock jumped',
    'empty': 'empty texts',
    'unbound': 'of a type that is not known',
    'pending': 'after the last tick',
}

_ANOTHER_CLOCK_S = 86_400.0


class Contents(Protocol):
    """What is known of a bag without reading its messages."""

    @property
    def name(self) -> str:
        """What the bag is called."""

    @property
    def formats(self) -> tuple[str, ...]:
        """Kinds of its storage files."""

    @property
    def topics(self) -> tuple[BagTopic, ...]:
        """Its topics by name."""

    @property
    def messages(self) -> int:
        """How many there are."""

    @property
    def start_ns(self) -> int:
        """Record time of the first one."""

    @property
    def end_ns(self) -> int:
        """Record time of the last one."""


def overview(bag: Contents) -> Iterator[str]:
    """Yield what is in a bag, a line per topic."""
    name = bag.name
    span = bag.end_ns - bag.start_ns
    yield (
        f'{name}: {" and ".join(bag.formats)}, {counted(bag.messages, "message")} on '
        f'{counted(len(bag.topics), "topic")}' + (f', {span / 1e9:,.1f} s' if bag.messages else '')
    )
    if bag.messages:
        yield f'recorded {moment(bag.start_ns)} to {moment(bag.end_ns)}'
    yield ''
    rows = [('topic', 'type', 'messages', 'rate', '')]
    for topic in bag.topics:
        rate = f'{topic.count / (span / 1e9):,.1f} Hz' if span > 0 and topic.count else '-'
        known = '' if topic.message_type else 'type unknown, cannot be decoded'
        rows.append((topic.name, topic.type or '?', f'{topic.count:,}', rate, known))
    yield from columns(rows, right=(2, 3))


def times(measured: Mapping[str, TopicTimes]) -> Iterator[str]:
    """Yield a line per topic about gaps and clocks."""
    gaps = f'gaps > {GAP_FACTOR:g} periods'
    rows = [('topic', 'period', gaps, 'longest', 'record time - header time', '')]
    for name, topic in measured.items():
        rows.append(
            (
                name,
                _seconds(topic.period_s) if topic.messages > 1 else '-',
                f'{topic.gaps:,}' if topic.gaps else '-',
                _seconds(topic.longest_gap_s) if topic.messages > 1 else '-',
                _offset(topic),
                ', '.join(_odd(topic)),
            )
        )
    yield from columns(rows, right=(1, 2, 3))


def steps_back(found: StepsBack) -> Iterator[str]:
    """Yield a line where the clock of the recording machine was set back."""
    if found.count:
        yield (
            f'record time steps back {_often(found.count)} while it was recorded, the most by '
            f'{_seconds(found.furthest_s)} after {moment(found.at_ns)}: what was recorded before '
            'and after is mixed there'
        )


def signals(config: str, infos: Sequence[SignalInfo]) -> Iterator[str]:
    """Yield which signals would be fed, which not and why."""
    fed = sum(not info.problem for info in infos)
    yield f'{config}: {fed} of {len(infos)} signals would be fed'
    rows = []
    for info in infos:
        state = 'missing' if info.problem else 'fed'
        state = '-' if not info.topic else state
        rows.append((f'  {info.name}', state, info.problem or f'from {info.source}'))
    yield from columns(rows)


def exported(path: Path, arrays: Arrays, replay: Replay) -> Iterator[str]:
    """Yield what was written, what fed it, and everything that was left out."""
    count, length, width = arrays['window'].shape
    episodes = len(set(arrays['episode'].tolist()))
    yield (
        f'{path}: {count:,} situations of {length} x {width} in {episodes} '
        f'episode{"" if episodes == 1 else "s"}, {len(arrays["event_row"]):,} events, '
        f'by {"the recorded clock" if replay.clock == "clock" else "record time"}'
    )
    rows = [('  signal', 'ok', 'usable messages', 'invalid')]
    for index, name in enumerate(arrays['signals'].tolist()):
        share = float((arrays['states'][:, index] == 0).mean()) if count else 0.0
        counts = replay.counters.signals[name]
        rows.append((f'  {name}', f'{share:.0%}', f'{counts.usable:,}', f'{counts.invalid:,}'))
    yield from columns(rows, right=(1, 2, 3))
    yield from not_taken(replay)


def not_taken(replay: Replay) -> Iterator[str]:
    """Yield which topics the bag does not feed, and all that was left out of the others."""
    for feed in replay.feeds:
        if feed.problem:
            yield f'  not fed: {feed.topic}: {feed.problem}'
    for topic, topic_counts in replay.counters.topics.items():
        yield from _left_out(topic, topic_counts)
    counters = replay.counters
    for text, number in (
        ('clock jumped back', counters.jumps_back),
        ('clock jumped forward', counters.jumps_forward),
        ('events of one tick beyond what can be published, left out', counters.events_surplus),
        ('diagnostic levels that do not exist', counters.unknown_level),
        ('event codes forgotten', counters.codes_forgotten),
        ('diagnostic names forgotten', counters.names_forgotten),
    ):
        if number:
            yield f'  {text}: {number:,}'


def converted(path: Path, report: CsvReport) -> Iterator[str]:
    """Yield what became of a table."""
    yield (
        f'{path}: {counted(report.messages.total(), "message")} on '
        f'{counted(len(report.messages), "topic")} from {counted(report.rows, "row")}'
    )
    yield from columns(
        [(f'  {topic}', f'{count:,}') for topic, count in report.messages.items()], right=(1,)
    )
    if report.missing:
        yield f'  not in the table: {", ".join(report.missing)}'
    for what, count in report.problems.items():
        yield f'  left out: {count:,} {what}' if 'written' not in what else f'  {count:,} {what}'


def all_converted(reports: Mapping[Path, CsvReport]) -> Iterator[str]:
    """Yield a line for each of several tables, and what was left out of any."""
    rows = [('bag', 'rows', 'topics', 'messages')]
    rows += [
        (str(path), f'{r.rows:,}', f'{len(r.messages)}', f'{r.messages.total():,}')
        for path, r in reports.items()
    ]
    yield from columns(rows, right=(1, 2, 3))
    for path, report in reports.items():
        if report.missing:
            yield f'  {path}: not in the table: {", ".join(report.missing)}'
        yield from (f'  {path}: {what} ({n:,})' for what, n in report.problems.items())


def problems(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield what was odd about a bag."""
    if counts:
        yield ''
        yield 'noticed:'
    for what, count in counts.items():
        yield f'  {what}{f" ({count:,})" if count > 1 else ""}'


def left_alone(broken: Mapping[str, str]) -> Iterator[str]:
    """Yield why bags cannot be read or used."""
    yield from (f'  {line}' for line in by_reason(broken))


def by_reason(broken: Mapping[str, str]) -> Iterator[str]:
    """Yield each reason with all bags that have it."""
    names: dict[str, list[str]] = {}
    for name, reason in broken.items():
        names.setdefault(reason, []).append(name)
    yield from (f'{", ".join(those)}: {reason}' for reason, those in names.items())


def moment(stamp_ns: int) -> str:
    """Return a time as text, in UTC; seconds where it is before 1971 (a simulation's time)."""
    if not 31_536_000 <= stamp_ns // 10**9 < 253_402_300_800:
        return f'{stamp_ns / 1e9:,.3f} s'
    at = datetime.fromtimestamp(stamp_ns // 10**9, timezone.utc)
    return f'{at:%Y-%m-%d %H:%M:%S}.{stamp_ns % 10**9 // 10**6:03d} UTC'


def _often(count: int) -> str:
    return 'once' if count == 1 else f'{count:,} times'


def _seconds(seconds: float) -> str:
    return f'{seconds:,.3f} s' if seconds < 100.0 else f'{seconds:,.0f} s'


def _offset(topic: TopicTimes) -> str:
    if not topic.has_header:
        return 'no header'
    if topic.offset_s is None:
        return 'no header stamps'
    low, median, high = topic.offset_s
    if abs(median) > _ANOTHER_CLOCK_S:
        return f'another clock, steady within {high - low:,.3f} s'
    return f'{median:+,.3f} s ({low:+,.3f} ... {high:+,.3f})'


def _odd(topic: TopicTimes) -> Iterator[str]:
    if topic.unset:
        yield f'{topic.unset:,} with stamp 0'
    if topic.invalid:
        yield f'{topic.invalid:,} with a stamp that is no time'
    if topic.backward:
        back = _seconds(topic.furthest_back_s)
        yield f'header time steps back {_often(topic.backward)}, up to {back}'
    if topic.ahead:
        yield f'header time jumps ahead {_often(topic.ahead)}'
    if topic.gaps and topic.longest_gap_s > 0:
        yield f'longest gap from {moment(topic.longest_gap_ns)}'


def _left_out(topic: str, counts: TopicCounts) -> Iterator[str]:
    for name, words in _LEFT_OUT.items():
        number = getattr(counts, name)
        if number:
            yield f'  {topic}: {number:,} of {counts.received:,} messages left out: {words}'
    if counts.unstamped:
        yield f'  {topic}: {counts.unstamped:,} without header time; the receive time counted'
