# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The stretch of a recording that `calibrate` learns from: read from a bag or a .npz, cut out."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinking_policy import ThinkingPolicyError
from thinking_policy.situation import SignalConfig, SituationConfig

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
_WHOLE = ('tick_period_s', 'window_length')


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
        made_with = meta['configuration']
        stride = int(meta['stride'])
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ThinkingPolicyError(
            f'{path}: expected a file that `bag situations` wrote: {reason}'
        ) from error
    if stride != 1:
        raise ThinkingPolicyError(
            f'{path}: holds every {stride}th tick; export it again without --stride'
        )
    before = _configuration(made_with)
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
    begin_s = 0.0 if begin_s is None else begin_s
    end_s = math.inf if end_s is None else end_s
    rows = (whole.seconds >= begin_s) & (whole.seconds < end_s)
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
        last = whole.seconds[-1] if len(whole) else 0.0
        raise ThinkingPolicyError(
            f'--from {begin_s:g} --until {end_s:g}: no tick is left; the recording has '
            f'{len(whole)}, from 0 to {last:g} s'
        )
    return whole.take(rows)


def _recorded(arrays: dict[str, NDArray[Any]], config: SituationConfig, path: Path) -> Recorded:
    try:
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


def _configuration(values: dict[str, Any]) -> SituationConfig:
    """Return the part of an exported configuration that matters here; null was NaN."""
    known = {field.name for field in dataclasses.fields(SignalConfig)}

    def value_of(entry: Any) -> Any:
        return tuple(entry) if isinstance(entry, list) else math.nan if entry is None else entry

    signals = []
    for signal in values['signals']:
        given = {name: value_of(entry) for name, entry in signal.items() if name in known}
        signals.append(SignalConfig(**given))
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
