# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A timeline in words, and as one JSON object."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.cli.picture import moment
from thinking_policy.cli.tables import columns
from thinking_policy.cli.timeline import NOVELTY, Span, Timeline
from thinking_policy.policy import Manifest, ThinkingSettings

_NOVEL = f'({NOVELTY})'  # in brackets, which no activity's id has
SPANS_SHOWN = 40  # lines; all are in --json


@dataclass(frozen=True)
class Replayed:
    """What a policy said of one bag.

    Attributes:
        bag: What the bag is called.
        policy: File name of the policy.
        manifest: What the policy says about itself.
        settings: Thresholds and hold that were in force.
        start_ns: Where seconds of the bag count from.
        tick_s: Tick period.
        timeline: Tick by tick.
    """

    bag: str
    policy: str
    manifest: Manifest
    settings: ThinkingSettings
    start_ns: int
    tick_s: float
    timeline: Timeline

    def spans(self) -> dict[str, list[Span]]:
        """Return the spans of each activity by its id."""
        timeline = self.timeline
        probability, active = timeline.probability, timeline.active
        return {
            name: timeline.spans(active[:, i], probability[:, i])
            for i, name in enumerate(timeline.ids)
        }

    def novel_spans(self) -> list[Span]:
        """Return the spans of the novelty; apart, since an activity may be called so."""
        return self.timeline.spans(self.unusual(), self.timeline.novelty)

    def unusual(self) -> NDArray[np.bool_]:
        """Return where the novelty is above its threshold, bool [N]."""
        above: NDArray[np.bool_] = self.timeline.novelty > self.settings.novelty_threshold
        return above

    def seconds(self, stamp_ns: int) -> float:
        """Return a stamp in seconds of the bag."""
        return (stamp_ns - self.start_ns) / 1e9


def lines(replayed: Replayed) -> Iterator[str]:
    """Yield the timeline: a line for each activity, then one for each span in order of time."""
    timeline, settings = replayed.timeline, replayed.settings
    policy = f'{replayed.policy} (version {replayed.manifest.version})'
    if not len(timeline):
        yield f'{replayed.bag}: no situations; {policy} was asked nothing'
        return
    first, last = timeline.stamp_ns[0], timeline.stamp_ns[-1]
    count, episodes = len(timeline), len(timeline.episodes)
    yield (
        f'{replayed.bag}: {count:,} {"tick" if count == 1 else "ticks"} of '
        f'{replayed.tick_s:g} s, {episodes} {"episode" if episodes == 1 else "episodes"}'
    )
    yield f'  {_wall(first)} to {_wall(last)} UTC; second 0 is {_wall(replayed.start_ns)}'
    yield f'  asked: {policy}'
    yield (
        f'  valid: {timeline.valid.mean():.1%} of the samples; thresholds on/off below, '
        f'active for at least {settings.minimum_hold_s:g} s'
    )
    if timeline.never_seen:
        yield f'  never with a usable value: {", ".join(timeline.never_seen)}'
    yield ''
    spans, novel = replayed.spans(), replayed.novel_spans()
    yield from columns(_summary(replayed, spans, novel), right=(1, 2, 3, 4, 5))
    yield ''
    yield from _span_lines(replayed, spans, novel)


def _summary(
    replayed: Replayed, spans: dict[str, list[Span]], novel: list[Span]
) -> Iterator[list[str]]:
    yield ['activity', 'on/off', 'active', 'spans', 'peak', 'at']
    timeline, settings = replayed.timeline, replayed.settings
    probability, active = timeline.probability, timeline.active
    for i, name in enumerate(timeline.ids):
        peak = int(np.argmax(probability[:, i]))
        on, off = settings.thresholds[name]
        yield [
            name,
            f'{on:.2f}/{off:.2f}',
            f'{active[:, i].mean():.1%}',
            str(len(spans[name])),
            f'{probability[peak, i]:.3f}',
            f'{replayed.seconds(timeline.stamp_ns[peak]):.1f} s',
        ]
    peak = int(np.argmax(timeline.novelty))
    yield [
        _NOVEL,
        f'{settings.novelty_threshold:g}',
        f'{replayed.unusual().mean():.1%}',
        str(len(novel)),
        f'{timeline.novelty[peak]:.1f}',
        f'{replayed.seconds(timeline.stamp_ns[peak]):.1f} s',
    ]


