# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""One experience as a page of text: a situation in numbers that a person reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy.cli.bag_lines import moment
from thinking_policy.cli.experience_lines import novelty, state
from thinking_policy.cli.picture import duration, number
from thinking_policy.cli.tables import columns
from thinking_policy.experience.record import Experience, Observation, to_line
from thinking_policy.experience.search import Found
from thinking_policy.experience.stored_situation import StoredEvent

BARS = '▁▂▃▄▅▆▇█'
NO_SAMPLE = '·'
WIDEST = 40  # characters of a trend; longer windows are averaged
LEAST_RANGE = 0.1  # of the nominal range: noise of a steady signal is drawn flat


@dataclass(frozen=True)
class Scale:
    """A signal's unit and what its window shows as 0 and as 1."""

    unit: str
    low: float
    high: float


def scales_of(file: Path) -> Mapping[str, Scale]:
    """Return the scales of a robot file by signal.

    A policy's manifest has units too, but they are of the robot that it was trained for.

    Raises:
        ThinkingPolicyError: The file is wrong.
    """
    from thinking_policy.cli.robot_sections import configuration_of

    signals = configuration_of(file).signals
    return {s.name: Scale(s.unit, s.nominal_low, s.nominal_high) for s in signals}


def page(found: Found, scales: Mapping[str, Scale], tenant: str = '') -> Iterator[str]:
    """Yield all about one experience."""
    experience, standing = found.experience, found.standing
    situation = experience.situation
    yield f'{experience.id}  {state(standing, tenant)}'
    yield f'  {moment(situation.stamp_ns)}, tick {situation.tick:,} of {situation.period_s:g} s'
    yield f'  robot {experience.robot or "-"}, episode {situation.episode}'
    yield f'  recorded for {", ".join(reason.value for reason in experience.reasons)}'
    yield f'  policy {experience.policy_version or "-"}'
    for reason in standing.reasons:
        yield f'  quarantined: {reason}'
    for reason in standing.pinned:
        yield f'  pinned: {reason}'
    yield ''
    yield from _signals(experience, scales)
    yield from _events(situation.stamp_ns, situation.events, situation.recalled)
    yield ''
    yield from _activations(found)
    yield ''
    yield from _observations(found)


def as_json(found: Found) -> dict[str, Any]:
    """Return the records as they are, and how they stand."""
    return {
        'experience': json.loads(to_line(found.experience)),
        'amendments': [json.loads(to_line(one)) for one in found.amendments],
        'state': found.standing.state,
        'quarantined': list(found.standing.reasons),
        'pinned': list(found.standing.pinned),
    }


def trend(samples: NDArray[np.float32], valid: NDArray[np.bool_], width: int = WIDEST) -> str:
    """Return a window's samples as bars, from their least to their greatest.

    Args:
        samples: float32 [T], oldest first, in nominal ranges.
        valid: bool [T]; the others are dots.
        width: Characters at most.
    """
    if not valid.any():
        return NO_SAMPLE * min(len(samples), width)
    means = [
        float(part[usable].mean()) if usable.any() else float('nan')
        for part, usable in zip(
            np.array_split(samples.astype(np.float64), min(len(samples), width)),
            np.array_split(valid, min(len(samples), width)),
            strict=True,
        )
    ]
    low, high = np.nanmin(means), np.nanmax(means)
    if high - low < LEAST_RANGE:
        middle = (low + high) / 2
        low, high = middle - LEAST_RANGE / 2, middle + LEAST_RANGE / 2
    return ''.join(
        NO_SAMPLE if np.isnan(mean) else BARS[round((mean - low) / (high - low) * 7)]
        for mean in means
    )


def _signals(experience: Experience, scales: Mapping[str, Scale]) -> Iterator[str]:
    situation = experience.situation
    window, mask = situation.array(), situation.mask()
    seconds = situation.length * situation.period_s
    rows = [('signal', 'now', 'unit', f'the last {situation.length} samples', 'from', 'to', '')]
    for index, name in enumerate(situation.signals):
        reading = situation.readings[index] if situation.readings else None
        usable = np.flatnonzero(mask[:, index])
        scale = scales.get(name)
        first, last = (
            _unscaled(float(window[usable[i], index]), scale) if len(usable) else '–'
            for i in (0, -1)
        )
        value = None if reading is None else reading.value
        how = '' if reading is None or reading.state == 'OK' else reading.state.lower()
        if how and reading is not None and reading.age_s >= 0:
            how += f', {duration(reading.age_s)} old'
        rows.append(
            (
                f'  {name}',
                '–' if value is None else number(value),
                scale.unit if scale else '',
                trend(window[:, index], mask[:, index]),
                first,
                last,
                how,
            )
        )
    yield from columns(rows, right=(1, 4, 5))
    scaled = '' if scales else '; from and to in nominal ranges (--config shows units)'
    yield f'  a sample every {situation.period_s:g} s or slower, {seconds:g} s or more{scaled}'


def _unscaled(value: float, scale: Scale | None) -> str:
    if scale is not None:
        value = scale.low + value * (scale.high - scale.low)
    return number(value)


def _events(
    stamp_ns: int, events: tuple[StoredEvent, ...], recalled: tuple[StoredEvent, ...]
) -> Iterator[str]:
    if not events and not recalled:
        yield ''
        yield 'no events'
        return
    yield ''
    rows = [('event', 'age', 'kind', 'value', 'times', 'from')]
    for event in (*recalled, *events):  # oldest first
        rows.append(
            (
                f'  {event.code}',
                duration((stamp_ns - event.stamp_ns) / 1e9),
                event.kind.lower(),
                '–' if event.value is None else number(event.value),
                f'{event.count}' if event.count > 1 else '',
                event.source,
            )
        )
    yield from columns(rows, right=(1, 3, 4))


def _activations(found: Found) -> Iterator[str]:
    experience = found.experience
    if experience.activations:
        rows = [('thinking', 'probability', 'threshold', '')]
        for one in experience.activations:
            rows.append(
                (
                    f'  {one.id}',
                    f'{one.probability:.3f}',
                    f'{one.threshold:.2f}',
                    'active' if one.active else '',
                )
            )
        yield from columns(rows, right=(1, 2))
    else:
        yield 'no activations'
    threshold = experience.novelty_threshold
    limit = '' if threshold is None else f' of {number(threshold)}'
    yield f'novelty {novelty(found).rstrip("!")}{limit}'


def _observations(found: Found) -> Iterator[str]:
    own, later = found.experience.observations, found.amendments
    if not own and not later:
        yield 'nothing is known of what came of it'
        return
    stamp_ns = found.experience.situation.stamp_ns
    rows = [('known', 'after', 'kind', 'code', 'reward', '')]
    rows += [('  at once', *_observation(one, stamp_ns)) for one in own]
    rows += [
        (f'  {moment(one.revision * 1_000_000)}', *_observation(one.observation, stamp_ns))
        for one in later
    ]
    yield from columns(rows, right=(1, 4))


def _observation(one: Observation, stamp_ns: int) -> tuple[str, str, str, str, str]:
    said = [f'right: {", ".join(one.expected)}'] if one.expected else []
    said += ['verified'] if one.verified else []
    said += [f'from {one.source}'] if one.source else []
    said += [' '.join(one.text.split())] if one.text else []
    return (
        f'{(one.stamp_ns - stamp_ns) / 1e9:+.1f} s',
        one.kind.value,
        one.code or '-',
        '' if one.reward is None else f'{one.reward:+g}',
        '; '.join(said),
    )
