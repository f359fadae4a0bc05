# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Learning sets on disk: exported situations with labels, as .npz files.

| array | shape | content |
|---|---|---|
| window, valid | [N, T, F] | as `thinking-policy bag situations` writes them |
| signals | text [F] | names; units, ranges and periods stand in `meta` |
| episode | [N] | rows of one episode are never split between learning and testing |
| activities | text [G] | ids of the kinds of thinking |
| labels | [N, G] | 1: called for, 0: not; or between |
| weight | [N, G] | optional; 0: either answer is right |
| stamp_ns, event_row, event_stamp_ns, event_code | | optional; the exported events |
| recent_code, recent_age, code_age, code_count, vocabulary | | optional; events ready packed |
| meta | text | JSON: the export's, or `tick_period_s` and `signals` |
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thinking_policy.policy.manifest import ManifestSignal
from thinking_policy.situation.configuration import EventConfig
from thinking_policy.training.errors import LearningError
from thinking_policy.training.learning_set import (
    LearningSet,
    check_arrays,
    concatenate,
    named_arrays,
)
from thinking_policy.training.stored_arrays import Arrays, flags, numbers, opened, read, require
from thinking_policy.training.stored_events import PACKED, stored_events
from thinking_policy.whole_file import whole_file

RECENT_EVENTS = EventConfig().recent
_LARGEST = 10.0  # where situations are clipped


class Stored(NamedTuple):
    """Situations that are in memory already: what errors call them, and their arrays."""

    name: Path
    arrays: Arrays


Source = Path | Sequence[Stored]
"""Where a learning set is: an .npz file, a folder of them, or in memory."""


def load_learning_set(
    source: Source,
    *,
    taxonomy: Sequence[str] | None = None,
    vocabulary: Sequence[str] | None = None,
    recent_events: int = RECENT_EVENTS,
    unlabelled: bool = False,
) -> LearningSet:
    """Read a learning set.

    Args:
        source: Each file or entry has the same signals and activities.
        taxonomy: Ids that labels may have; their order becomes that of the set. None: any.
        vocabulary: Event codes to pack from exported events; None: those of events that are
            packed already, if there are any; empty: events are not looked at.
        recent_events: E, recent events to pack.
        unlabelled: Take files without labels too: `taxonomy` then says the activities, and no
            row has a weight.

    Raises:
        LearningError: File, array and row, what was expected and found, what to do.
    """
    parts: list[LearningSet] = []
    for name, arrays in _stored(source):
        part = _learning_set(name, arrays, taxonomy, vocabulary, recent_events, unlabelled)
        if parts:
            _compare(parts[0], part, name)
        parts.append(part)
    return concatenate(parts)


def learning_files(path: Path) -> list[Path]:
    """Return the file, or the .npz files of a folder in order of their names.

    Raises:
        LearningError: There is none.
    """
    if not path.is_dir():
        return [path]
    files = sorted(path.glob('*.npz'))
    if not files:
        raise LearningError(f'{path}: expected .npz files in this folder, found none')
    return files


def exported_codes(source: Source) -> tuple[str, ...]:
    """Return the codes of all exported events, the most frequent first.

    Raises:
        LearningError: A file can't be read.
    """
    counts: dict[str, int] = {}
    for _, found in _columns(source, 'event_code'):
        codes, count = np.unique(found, return_counts=True)
        for code, times in zip(codes, count, strict=True):
            counts[str(code)] = counts.get(str(code), 0) + int(times)
    return tuple(sorted(counts, key=lambda code: (-counts[code], code)))


def newest_stamp_ns(source: Source) -> int:
    """Return the time of the newest situation, nanoseconds; 0 where no file says times."""
    newest = 0
    for file, stamps in _columns(source, 'stamp_ns'):
        if stamps.dtype.kind not in 'iu' or stamps.ndim != 1:
            raise LearningError(
                f'{file}: stamp_ns: expected whole numbers [N], found {stamps.dtype} '
                f'{list(stamps.shape)}; `thinking-policy bag situations` writes it'
            )
        newest = max(newest, int(stamps.max()) if len(stamps) else 0)
    return newest


