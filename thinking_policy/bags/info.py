# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What is in a bag, and what of it a configuration would use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thinking_policy.bags.lockstep import CLOCK_TOPIC
from thinking_policy.bags.reader import Bag
from thinking_policy.bags.times import TopicTimes
from thinking_policy.bags.topics import match_topics
from thinking_policy.situation import SituationConfig, SituationError, SituationTracker


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


def advice(
    bag: Bag, config: SituationConfig, times: Mapping[str, TopicTimes], namespace: str = ''
) -> tuple[str, ...]:
    """Return what stands out about the clocks of configured topics, each with what to do.

    Args:
        bag: An opened bag.
        config: Names the topics.
        times: What `topic_times` measured, by name in the bag.
        namespace: The robot's namespace in the bag.
    """
    lines = []
    jump_s = config.clock_jump_s
    recorded_clock = bag.topic(CLOCK_TOPIC)
    has_clock = recorded_clock is not None and recorded_clock.count > 0
    requests = [request for request in SituationTracker(config).requests if request.by_header]
    for feed in match_topics(bag, [(r.topic, r.type) for r in requests], namespace):
        measured = times.get(feed.source.name) if feed.source and not feed.problem else None
        if measured is None:
            continue
        if measured.messages and measured.unstamped == measured.messages:
            lines.append(
                f'{feed.topic}: no header stamp in any message; the receive time counts '
                '(time_source: receive says so)'
            )
        if measured.offset_s is None:
            continue
        _, median, greatest = measured.offset_s
        if abs(median) > jump_s and not has_clock:
            lines.append(
                f'{feed.topic}: header time is another clock than record time '
                f'({median:+.1f} s); use time_source: receive'
            )
        elif greatest > config.lateness_s and abs(median) <= jump_s:
            lines.append(
                f'{feed.topic}: some messages come {greatest:.3f} s after their header time, '
                f'later than lateness_s {config.lateness_s}: those are dropped as late'
            )
    return tuple(lines)
