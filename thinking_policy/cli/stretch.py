# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The stretch of a recording that `calibrate` learns from: read from a bag or a .npz, cut out."""

from __future__ import annotations

import dataclasses
import json
import math
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy import ThinkingPolicyError
from thinking_policy.situation import SignalConfig, SituationConfig
from thinking_policy.situation.window import CLIP

# What doesn't change the values that a signal takes, only how they are judged.
_JUDGING = (
    'nominal_low',
    'nominal_high',
    'baseline_mean',
    'baseline_spread',
    'limit_low',
    'limit_high',
    'limit_hysteresis',
)
_KINDS = {'iu': 'integers', 'f': 'floats', 'b': 'booleans', 'U': 'text'}
_WHOLE = ('tick_period_s', 'window_length')
# What a file raises that isn't a whole .npz: cut off, overwritten, packed in another way.
_DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclasses.dataclass(frozen=True)
class Recorded:
    """Situations of a recording, one a tick.

    Attributes:
        config: What they were perceived with.
        window: float32 [N, T, F], scaled to that configuration's nominal ranges.
        valid: bool [N, T, F].
        values: float64 [N, F] in each signal's unit, NaN unless OK.
        seconds: float64 [N], end of each tick since the first one.
        episode: text [N].
    """

    config: SituationConfig
    window: NDArray[np.float32]
    valid: NDArray[np.bool_]
    values: NDArray[np.float64]
    seconds: NDArray[np.float64]
    episode: NDArray[np.str_]

    def __len__(self) -> int:
        """Return the number of situations."""
        return len(self.seconds)

    def take(self, rows: NDArray[np.bool_]) -> Recorded:
        """Return some of the situations."""
        return Recorded(
            self.config,
            self.window[rows],
            self.valid[rows],
            self.values[rows],
            self.seconds[rows],
            self.episode[rows],
        )


def recorded_in_bag(
    path: Path,
    config: SituationConfig,
    namespace: str,
    progress: Callable[[int, int], None] | None = None,
) -> Recorded:
    """Replay a bag into situations.

    Args:
        path: The bag.
        config: What the robot perceives.
        namespace: The robot's in the bag.
        progress: Called with the messages played, and how many there are.

    Raises:
        ThinkingPolicyError: The bag can't be read, or feeds no signal.
    """
    # Reading bags needs an extra; a .npz doesn't.
    from thinking_policy.bags import open_bag, situations_of
    from thinking_policy.bags.export import SituationArrays

    with open_bag(path) as bag:
        replay = situations_of(bag, config, namespace=namespace)
        collected = SituationArrays(config)
        for situation in replay:
            collected.add(situation)
            if progress is not None:
                progress(replay.played, bag.message_count)
    return _recorded(collected.arrays(), config, path)


