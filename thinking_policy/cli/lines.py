# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The plain view: a line for each change, a line every few seconds, a summary at the end."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from dataclasses import dataclass, field

from thinking_policy.cli.picture import (
    OK,
    STATE_NAMES,
    ActivityPicture,
    Picture,
    Silence,
    duration,
    moment,
    number,
)

STATUS_EVERY_S = 5.0


@dataclass
class PlainLines:
    """Turns pictures into lines; remembers only what it needs to see a change.

    Args:
        every_s: Seconds between two status lines.
    """

    every_s: float = STATUS_EVERY_S
    _active: frozenset[str] = frozenset()
    _explained: set[str] = field(default_factory=set)
    _phase: str = ''
    _status_at: float | None = None

    def lines(self, picture: Picture, now_s: float) -> list[str]:
        """Return the lines to print for one more moment; `now_s` is on any steady clock."""
        when = moment(picture.stamp_s)[-8:]
        lines = []
        if picture.phase != self._phase:
            lines.append(f'{when}  simulation: {picture.phase.replace("_", " ")}')
            self._phase = picture.phase
        active = frozenset(activity.id for activity in picture.active)
        for activity in picture.activities:
            if activity.id in active - self._active:
                lines.append(f'{when}  + {self._named(activity)}')
            elif activity.id in self._active - active:
                lines.append(f'{when}  - {activity.id} {activity.probability:.2f}')
        self._active = active
        if self._status_at is None or now_s - self._status_at >= self.every_s:
            self._status_at = now_s
            lines.append(f'{when}  {status(picture)}')
        return lines

    def _named(self, activity: ActivityPicture) -> str:
        """Return id and probability, the first time with the directive."""
        text = f'{activity.id} {activity.probability:.2f}'
        if not activity.directive or activity.id in self._explained:
            return text
        self._explained.add(activity.id)
        return f'{text}: {activity.directive}'


def status(picture: Picture) -> str:
    """Return one line on the whole moment."""
    active = ', '.join(f'{a.id} {a.probability:.2f}' for a in picture.active)
    usable = sum(signal.state == OK for signal in picture.signals)
    others = ', '.join(
        f'{s.name} {STATE_NAMES[s.state]}' for s in picture.signals if s.state != OK
    )
    return (
        f'{active or "no thinking called for"} | '
        f'novelty {number(picture.novelty)} of {number(picture.novelty_threshold)} | '
        f'signals {usable}/{len(picture.signals)} ok{f" ({others})" if others else ""}'
    )


def silence(silent: Silence) -> list[str]:
    """Return what is known while nothing was heard, and what to do; commands are indented."""
    lines = [
        f'Nothing heard yet on {silent.topic} '
        f'({duration(silent.waited_s)}, domain {silent.domain}).'
    ]
    if silent.started_here and silent.waited_s < 10:
        return [*lines, 'The nodes are starting.']
    if silent.publishers:
        return [
            *lines,
            'A node offers the topic but says nothing: is it active?',
            '  ros2 lifecycle get /thinking_policy',
        ]
    if silent.elsewhere:
        namespaces = [
            topic.removesuffix('thinking/activations').rstrip('/') or '/'
            for topic in silent.elsewhere
        ]
        return [
            *lines,
            'There is a policy elsewhere:',
            *(f'  thinking-policy watch --namespace {name}' for name in namespaces),
        ]
    return [
        *lines,
        'Nobody offers the topic. Start a policy:',
        '  thinking-policy run',
        'Or is it in another domain? Set ROS_DOMAIN_ID as on the robot; then:',
        '  thinking-policy doctor',
    ]


@dataclass
class Summary:
    """Counts over a whole run, from every picture of it."""

    ticks: int = 0
    episodes: set[str] = field(default_factory=set)
    unusual: int = 0
    policy_version: str = ''
    states: dict[str, collections.Counter[int]] = field(default_factory=dict)
    active: collections.Counter[str] = field(default_factory=collections.Counter)

    def add(self, picture: Picture) -> None:
        """Count one more moment."""
        self.ticks += 1
        self.episodes.add(picture.episode)
        self.policy_version = picture.policy_version
        self.unusual += picture.novelty > picture.novelty_threshold
        for signal in picture.signals:
            self.states.setdefault(signal.name, collections.Counter())[signal.state] += 1
        self.active.update(activity.id for activity in picture.active)

    def lines(self, remarks: Mapping[str, str] | None = None) -> list[str]:
        """Return the summary.

        Args:
            remarks: Signal name → why it may be missing, such as that the bag lacks its topic.
        """
        episodes = f'{len(self.episodes)} episode{"" if len(self.episodes) == 1 else "s"}'
        lines = [f'ticks    {self.ticks} in {episodes}, policy {self.policy_version[:8]}']
        alike: dict[str, list[str]] = {}
        for name, states in self.states.items():
            account = self._account(states) + self._remark(states, (remarks or {}).get(name, ''))
            alike.setdefault(account, []).append(name)
        lines += [f'signals  {", ".join(names)}: {account}' for account, names in alike.items()]
        active = ', '.join(f'{id} {count}' for id, count in self.active.most_common())
        lines.append(f'active   {active + " ticks" if active else "nothing"}')
        lines.append(f'unusual  {self.unusual} ticks above the novelty threshold')
        return lines

    def _account(self, states: collections.Counter[int]) -> str:
        if states[OK] == self.ticks:
            return 'ok'
        if not states[OK]:
            return 'missing, ' + ', '.join(STATE_NAMES[state] for state in sorted(states))
        rest = ', '.join(
            f'{STATE_NAMES[state]} {count}'
            for state, count in sorted(states.items())
            if state != OK
        )
        return f'ok in {states[OK]} of {self.ticks} ticks; {rest}'

    def _remark(self, states: collections.Counter[int], remark: str) -> str:
        return f' ({remark})' if remark and not states[OK] else ''