def save_learning_set(path: Path, learning: LearningSet) -> None:
    """Write a learning set; the file appears whole or not at all, the same bytes every time.

    Raises:
        LearningError: It can't be written.
    """
    meta = {
        'tick_period_s': learning.tick_period_s,
        'signals': [dataclasses.asdict(signal) for signal in learning.signals],
    }
    arrays = {
        **named_arrays(learning),
        'signals': np.array([signal.name for signal in learning.signals], np.str_),
        'activities': np.array(learning.activities, np.str_),
        'meta': np.array(json.dumps(meta, allow_nan=False)),
    }
    if learning.events:
        arrays['vocabulary'] = np.array(learning.vocabulary, np.str_)
    with whole_file(path, LearningError) as draft, draft.open('wb') as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _stored(source: Source) -> Iterator[Stored]:
    """Yield what a source holds; a file is read when it is its turn."""
    if isinstance(source, Path):
        yield from (Stored(file, read(file)) for file in learning_files(source))
    else:
        yield from source


def _columns(source: Source, name: str) -> Iterator[tuple[Path, NDArray[Any]]]:
    """Yield one array of each file or entry that has it; nothing else is read."""
    if isinstance(source, Path):
        for path in learning_files(source):
            with opened(path) as file:
                if name in file.files:
                    yield path, file[name]
    else:
        yield from ((entry.name, entry.arrays[name]) for entry in source if name in entry.arrays)


def _learning_set(
    path: Path,
    arrays: Arrays,
    taxonomy: Sequence[str] | None,
    vocabulary: Sequence[str] | None,
    recent_events: int,
    unlabelled: bool,
) -> LearningSet:
    require(arrays, ('window', 'valid', 'signals', 'episode', 'meta'), path)
    tick_period_s, signals, events = _meta(arrays, path)
    valid = flags(arrays, 'valid', path)
    window = numbers(arrays, 'window', path)
    if window.ndim != 3 or valid.shape != window.shape or window.shape[2] != len(signals):
        raise LearningError(
            f'{path}: expected window and valid [N, T, {len(signals)}], found {window.shape} and '
            f'{valid.shape}'
        )
    if arrays['episode'].dtype.kind == 'f' and not np.isfinite(arrays['episode']).all():
        raise LearningError(f'{path}: episode: NaN or infinite; number them, or name them')
    # What is not valid says nothing, whatever a tool left there.
    window = np.where(valid, window, np.float32(0))
    labels, weight, activities = _labels(arrays, path, taxonomy, unlabelled)
    episode = np.unique(arrays['episode'], return_inverse=True)[1].ravel().astype(np.int64)
    packed = stored_events(arrays, path, episode, vocabulary, recent_events, events)
    check_arrays(
        {'window': window, 'valid': valid, 'labels': labels, 'weight': weight, 'episode': episode}
        | dict(zip(PACKED, packed.arrays if packed else (), strict=False)),
        len(activities),
        len(signals),
        str(path),
    )
    if len(window) and np.abs(window).max() > _LARGEST:
        row = int(np.abs(window).reshape(len(window), -1).max(axis=1).argmax())
        raise LearningError(
            f'{path}: window: expected scaled samples within ±{_LARGEST:g}, found '
            f'{float(np.abs(window[row]).max()):g} in row {row}; scale them so that the nominal '
            f'range is 0...1'
        )
    return LearningSet(
        window, valid, labels, weight, episode, activities, signals, tick_period_s, packed
    )