def recorded_in_npz(path: Path, config: SituationConfig, source: Path) -> Recorded:
    """Read what `bag situations` wrote.

    Args:
        path: The .npz file.
        config: What the robot perceives; must give the same values.
        source: Its file, for errors.

    Raises:
        ThinkingPolicyError: Not such a file, or made with a configuration that perceives other
            values; the message says which setting differs.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays['meta']))
        before = _configuration(meta['configuration'])
        stride = int(meta['stride'])
    except _DAMAGED as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ThinkingPolicyError(
            f'{path}: expected a file that `bag situations` wrote: {reason}'
        ) from error
    if stride != 1:
        raise ThinkingPolicyError(
            f'{path}: holds every {stride}th tick; export it again without --stride'
        )
    _check_same(before, config, path, source)
    scaled_by = dataclasses.replace(
        config,
        signals=tuple(
            dataclasses.replace(s, nominal_low=b.nominal_low, nominal_high=b.nominal_high)
            for s, b in zip(config.signals, before.signals, strict=True)
        ),
    )
    return _recorded(arrays, scaled_by, path)


def cut_out(
    whole: Recorded, begin_s: float | None, end_s: float | None, episodes: list[str]
) -> Recorded:
    """Return the situations between two times, and of some episodes.

    Args:
        whole: The recording.
        begin_s: Seconds after its first tick; None: from there.
        end_s: Seconds after its first tick; None: to the last.
        episodes: Names or endings of names; empty: all.

    Raises:
        ThinkingPolicyError: Nothing is left; the message says what there is.
    """
    # Without --from all counts, also what a clock that went back has put before the first tick.
    rows = np.ones(len(whole), np.bool_)
    if begin_s is not None:
        rows &= whole.seconds >= begin_s
    if end_s is not None:
        rows &= whole.seconds < end_s
    if episodes:
        names = list(dict.fromkeys(whole.episode.tolist()))
        chosen = [name for name in names if name.endswith(tuple(episodes))]
        if not chosen:
            raise ThinkingPolicyError(
                f'--episode {" ".join(episodes)}: no such episode; there are '
                f'{", ".join(names[:8])}{" …" if len(names) > 8 else ""}'
            )
        rows &= np.isin(whole.episode, chosen)
    if not rows.any():
        given = (('--from', begin_s), ('--until', end_s), ('--episode', ' '.join(episodes)))
        asked = ' '.join(f'{name} {value}' for name, value in given if value not in (None, ''))
        raise ThinkingPolicyError(
            f'{asked}: no tick is left; the recording has {len(whole)}, from '
            f'{whole.seconds.min():g} to {whole.seconds.max():g} s'
        )
    return whole.take(rows)


def cut_off(stretch: Recorded, config: SituationConfig) -> str:
    """Return what the windows of a stretch lack that those of a configuration would hold.

    A window shows ten nominal ranges to either side; what lies beyond is cut off.

    Args:
        stretch: Situations, scaled to the ranges that they were perceived with.
        config: The same signals with other ranges.

    Returns:
        A line with an example; empty where nothing is missing.
    """
    for index, (old, new) in enumerate(zip(stretch.config.signals, config.signals, strict=True)):
        values = stretch.values[:, index]
        lost = _beyond(values, old) & ~_beyond(values, new) & np.isfinite(values)
        if lost.any():
            return (
                f'{old.name}: {int(lost.sum()):,} values, such as {values[lost][0]:g}, lie more '
                f'than {CLIP:g} times the nominal range {old.nominal_low:g} … '
                f'{old.nominal_high:g} away and are cut off in the windows'
            )
    return ''


def _beyond(values: NDArray[np.float64], signal: SignalConfig) -> NDArray[np.bool_]:
    width = signal.nominal_high - signal.nominal_low
    return np.abs((values - signal.nominal_low) / width) > CLIP


def _recorded(arrays: dict[str, NDArray[Any]], config: SituationConfig, path: Path) -> Recorded:
    try:
        _check_arrays(arrays, config, path)
        stamps = arrays['stamp_ns'].astype(np.int64)
        made = Recorded(
            config,
            arrays['window'],
            arrays['valid'],
            arrays['values'],
            (stamps - stamps[0]) * 1e-9 if len(stamps) else np.zeros(0),
            arrays['episode'],
        )
    except KeyError as error:
        raise ThinkingPolicyError(f'{path}: has no array {error}') from error
    if not len(made):
        raise ThinkingPolicyError(f'{path}: holds no situation')
    return made


def _check_arrays(arrays: dict[str, NDArray[Any]], config: SituationConfig, path: Path) -> None:
    """Refuse another shape or kind of array than `bag situations` writes."""
    count, signals = len(np.atleast_1d(arrays['stamp_ns'])), len(config.signals)
    window = (count, config.window_length, signals)
    for name, shape, kind in (
        ('stamp_ns', (count,), 'iu'),
        ('window', window, 'f'),
        ('valid', window, 'b'),
        ('values', (count, signals), 'f'),
        ('episode', (count,), 'U'),
    ):
        there = arrays[name]
        if there.shape != shape or there.dtype.kind not in kind:
            raise ThinkingPolicyError(
                f'{path}: {name}: expected {_KINDS[kind]} {list(shape)}, found '
                f'{there.dtype} {list(there.shape)}; export the bag again'
            )


def _configuration(values: dict[str, Any]) -> SituationConfig:
    """Return the part of an exported configuration that matters here; null was NaN."""
    known = {field.name for field in dataclasses.fields(SignalConfig)}

    def value_of(entry: Any) -> Any:
        return tuple(entry) if isinstance(entry, list) else math.nan if entry is None else entry

    signals = []
    for signal in values['signals']:
        given = {name: value_of(entry) for name, entry in signal.items() if name in known}
        made = SignalConfig(**given)
        if not made.nominal_low < made.nominal_high:
            raise ValueError(f'nominal range {made.nominal_low} … {made.nominal_high}')
        signals.append(made)
    whole = {name: values[name] for name in _WHOLE}
    return SituationConfig(signals=tuple(signals), **whole)


def _check_same(
    before: SituationConfig, config: SituationConfig, path: Path, source: Path
) -> None:
    if before.names != config.names:
        raise ThinkingPolicyError(
            f'{path}: has signals {list(before.names)}, {source} has {list(config.names)}'
        )
    pairs: list[tuple[str, Any, Any, tuple[str, ...]]] = [('', before, config, _WHOLE)]
    names = [f.name for f in dataclasses.fields(SignalConfig) if f.name not in _JUDGING]
    for signal_before, signal in zip(before.signals, config.signals, strict=True):
        pairs.append((f'{signal.name}.', signal_before, signal, tuple(names)))
    for prefix, old, new, fields in pairs:
        for name in fields:
            one, other = getattr(old, name), getattr(new, name)
            if repr(one) != repr(other):  # NaN is like NaN
                raise ThinkingPolicyError(
                    f'{path}: was made with {prefix}{name} {one!r}, {source} has {other!r}; '
                    'export it again, or name its configuration with --config'
                )
