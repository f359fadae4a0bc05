# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is in a bag, and what of it a configuration would use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinking_policy.bags.lockstep import CLOCK_TOPIC
from thinking_policy.bags.reader import Bag
from thinking_policy.bags.topics import Feed, match_topics
from thinking_policy.situation import SituationConfig, SituationError, SituationTracker
from thinking_policy.situation.cdr import StampReader, stamp_reader

_BATCH = 512  # messages whose headers are read at once
_SAMPLE = 4096  # offsets kept for the median; beyond, every second one is


@dataclass(frozen=True)
class FeedInfo:
    """One configured topic, as the bag has it.

    Attributes:
        feed: What was asked for and found.
        messages: How many were read.
        rate_hz: Messages per second between the first and the last; 0 for fewer than two.
        longest_gap_s: Longest time between two messages.
        unstamped: Messages whose header stamp is 0, or all where there is no header.
        offset_s: Record time minus header time: least, median, greatest; None without stamps.
    """

    feed: Feed
    messages: int = 0
    rate_hz: float = 0.0
    longest_gap_s: float = 0.0
    unstamped: int = 0
    offset_s: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class SignalInfo:
    """One configured signal; `problem` is empty where it would be fed."""

    name: str
    topic: str
    source: str
    problem: str


def inspect_signals(
    bag: Bag, config: SituationConfig, namespace: str = ''
) -> tuple[SignalInfo, ...]:
    """Tell for each signal what would feed it, or why nothing would."""
    tracker = SituationTracker(config)
    feeds = {
        feed.topic: feed
        for feed in match_topics(bag, [(r.topic, r.type) for r in tracker.requests], namespace)
    }
    signals = []
    for signal in config.signals:
        if not signal.topic:
            signals.append(SignalInfo(signal.name, '', '', 'no topic configured'))
            continue
        feed = feeds[signal.topic]
        problem = feed.problem
        if not problem and feed.source is not None and feed.source.message_type is not None:
            try:
                tracker.bind(feed.topic, feed.source.message_type)
            except SituationError as error:
                problem = str(error)
        signals.append(
            SignalInfo(signal.name, signal.topic, feed.source.name if feed.source else '', problem)
        )
    return tuple(signals)


def inspect_feeds(
    bag: Bag,
    config: SituationConfig,
    namespace: str = '',
    progress: Callable[[int], None] | None = None,
) -> tuple[FeedInfo, ...]:
    """Read the configured topics once and measure rates and clocks.

    Args:
        bag: An opened bag.
        config: Names the topics.
        namespace: The robot's namespace in the bag.
        progress: Called with the number of messages read, now and then.
    """
    requests = SituationTracker(config).requests
    feeds = match_topics(bag, [(r.topic, r.type) for r in requests], namespace)
    meters: dict[str, _Meter] = {}
    for feed in feeds:
        if not feed.problem and feed.source is not None:
            assert feed.source.message_type is not None
            meters[feed.source.name] = _Meter(stamp_reader(feed.source.message_type))
    for count, (topic, record_ns, raw) in enumerate(bag.messages(meters.keys())):
        meters[topic].add(record_ns, raw)
        if progress is not None and count % _BATCH == 0:
            progress(count)
    return tuple(
        meters[feed.source.name].result(feed)
        if not feed.problem and feed.source is not None
        else FeedInfo(feed)
        for feed in feeds
    )


def advice(bag: Bag, config: SituationConfig, feeds: tuple[FeedInfo, ...]) -> tuple[str, ...]:
    """Return what stands out about clocks, each with what to do."""
    lines = []
    jump_s = config.clock_jump_s
    recorded_clock = bag.topic(CLOCK_TOPIC)
    has_clock = recorded_clock is not None and recorded_clock.count > 0
    by_header = {r.topic for r in SituationTracker(config).requests if r.by_header}
    for info in feeds:
        topic = info.feed.topic
        if info.messages and info.unstamped == info.messages and topic in by_header:
            lines.append(
                f'{topic}: no header stamp in any message; the receive time counts '
                '(time_source: receive says so)'
            )
        if info.offset_s is None or topic not in by_header:
            continue
        _, median, greatest = info.offset_s
        if abs(median) > jump_s and not has_clock:
            lines.append(
                f'{topic}: header time is another clock than record time '
                f'({median:+.1f} s); use time_source: receive'
            )
        elif greatest > config.lateness_s and abs(median) <= jump_s:
            lines.append(
                f'{topic}: some messages come {greatest:.3f} s after their header time, '
                f'later than lateness_s {config.lateness_s}: those are dropped as late'
            )
    return tuple(lines)


class _Meter:
    """Times of one topic, measured in batches and in flat memory."""

    def __init__(self, stamps: StampReader | None) -> None:
        self._reader = stamps
        self._raws: list[bytes] = []
        self._records: list[int] = []
        self._count = 0
        self._unstamped = 0
        self._first = self._last = 0
        self._gap = 0
        self._low, self._high = 2**63 - 1, -(2**63)
        self._sample: NDArray[np.int64] = np.zeros(0, np.int64)
        self._stride = 1

    def add(self, record_ns: int, raw: bytes) -> None:
        if self._count == 0:
            self._first = record_ns
        else:
            self._gap = max(self._gap, record_ns - self._last)
        self._last = record_ns
        self._count += 1
        self._records.append(record_ns)
        self._raws.append(raw)
        if len(self._raws) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        records = np.array(self._records, np.int64)
        stamps = self._reader.read(self._raws) if self._reader else np.zeros_like(records)
        self._records, self._raws = [], []
        stamped = stamps > 0
        self._unstamped += int((~stamped).sum())
        offsets = (records - stamps)[stamped]
        if not len(offsets):
            return
        self._low = min(self._low, int(offsets.min()))
        self._high = max(self._high, int(offsets.max()))
        self._sample = np.concatenate([self._sample, offsets[:: self._stride]])
        while len(self._sample) > _SAMPLE:
            self._sample = self._sample[::2]
            self._stride *= 2

    def result(self, feed: Feed) -> FeedInfo:
        if self._raws:
            self._flush()
        span_s = (self._last - self._first) / 1e9
        offset = None
        if len(self._sample):
            offset = self._low / 1e9, float(np.median(self._sample)) / 1e9, self._high / 1e9
        return FeedInfo(
            feed,
            self._count,
            (self._count - 1) / span_s if span_s > 0 else 0.0,
            self._gap / 1e9,
            self._unstamped,
            offset,
        )