def _labels(
    arrays: Arrays, path: Path, taxonomy: Sequence[str] | None, unlabelled: bool
) -> tuple[NDArray[np.float32], NDArray[np.float32], tuple[str, ...]]:
    """Return labels, weights and ids in the taxonomy's order."""
    if unlabelled and taxonomy is not None and 'labels' not in arrays:
        nothing = np.zeros((len(arrays['window']), len(taxonomy)), np.float32)
        return nothing, nothing.copy(), tuple(taxonomy)
    require(arrays, ('labels', 'activities'), path)
    ids = [str(name) for name in np.atleast_1d(arrays['activities'])]
    labels = numbers(arrays, 'labels', path)
    weight = numbers(arrays, 'weight', path) if 'weight' in arrays else np.ones(labels.shape, 'f4')
    if len(set(ids)) != len(ids):
        raise LearningError(f'{path}: activities: {ids} names one twice')
    if labels.ndim != 2 or labels.shape[1] != len(ids) or weight.shape != labels.shape:
        raise LearningError(
            f'{path}: expected labels and weight [N, {len(ids)}] for activities {ids}, found '
            f'{labels.shape} and {weight.shape}'
        )
    if taxonomy is None:
        return labels, weight, tuple(ids)
    for name in ids:
        if name not in taxonomy:
            raise LearningError(
                f'{path}: label {name!r} is not in the list of activities, which has '
                f'{list(taxonomy)}; add it there, take another list, or name it as there'
            )
    order = sorted(range(len(ids)), key=lambda column: list(taxonomy).index(ids[column]))
    return labels[:, order], weight[:, order], tuple(ids[column] for column in order)


def _meta(arrays: Arrays, path: Path) -> tuple[float, tuple[ManifestSignal, ...], dict[str, Any]]:
    """Return tick period, signals and the settings of events."""
    try:
        meta = json.loads(str(arrays['meta']))
        about = meta.get('configuration', meta)
        tick_s = float(about['tick_period_s'])
        signals = tuple(
            ManifestSignal(
                str(entry['name']),
                str(entry['unit']),
                float(entry['nominal_low']),
                float(entry['nominal_high']),
                float(entry.get('period_s', tick_s * entry.get('period_ticks', 1))),
            )
            for entry in about['signals']
        )
        events = dict(about.get('events', {}))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise LearningError(
            f'{path}: meta: expected JSON as `thinking-policy bag situations` writes it, or '
            f'{{"tick_period_s": ..., "signals": [{{"name", "unit", "nominal_low", '
            f'"nominal_high", "period_s"}}, ...]}}; {type(error).__name__}: {error}'
        ) from error
    _check_signals(tick_s, signals, path)
    names = [str(name) for name in np.atleast_1d(arrays['signals'])]
    if [signal.name for signal in signals] != names:
        raise LearningError(
            f'{path}: signals {names} are not those of meta, {[s.name for s in signals]}'
        )
    return tick_s, signals, events


def _check_signals(tick_s: float, signals: Sequence[ManifestSignal], path: Path) -> None:
    """Check what a policy file will say, before anything is fitted."""
    names = [signal.name for signal in signals]
    if len(set(names)) != len(names):
        raise LearningError(f'{path}: meta: signals: {names} names one twice')
    if not 0 < tick_s < math.inf:
        raise LearningError(f'{path}: meta: tick_period_s: expected > 0, found {tick_s}')
    for signal in signals:
        low, high, period_s = signal.nominal_low, signal.nominal_high, signal.period_s
        if not (-math.inf < low < high < math.inf and 0 < period_s < math.inf):
            raise LearningError(
                f'{path}: meta: {signal.name}: expected nominal_low < nominal_high and '
                f'period_s > 0, found {low}, {high} and {period_s}'
            )


def _compare(first: LearningSet, other: LearningSet, path: Path) -> None:
    for name in ('signals', 'activities', 'tick_period_s', 'length', 'vocabulary'):
        one, two = getattr(first, name), getattr(other, name)
        if one != two:
            if name == 'signals' and len(one) == len(two):
                one, two = next(pair for pair in zip(one, two, strict=True) if pair[0] != pair[1])
            raise LearningError(
                f'{path}: {name} differ from those of the first file: {two} instead of {one}; '
                f'export all bags with the same configuration, and label the same activities'
            )
