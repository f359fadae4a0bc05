# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of a labelled recording as SVG, for the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape

from thinking_policy.bags.labelling import drawing
from thinking_policy.bags.labelling.picture import CLASH, NO, UNSURE, Bar, Line, Picture

LEFT, WIDTH, RIGHT = 230, 860, 24
_PANEL, _LANE, _GAP, _TOP, _BOTTOM = 54, 17, 6, 8, 26


def svg(picture: Picture) -> str:
    """Return the drawing; everything in it is escaped."""
    return '\n'.join(_Drawing(picture).parts())


class _Drawing:
    """Lays out events, signals and lanes from top to bottom."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.scale = WIDTH / max(picture.length_s, 1e-9)

    def x(self, seconds: float) -> float:
        return LEFT + min(max(seconds, 0.0), self.picture.length_s) * self.scale

    def parts(self) -> Iterator[str]:
        picture = self.picture
        body: list[str] = []
        y = float(_TOP)
        if picture.events:
            body += self._events(y)
            y += _LANE + _GAP
        for line in picture.lines:
            body += self._signal(line, y)
            y += _PANEL + _GAP
        y += 6
        top = y
        for activity, bars in picture.lanes.items():
            body += self._lane(activity, bars, y)
            y += _LANE + 4
        body += self._unlabelled(top, y)
        height = y + _BOTTOM
        pieces = [[p.begin_s, p.end_s, str(p.stamp_ns)] for p in picture.pieces]
        about = {'left': LEFT, 'width': WIDTH, 'length': picture.length_s, 'pieces': pieces}
        about['start'] = str(picture.start_ns)
        yield (
            f'<svg viewBox="0 0 {LEFT + WIDTH + RIGHT} {height:.0f}" role="img" '
            f'aria-label="Signals and labels of {escape(picture.name, quote=True)}" '
            f"data-about='{escape(json.dumps(about), quote=True)}'>"
        )
        yield from self._axis(y)
        yield from body
        yield f'<line class="cross" y1="{_TOP}" y2="{y:.0f}" x1="-9" x2="-9"/></svg>'

    def _axis(self, bottom: float) -> Iterator[str]:
        length = self.picture.length_s
        for at in drawing.ticks(length):
            x = self.x(at)
            yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom:.0f}"/>'
            yield (
                f'<text class="tick" x="{x:.1f}" y="{bottom + 15:.0f}">'
                f'{drawing.clock(at, length)}</text>'
            )
        for piece in self.picture.pieces[1:]:
            x = self.x(piece.begin_s)
            yield (
                f'<line class="episode" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" '
                f'y2="{bottom:.0f}"><title>a new episode</title></line>'
            )

    def _events(self, y: float) -> Iterator[str]:
        more = f' and {self.picture.more_events:,} more' if self.picture.more_events else ''
        yield self._name('events', y + 12, f'{len(self.picture.events):,}{more}')
        places = [self.x(at) for at, _ in self.picture.events]
        for (at, code), x, following in zip(
            self.picture.events, places, [*places[1:], LEFT + WIDTH], strict=True
        ):
            yield (
                f'<path class="event" d="M{x:.1f} {y + 14:.1f}l-4 -9h8z"><title>{escape(code)}, '
                f'{drawing.clock(round(at, 1), self.picture.length_s)}</title></path>'
            )
            if x + 12 + 6 * len(code) < following:
                yield f'<text class="code" x="{x + 6:.1f}" y="{y + 12:.1f}">{escape(code)}</text>'

    def _signal(self, line: Line, y: float) -> Iterator[str]:
        low, high = drawing.bounds(line)

        def at(value: float) -> float:
            return y + _PANEL - (min(max(value, low), high) - low) / (high - low) * _PANEL

        top, bottom = at(line.scale.nominal_high), at(line.scale.nominal_low)
        yield f'<rect class="panel" x="{LEFT}" y="{y:.1f}" width="{WIDTH}" height="{_PANEL}"/>'
        unit = escape(line.scale.unit)
        if bottom - top > 0.5:
            yield (
                f'<rect class="nominal" x="{LEFT}" y="{top:.1f}" width="{WIDTH}" '
                f'height="{bottom - top:.1f}"><title>nominal '
                f'{drawing.number(line.scale.nominal_low)} … '
                f'{drawing.number(line.scale.nominal_high)} {unit}</title></rect>'
            )
        for seconds, lows, highs in line.runs:
            points = []
            for second, a, b in zip(seconds, lows, highs, strict=True):
                x = self.x(second)
                points.append(f'{x:.1f} {at(a):.1f}')
                if b > a:
                    points.append(f'{x:.1f} {at(b):.1f}')
            if len(points) == 1:
                points.append(f'{self.x(seconds[0]) + 0.8:.1f} {at(lows[0]):.1f}')
            yield f'<path class="signal" d="M{"L".join(points)}"/>'
        yield self._name(line.scale.name, y + 23, line.scale.unit)
        for value, place in ((line.high, y + 10), (line.low, y + _PANEL - 2)):
            yield (
                f'<text class="range" x="{LEFT - 8}" y="{place:.1f}">'
                f'{drawing.number(value)}</text>'
            )

    def _lane(self, activity: str, bars: tuple[Bar, ...], y: float) -> Iterator[str]:
        yield f'<rect class="lane" x="{LEFT}" y="{y:.1f}" width="{WIDTH}" height="{_LANE}"/>'
        yield self._name(activity, y + 12.5, '')
        drawn: set[tuple[float, float, str, str]] = set()
        for bar in bars:
            x = round(self.x(bar.begin_s) * 2) / 2
            width = max(1.0, round(self.x(bar.end_s) * 2) / 2 - x)
            key = x, width, bar.said, bar.origin
            if key in drawn:  # thousands of flickering labels end in the same few pixels
                continue
            drawn.add(key)
            yield _rect(bar, x, y, width, self._about(bar))

    def _about(self, bar: Bar) -> str:
        words = {NO: 'not called for', UNSURE: 'unsure', CLASH: 'conflict'}
        length = self.picture.length_s
        sure = f', confidence {bar.confidence:g}' if 0 < bar.confidence < 1 else ''
        origin = f': {bar.origin}' if bar.origin else ''
        return (
            f'{words.get(bar.said, "called for")}{origin}{sure}, '
            f'{drawing.clock(round(bar.begin_s, 1), length)} … '
            f'{drawing.clock(round(bar.end_s, 1), length)}'
        )

    def _unlabelled(self, top: float, bottom: float) -> Iterator[str]:
        for begin, end in self.picture.unlabelled:
            x, width = self.x(begin), max(1.0, self.x(end) - self.x(begin))
            yield (
                f'<rect class="unlabelled" x="{x:.1f}" y="{top:.0f}" width="{width:.1f}" '
                f'height="{bottom - top - 4:.0f}"><title>not labelled: no row in the table</title>'
                f'</rect>'
            )

    def _name(self, name: str, y: float, remark: str) -> str:
        said = f' <tspan class="unit">{escape(remark)}</tspan>' if remark else ''
        short = name if len(name) <= 32 else f'{name[:31]}…'
        return f'<text class="name" x="0" y="{y:.1f}">{escape(short)}{said}</text>'


def _rect(bar: Bar, x: float, y: float, width: float, about: str) -> str:
    title = f'<title>{escape(about)}</title>'
    if bar.said == CLASH:
        return (
            f'<rect class="clash" x="{x:g}" y="{y - 1:.1f}" width="{width:g}" height="4">'
            f'{title}</rect>'
        )
    if bar.said == UNSURE:
        return (
            f'<rect fill="url(#unsure)" x="{x:g}" y="{y:.1f}" width="{width:g}" '
            f'height="{_LANE}">{title}</rect>'
        )
    colour = drawing.colour_of(bar.origin)
    inner = max(width - 1.5, 0.5)
    if bar.said == NO:
        return (
            f'<rect fill="#fff" stroke="{colour}" stroke-width="1.5" x="{x + 0.75:g}" '
            f'y="{y + 3:.1f}" width="{inner:g}" height="{_LANE - 6}">{title}</rect>'
        )
    strength = 0.45 + 0.55 * bar.confidence
    return (
        f'<rect fill="{colour}" fill-opacity="{strength:.2f}" x="{x:g}" y="{y:.1f}" '
        f'width="{width:g}" height="{_LANE}">{title}</rect>'
    )
