# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `calibrate` found: as lines, as a robot file."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.tables import columns
from thinking_policy.policy import NOVELTY_THRESHOLD, Calibration
from thinking_policy.situation import (
    NODE_NAME,
    SituationConfig,
    load_configuration,
    load_parameters,
)
from thinking_policy.situation.parameter_file import with_signal_numbers
from thinking_policy.whole_file import whole_file

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


def robot_file(
    source: Path, found: Calibrated, origin: str, namespace: str | None = None
) -> tuple[str, bool]:
    """Return the text of the robot file, and whether the comments of the old one are in it.

    Args:
        source: The configuration that was given.
        found: What to write.
        origin: Where it comes from, for a comment at the top.
        namespace: The robot's, where the file has sections for several; None: any.
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
    note = f'{_NOTE}{" ".join(origin.split())}\n'
    try:
        changed = with_signal_numbers(text, numbers, namespace)
        changed = _OLD_NOTE.sub('', changed)
        at = _after_heading(changed)
        return changed[:at] + note + changed[at:], True
    except KeyError:  # settings that are spread over the file in a way that isn't known
        return note + _plain(source, numbers, namespace), False


def write_robot_file(
    path: Path, text: str, expected: SituationConfig, namespace: str | None = None
) -> None:
    """Write a robot file; it appears whole or not at all, and says what is expected.

    Raises:
        ThinkingPolicyError: It cannot be written, or would not be read as it should.
    """
    with whole_file(path) as draft:
        draft.write_text(text, encoding='utf-8')
        # NaN is unlike NaN, but written alike
        if repr(load_configuration(draft, namespace)) != repr(expected):
            raise ThinkingPolicyError(
                f'{path}: not written: the numbers could not be put into this file; write '
                'each signal below `signals:` in the file that --config names'
            )


def _plain(source: Path, numbers: Mapping[str, Mapping[str, float]], namespace: str | None) -> str:
    parameters: dict[str, Any] = load_parameters(source, namespace)
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
