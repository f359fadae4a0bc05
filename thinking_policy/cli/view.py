# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The live view as a pure function: a picture and a size in, something rich can print out."""

from __future__ import annotations

import math
import textwrap

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thinking_policy.cli.lines import silence
from thinking_policy.cli.picture import (
    INVALID,
    NEVER,
    OK,
    STALE,
    STATE_NAMES,
    ActivityPicture,
    EventPicture,
    Picture,
    SignalPicture,
    Silence,
    duration,
    moment,
    number,
)

SPARKS = '▁▂▃▄▅▆▇█'
GLYPHS = {
    OK: ('●', 'green'),
    STALE: ('◌', 'yellow'),
    INVALID: ('✗', 'red'),
    NEVER: ('○', 'bright_black'),
}
SIDE_BY_SIDE = 76  # columns from which signals and activities fit beside each other
WIDEST = 132  # beyond this the eye loses the line
VALUE_WIDTH = 11  # a number and its unit
QUIET_S = 3.0  # without a message for so long, the view says that it shows the past


def render(picture: Picture, width: int = 80, height: int = 24) -> RenderableType:
    """Return the view of one moment, as wide as `width` and at most `height` lines high.

    What does not fit is left out from the bottom and said: first older events, then
    directives. Signals and activities are always whole.
    """
    width = min(width, WIDEST)
    head = _head(picture, width)
    if width >= SIDE_BY_SIDE:
        left = max(41, min(52, width * 2 // 5))
        body: list[RenderableType] = [
            _beside(
                signals_table(picture.signals, left),
                activities_table(picture.activities, width - left - 2),
                left,
            )
        ]
        used = 1 + max(len(picture.signals), len(picture.activities))
    else:
        body = [signals_table(picture.signals, width), activities_table(picture.activities, width)]
        used = 2 + len(picture.signals) + len(picture.activities)
    room = height - len(head) - used - 1
    events = [_events(picture.events, width)] if room >= 4 or not picture.active else []
    directives = _directives(picture, width, room - len(events) - 1)
    return Group(*head, Text(''), *body, *([Text('')] if room > 2 else []), *directives, *events)


def render_silence(silent: Silence) -> RenderableType:
    """Return what to show while nothing was heard: what is known, and what to do."""
    first, *rest = silence(silent)
    return Group(
        Text(first, 'bold yellow'),
        *(Text(line, 'bold' if line.startswith(' ') else '') for line in rest),
    )


def sparkline(history: tuple[float, ...], length: int) -> Text:
    """Return the newest `length` samples as blocks; `·` where a sample is invalid."""
    text = Text()
    for sample in history[-length:]:
        if math.isnan(sample):
            text.append('·', 'bright_black')
        else:
            level = min(len(SPARKS) - 1, max(0, math.floor(sample * len(SPARKS))))
            text.append(SPARKS[level], 'cyan' if 0 <= sample <= 1 else 'bold yellow')
    return text


def bar(probability: float, threshold: float, active: bool, length: int) -> Text:
    """Return a probability as a bar of `length` cells with a mark where the threshold is."""
    filled = round(min(1.0, max(0.0, probability)) * length)
    mark = min(length - 1, max(0, math.floor(threshold * length)))
    colour = 'bold magenta' if active else 'blue'
    text = Text()
    for cell in range(length):
        if cell == mark:
            text.append('╋' if cell < filled else '┼', 'bold white' if active else 'white')
        else:
            text.append('━' if cell < filled else '─', colour if cell < filled else 'bright_black')
    return text


def signals_table(signals: tuple[SignalPicture, ...], width: int) -> Table:
    """Return one line per signal: state, name, value, age and its window."""
    longest = max((len(signal.history) for signal in signals), default=0)
    spark = min(max(6, longest), 10 if width < 46 else 16)
    table = _grid()
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify='right')
    table.add_column(no_wrap=True, justify='right')
    table.add_column(no_wrap=True)
    widths = (width - VALUE_WIDTH - 4 - spark - 3, VALUE_WIDTH, 4, spark)
    for column, column_width in zip(table.columns, widths, strict=True):
        column.width = column_width
    table.add_row(
        Text('SIGNALS', 'bold'),
        Text('value', 'bright_black'),
        Text('age', 'bright_black'),
        Text('window', 'bright_black'),
    )
    for signal in signals:
        glyph, colour = GLYPHS[signal.state]
        known = signal.state == OK
        value = f'{number(signal.value)} {signal.unit}'.strip()
        table.add_row(
            Text.assemble((glyph, colour), ' ', (signal.name, '' if known else colour)),
            Text(value if known else STATE_NAMES[signal.state], '' if known else colour),
            Text(duration(signal.age_s), 'bright_black' if known else colour),
            sparkline(signal.history, spark),
        )
    return table


def activities_table(activities: tuple[ActivityPicture, ...], width: int) -> Table:
    """Return one line per activity: whether it is active, its title, bar and probability."""
    length = 10 if width < 46 else 20
    table = _grid()
    table.add_column(width=width - length - 4 - 2, no_wrap=True)
    table.add_column(width=length, no_wrap=True)
    table.add_column(width=4, justify='right', no_wrap=True)
    table.add_row(
        Text('THINKING', 'bold'),
        Text('probability' if length > 10 else 'prob.', 'bright_black'),
        Text(''),
    )
    for activity in activities:
        style = 'bold magenta' if activity.active else ''
        table.add_row(
            Text.assemble(('▶ ' if activity.active else '  ', style), (activity.name, style)),
            bar(activity.probability, activity.threshold, activity.active, length),
            Text(f'{activity.probability:.2f}', style or 'bright_black'),
        )
    return table


def _grid() -> Table:
    return Table.grid(padding=(0, 1, 0, 0), pad_edge=False)


def _beside(left: Table, right: Table, left_width: int) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column(width=left_width)
    grid.add_column()
    grid.add_row(left, right)
    return grid


def _head(picture: Picture, width: int) -> list[Text]:
    quiet = picture.silent_s > QUIET_S
    title = Text.assemble(
        (picture.topic, 'bold'), '  ', (f'{moment(picture.stamp_s)} UTC', 'bright_black')
    )
    if quiet:
        title.append(f'  silent for {duration(picture.silent_s)}', 'bold red')
    elif picture.phase:
        title.append(f'  simulation: {picture.phase.replace("_", " ")}', 'cyan')
    unusual = picture.novelty > picture.novelty_threshold
    facts = Text.assemble(
        ('novelty ', 'bright_black'),
        (
            f'{number(picture.novelty)} of {number(picture.novelty_threshold)}',
            'bold red' if unusual else '',
        ),
        (' unusual' if unusual else '', 'bold red'),
        ('  valid ', 'bright_black'),
        f'{picture.valid_fraction:.0%}',
        ('  inference ', 'bright_black'),
        f'{picture.inference_time_s * 1e3:.2f} ms',
        ('  policy ', 'bright_black'),
        picture.policy_version[:8] or '–',
    )
    episode = Text.assemble(('episode ', 'bright_black'), picture.episode)
    lines = [title]
    if len(facts) + len(episode) + 2 <= width:
        lines.append(Text.assemble(facts, '  ', episode))
    else:
        lines += [facts, episode]
    for line in lines:
        line.truncate(width, overflow='ellipsis')
        line.no_wrap = True
    return lines


def _directives(picture: Picture, width: int, room: int) -> list[RenderableType]:
    """Return the directives in force in the policy's order, as many as `room` lines hold."""
    active = picture.active
    if not active:
        return [Text('No thinking is called for.', 'bright_black')]
    texts = [
        Text.assemble(
            ('▶ ', 'bold magenta'), (activity.name, 'bold magenta'), '  ', activity.directive
        )
        for activity in active
    ]
    heights = [len(textwrap.wrap(text.plain, width)) for text in texts]
    if sum(heights) > room:  # one line each keeps more of them in sight
        for text in texts:
            text.truncate(width, overflow='ellipsis')
        heights = [1] * len(texts)
    if sum(heights) <= room:
        return list(texts)
    shown = max(0, room - 1)
    rest = ', '.join(activity.name for activity in active[shown:])
    return [*texts[:shown], Text(f'▶ {rest}', 'bold magenta', no_wrap=True, overflow='ellipsis')]


def _events(events: tuple[EventPicture, ...], width: int) -> Text:
    text = Text('events  ', 'bright_black', no_wrap=True)
    if not events:
        text.append('none in this episode')
    for index, event in enumerate(reversed(events)):
        value = '' if math.isnan(event.value) else f' {number(event.value)}'
        part = f'{"" if index == 0 else " · "}{event.code}{value} {duration(event.age_s)} ago'
        if len(text) + len(part) > width:
            break
        text.append(part, '' if event.age_s > 5 else 'yellow')
    return text
