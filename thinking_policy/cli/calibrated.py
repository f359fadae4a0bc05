# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `calibrate` found: as lines, as a robot file, as a picture."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.stretch import Recorded
from thinking_policy.cli.tables import columns
from thinking_policy.policy import (
    NOVELTY_THRESHOLD,
    Calibration,
    NoveltyHold,
    baseline_of,
    novelty_from_sums,
)
from thinking_policy.situation import (
    NODE_NAME,
    SituationConfig,
    load_configuration,
    load_parameters,
)
from thinking_policy.situation.parameter_file import with_signal_numbers

_NUMBERS = ('nominal_low', 'nominal_high', 'baseline_mean', 'baseline_spread')
_NOTE = '# Calibrated by `thinking-policy calibrate` from '
_OLD_NOTE = re.compile(f'^{re.escape(_NOTE)}.*\n', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Calibrated:
    """What was found.

    Attributes:
        before: The configuration that was given.
        after: With nominal ranges and baseline.
        calibration: How the baseline came about.
        values: How many values each range was taken from, by name.
        problems: Why a range stays as it was, by name.
        ticks: Length of the stretch.
    """

    before: SituationConfig
    after: SituationConfig
    calibration: Calibration
    values: Mapping[str, int]
    problems: Mapping[str, str]
    ticks: int


def lines(found: Calibrated) -> Iterator[str]:
    """Yield a table of all signals, and what the false-alarm rate comes to."""
    calibration = found.calibration
    rows = [('signal', 'unit', 'range before', 'range', 'mean', 'spread', 'values', '')]
    for old, new, windows in zip(
        found.before.signals, found.after.signals, calibration.windows, strict=True
    ):
        judged = not math.isnan(new.baseline_mean)
        reasons = dict.fromkeys(
            problems[new.name]
            for problems in (calibration.problems, found.problems)
            if new.name in problems
        )
        rows.append(
            (
                new.name,
                new.unit,
                f'{old.nominal_low:g} … {old.nominal_high:g}',
                f'{new.nominal_low:g} … {new.nominal_high:g}',
                f'{new.baseline_mean:g}' if judged else '–',
                f'{new.baseline_spread:.3g}' if judged else '–',
                f'{found.values.get(new.name, windows):,}',
                '; '.join(reasons),
            )
        )
    yield from columns(rows, right=(4, 5, 6))
    yield ''
    period_s = found.after.tick_period_s
    yield (
        f'{found.ticks:,} ticks ({found.ticks * period_s:g} s), '
        f'{calibration.kept:.0%} of them counted as normal'
    )
    every_s = period_s * found.after.window_length / calibration.false_alarms
    yield (
        f'novelty passes {NOVELTY_THRESHOLD:g} in {calibration.false_alarms:.2%} of the windows '
        f'that do not overlap, as long as all is as in this stretch: once in {_duration(every_s)}'
    )
    if calibration.kept < 0.9:
        yield (
            'more than a tenth did not look like the rest: was all of it normal? '
            '--from and --until choose a part, --plot shows it'
        )


def robot_file(source: Path, found: Calibrated, origin: str) -> tuple[str, bool]:
    """Return the text of the robot file, and whether the comments of the old one are in it.

    Args:
        source: The configuration that was given.
        found: What to write.
        origin: Where it comes from, for a comment at the top.
    """
    text = source.read_text(encoding='utf-8')
    numbers = {
        new.name: {
            name: getattr(new, name)
            for name in _NUMBERS
            if repr(getattr(new, name)) != repr(getattr(old, name))
        }
        for old, new in zip(found.before.signals, found.after.signals, strict=True)
    }
    note = f'{_NOTE}{origin}\n'
    try:
        changed = with_signal_numbers(text, numbers)
        changed = _OLD_NOTE.sub('', changed)
        at = _after_heading(changed)
        return changed[:at] + note + changed[at:], True
    except KeyError:  # settings that are spread over the file in a way that isn't known
        return note + _plain(source, numbers), False


def write_robot_file(path: Path, text: str, expected: SituationConfig) -> None:
    """Write a robot file; it appears whole or not at all, and says what is expected.

    Raises:
        ThinkingPolicyError: It cannot be written, or would not be read as it should.
    """
    partial = path.with_name(f'.{path.name}.{os.getpid()}.partial')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_text(text, encoding='utf-8')
            # NaN is unlike NaN, but written alike
            if repr(load_configuration(partial)) != repr(expected):
                raise ThinkingPolicyError(
                    f'{path}: not written: the numbers could not be put into this file; write '
                    'each signal below `signals:` in the file that --config names'
                )
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ThinkingPolicyError(
            f'{path}: cannot be written: {error.strerror or error}'
        ) from error


def novelties(whole: Recorded, config: SituationConfig) -> list[float]:
    """Return the novelty [N] that a node with a configuration says at each tick."""
    baseline, hold = baseline_of(_scaled_as(whole, config)), NoveltyHold(config.window_length)
    sums = np.where(whole.valid, whole.window, np.float32(0.0)).sum(axis=1).tolist()
    counts = whole.valid.sum(axis=1).tolist()
    return [
        hold.update(novelty_from_sums(s, c, baseline, config.window_length), episode)
        for s, c, episode in zip(sums, counts, whole.episode.tolist(), strict=True)
    ]


def draw(path: Path, whole: Recorded, chosen: Recorded, found: Calibrated) -> None:
    """Draw every signal with its range before and after, and the novelty with its threshold."""
    import matplotlib

    matplotlib.use('Agg')
    import matplotlib.pyplot as plt

    shown = [i for i, s in enumerate(found.after.signals) if np.isfinite(whole.values[:, i]).any()]
    figure, axes = plt.subplots(
        len(shown) + 1, 1, sharex=True, figsize=(9, 1.6 * len(shown) + 2.4), layout='constrained'
    )
    for axis, index in zip(axes, shown, strict=False):
        signal = found.after.signals[index]
        axis.plot(whole.seconds, whole.values[:, index], linewidth=0.7, color='#33658a')
        axis.axhspan(signal.nominal_low, signal.nominal_high, color='#86bbd8', alpha=0.25)
        if not math.isnan(signal.baseline_mean):
            reach = NOVELTY_THRESHOLD * signal.baseline_spread
            for level in (signal.baseline_mean - reach, signal.baseline_mean + reach):
                axis.axhline(level, color='#7b2d8b', linestyle=':', linewidth=0.9)
        # A signal that wanders may reach far beyond what there is to see.
        low = min(float(np.nanmin(whole.values[:, index])), signal.nominal_low)
        high = max(float(np.nanmax(whole.values[:, index])), signal.nominal_high)
        axis.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
        axis.set_ylabel(f'{signal.name}\n{signal.unit}', rotation=0, ha='right', va='center')
    axes[-1].plot(whole.seconds, novelties(whole, found.after), linewidth=0.8, color='#7b2d8b')
    axes[-1].axhline(NOVELTY_THRESHOLD, color='#7b2d8b', linestyle=':')
    axes[-1].set_yscale('symlog', linthresh=NOVELTY_THRESHOLD)  # an anomaly may be a hundred
    axes[-1].set_ylim(bottom=0.0, top=max(axes[-1].get_ylim()[1], 2 * NOVELTY_THRESHOLD))
    axes[-1].set_ylabel('novelty', rotation=0, ha='right', va='center')
    axes[-1].set_xlabel(
        'seconds (grey: the stretch that was learned from)\n'
        'blue: nominal range; dotted: beyond it the mean over a window is novel'
    )
    for axis in axes:
        axis.tick_params(labelsize=8)
        axis.axvspan(chosen.seconds[0], chosen.seconds[-1], color='#444444', alpha=0.07)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _scaled_as(whole: Recorded, config: SituationConfig) -> SituationConfig:
    """Return a configuration with the nominal ranges that the windows are scaled to."""
    signals = tuple(
        dataclasses.replace(s, nominal_low=w.nominal_low, nominal_high=w.nominal_high)
        for s, w in zip(config.signals, whole.config.signals, strict=True)
    )
    return dataclasses.replace(config, signals=signals)


def _plain(source: Path, numbers: Mapping[str, Mapping[str, float]]) -> str:
    parameters: dict[str, Any] = load_parameters(source)
    for name, settings in numbers.items():
        parameters.setdefault('signals', {}).setdefault(name, {}).update(settings)
    document = {f'/**/{NODE_NAME}': {'ros__parameters': parameters}}
    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


def _after_heading(text: str) -> int:
    """Return the place below the lines of a licence, where a file begins with one."""
    at = 0
    for line in text.splitlines(keepends=True):
        if not line.startswith(('# Copyright', '# SPDX')):
            break
        at += len(line)
    return at


def _duration(seconds: float) -> str:
    for unit, size in (('days', 86_400.0), ('h', 3_600.0), ('min', 60.0)):
        if seconds >= 2 * size:
            return f'{seconds / size:.0f} {unit}'
    return f'{seconds:.0f} s'