def _span_lines(
    replayed: Replayed, spans: dict[str, list[Span]], novel: list[Span]
) -> Iterator[str]:
    everything = sorted(
        ((span, name) for name, found in [*spans.items(), (_NOVEL, novel)] for span in found),
        key=lambda pair: (pair[0].start_ns, pair[0].end_ns),
    )
    if not everything:
        yield 'nothing became active, nothing was novel'
        return
    rows = [['from', 'to', 'UTC', '', 'peak', 'at']]
    for span, name in everything[:SPANS_SHOWN]:
        clock = f'{_wall(span.start_ns)} to {_wall(span.end_ns).split(" ")[1]}'
        rows.append(
            [
                f'{replayed.seconds(span.start_ns):.1f} s',
                f'{replayed.seconds(span.end_ns):.1f} s',
                clock,
                name,
                f'{span.peak:.3f}' if name != _NOVEL else f'{span.peak:.1f}',
                f'{replayed.seconds(span.peak_ns):.1f} s',
            ]
        )
    yield from columns(rows, right=(0, 1, 4, 5))
    if len(everything) > SPANS_SHOWN:
        left = len(everything) - SPANS_SHOWN
        yield f'and {left:,} more; all with --json, every tick with --csv'


def as_json(replayed: Replayed) -> dict[str, Any]:
    """Return summary and spans for JSON; what there is of every tick is in the table."""
    settings = replayed.settings
    return {
        'bag': replayed.bag,
        'policy': replayed.policy,
        'version': replayed.manifest.version,
        'start_ns': replayed.start_ns,
        'tick_s': replayed.tick_s,
        'thresholds': {n: {'on': a, 'off': b} for n, (a, b) in settings.thresholds.items()},
        'minimum_hold_s': settings.minimum_hold_s,
        'novelty_threshold': settings.novelty_threshold,
        'summary': _figures(replayed),
        'spans': {
            name: [asdict(span) for span in found] for name, found in replayed.spans().items()
        },
        'novelty_spans': [asdict(span) for span in replayed.novel_spans()],
    }


def _figures(replayed: Replayed) -> dict[str, Any]:
    """Return shares and peaks; null where there was no tick."""
    timeline = replayed.timeline
    some = len(timeline) > 0
    shares = timeline.active.mean(axis=0).tolist() if some else [None] * len(timeline.ids)
    peaks = timeline.probability.max(axis=0).tolist() if some else [None] * len(timeline.ids)
    return {
        'ticks': len(timeline),
        'episodes': len(timeline.episodes),
        'valid_fraction': float(timeline.valid.mean()) if some else None,
        'never_seen': list(timeline.never_seen),
        'active_share': dict(zip(timeline.ids, shares, strict=True)),
        'peak': dict(zip(timeline.ids, peaks, strict=True)),
        'novel_share': float(replayed.unusual().mean()) if some else None,
        'novelty_peak': float(timeline.novelty.max()) if some else None,
    }


def table(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each of several bags.

    Args:
        found: Objects as for JSON, by the bags' names.
    """
    rows = [('bag', 'ticks', 'valid', 'novel', 'active')]
    for name, replayed in found.items():
        summary = replayed['summary']
        active = [f'{i} {share:.1%}' for i, share in summary['active_share'].items() if share]
        rows.append(
            (
                name,
                f'{summary["ticks"]:,}',
                _share(summary['valid_fraction']),
                _share(summary['novel_share']),
                ', '.join(active) or '-',
            )
        )
    yield from columns(rows, right=(1, 2, 3))


def _share(value: float | None) -> str:
    return '-' if value is None else f'{value:.1%}'


def _wall(stamp_ns: int) -> str:
    """Return date and time to the second; to the tenth where there is a part of one."""
    stamp_ns = int(stamp_ns)
    try:
        text = moment(stamp_ns / 1e9)
        tenths = stamp_ns // 10**8 % 10
        datetime.datetime.fromtimestamp(stamp_ns // 10**9, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):  # a clock that was never set
        return f'{stamp_ns / 1e9:.1f} -'
    return f'{text}.{tenths}' if tenths else text
