# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a live calibration learned, on disk: it outlives a restart, but not another robot file.

The file says for which signals, and instead of which given baseline, it was learned. Where a
robot file with another baseline or other signals is given, that is newer and wins.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any

from thinking_policy.policy import Calibration
from thinking_policy.situation import SituationConfig

VERSION = 1
BASELINE = ('baseline_mean', 'baseline_spread')
# These say how values are judged, not which they are.
_JUDGING = (
    'nominal_low',
    'nominal_high',
    'limit_low',
    'limit_high',
    'limit_hysteresis',
    'stale_s',
)

Numbers = dict[str, float]


def made_for(given: SituationConfig) -> str:
    """Return what identifies the signals of a configuration and the baseline that it states."""
    signals = [
        {k: v for k, v in dataclasses.asdict(signal).items() if k not in _JUDGING}
        for signal in given.signals
    ]
    content = json.dumps([given.tick_period_s, given.window_length, signals], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def file_content(calibration: Calibration, given: SituationConfig, at: str) -> dict[str, Any]:
    """Return what is written.

    Args:
        calibration: What was learned.
        given: The configuration as the user gave it, before any calibration.
        at: When, for people.
    """
    return {
        'version': VERSION,
        'made_for': made_for(given),
        'at': at,
        'kept': calibration.kept,
        'false_alarms': calibration.false_alarms,
        # JSON has no NaN: a signal that could not be judged isn't there.
        'signals': {
            name: dict(zip(BASELINE, pair, strict=True))
            for name, *pair in zip(
                calibration.signals, calibration.mean, calibration.spread, strict=True
            )
            if not math.isnan(pair[0])
        },
    }


def read_calibration(path: Path, given: SituationConfig) -> tuple[Numbers, str]:
    """Return the parameters that a file holds for a configuration, and a line for the log.

    Returns:
        Parameter name → number, empty where the file isn't there or doesn't fit; and what to say
        of it, empty where there is no file.
    """
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
        fits = content['made_for'] == made_for(given) and content['version'] == VERSION
        found = {
            name: tuple(float(content['signals'][name][key]) for key in BASELINE)
            for name in given.names
            if name in content['signals']
        }
        at = str(content['at'])
        usable = bool(found) and all(
            math.isfinite(m) and math.isfinite(s) and s > 0 for m, s in found.values()
        )
    except FileNotFoundError:
        return {}, ''
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        return {}, f'{path}: no usable calibration: {error!r}; the given baseline is used'
    if not fits:
        return {}, (
            f'{path}: calibrated {at} for other signals, or before another baseline was given; '
            'the given baseline is used'
        )
    if not usable:
        return {}, f'{path}: no usable calibration: numbers; the given baseline is used'
    numbers = {
        f'signals.{name}.{key}': number
        for name in given.names
        for key, number in zip(BASELINE, found.get(name, (math.nan, math.nan)), strict=True)
    }
    return numbers, f'what is normal: calibrated {at}, from {path}'
