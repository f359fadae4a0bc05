# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML file of rules and outcomes, as a person writes it: what may stand in it.

Seconds everywhere; a signal's values are in its own unit, or, with `scale: nominal`, scaled so
that its nominal range is 0...1.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from thinking_policy.bags.labelling.rule_names import pattern_of


def _no_truth(given: Any) -> Any:
    """Refuse `yes` and `no`, which YAML reads as true and false, where a number belongs."""
    if isinstance(given, bool):
        raise ValueError(f'expected a number, found {given}')
    return given


_LONGEST_S = 1e8  # three years; nanoseconds of it fit into 64 bits many times over
_Float = Annotated[float, BeforeValidator(_no_truth)]
Seconds = Annotated[_Float, Field(gt=0, le=_LONGEST_S)]
SomeSeconds = Annotated[_Float, Field(ge=0, le=_LONGEST_S)]
Number = Annotated[_Float, Field(allow_inf_nan=False)]
Size = Annotated[_Float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[_Float, Field(gt=0, le=1)]
Count = Annotated[int, BeforeValidator(_no_truth), Field(ge=1)]
Pattern = Annotated[str, Field(min_length=1), AfterValidator(pattern_of)]
Name = Annotated[str, Field(pattern=r'^[a-z][a-z0-9_]*$')]
Scaling = Literal['own', 'nominal']
Direction = Literal['rising', 'falling', 'either']
ALL = 'all'


class _Strict(BaseModel):
    """Refuses names it does not know: a misspelt option must not be silently absent."""

    model_config = ConfigDict(extra='forbid', frozen=True, populate_by_name=False)


class _OfSignal(_Strict):
    """What all conditions on one signal share."""

    signal: str
    scale: Scaling | None = Field(None, description="'own' or 'nominal'; by default the file's")


class Trend(_OfSignal):
    """The line through the last seconds climbs or falls by at least a size."""

    over: Seconds
    direction: Direction = 'either'
    by: Size = Field(description='least change of the line over the span')
    steady: Annotated[_Float, Field(ge=0, le=1)] = Field(
        0.0, description="least share of the signal's variance that the line explains"
    )


class Level(_OfSignal):
    """The value is above, below or between bounds; with `for`: has been for so long.

    With `over` it is the mean of the last seconds, for signals that jump from reading to reading.
    """

    over: Seconds | None = None
    above: Number | None = None
    below: Number | None = None
    outside_nominal: Literal[True] | None = None
    lasting: SomeSeconds = Field(0.0, alias='for')

    @model_validator(mode='after')
    def _check(self) -> Level:
        bounds = self.above is not None or self.below is not None
        if bounds == bool(self.outside_nominal):
            raise ValueError('expected above, below, both (between them) or outside_nominal: true')
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError(
                f'nothing is above {self.above:g} and below {self.below:g}; for outside write '
                'any: with two levels'
            )
        return self


class Change(_OfSignal):
    """The mean of the last seconds differs from the mean of a span before them."""

    over: Seconds
    before: Seconds
    between: SomeSeconds = Field(0.0, description='seconds between the two spans')
    direction: Direction = 'either'
    by: Size


class Variability(_OfSignal):
    """The standard deviation of the last seconds against that of a span before them."""

    over: Seconds
    before: Seconds
    direction: Literal['up', 'down']
    factor: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 2.0
    by: Size = Field(0.0, description='least difference of the two, in the scale')


class CorrelationBroken(_Strict):
    """Two signals that went together so far stop doing so."""

    signals: tuple[str, str]
    over: Seconds
    usual: Share = Field(0.6, description='least |correlation| of all that came before')
    broken: Annotated[float, Field(ge=-1, lt=1)] = Field(
        0.2, description='largest correlation within the window, in the usual direction'
    )
    history: Seconds | None = Field(None, description='least seconds before; default 3 x over')
    moving: Size = Field(0.5, description='one of them must vary by this much of its usual spread')

    @model_validator(mode='after')
    def _check(self) -> CorrelationBroken:
        if self.signals[0] == self.signals[1]:
            raise ValueError('expected two different signals')
        if self.broken >= self.usual:
            raise ValueError(f'expected broken below usual ({self.usual:g})')
        return self


class Recovery(_OfSignal):
    """Back within the nominal range, and outside of it within the last seconds."""

    over: Seconds
    low: Number | None = Field(None, description='in the scale; default: of the nominal range')
    high: Number | None = None
    least: SomeSeconds = Field(0.0, description='seconds that it was outside')


class LateAcceleration(_OfSignal):
    """The end of the span is steeper than its beginning, in the same direction."""

    over: Seconds
    late: Annotated[float, Field(gt=0, lt=1)] = Field(0.5, description='share of the span')
    direction: Direction = 'either'
    factor: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 2.0
    by: Size = Field(description='least change over the late part')


class Missing(_Strict):
    """The share of ticks in the last seconds at which the signal is not OK."""

    signal: str
    over: Seconds
    share: Share = 0.5


class EventSeen(_Strict):
    """An event within the last seconds, of this episode."""

    code: Pattern
    within: Seconds
    times: Count = 1


class Condition(_Strict):
    """One kind of condition, or several combined."""

    trend: Trend | None = None
    level: Level | None = None
    change: Change | None = None
    variability: Variability | None = None
    correlation_broken: CorrelationBroken | None = None
    recovery: Recovery | None = None
    late_acceleration: LateAcceleration | None = None
    missing: Missing | None = None
    event: EventSeen | None = None
    all_of: Annotated[tuple[Condition, ...], Field(min_length=1)] | None = Field(None, alias='all')
    any_of: Annotated[tuple[Condition, ...], Field(min_length=1)] | None = Field(None, alias='any')
    none_of: Condition | None = Field(None, alias='not')

    @model_validator(mode='before')
    @classmethod
    def _one(cls, given: Any) -> Any:
        if isinstance(given, dict) and len(given) != 1:
            raise ValueError(
                f'expected one condition, found {", ".join(map(str, given)) or "none"}; '
                'combine several under all: or any:'
            )
        if isinstance(given, dict):
            ((kind, content),) = given.items()
            if content is None:
                raise ValueError(f'{kind}: expected what it looks at, found nothing')
        return given

    @property
    def part(self) -> Any:
        """The condition that was given."""
        return next(
            value for name in type(self).model_fields if (value := getattr(self, name)) is not None
        )


class _Stating(_Strict):
    """What rules and outcomes share."""

    name: Name
    confidence: Share = 1.0
    margin: SomeSeconds = Field(0.0, description='seconds around borders that are unsure')


class Rule(_Stating):
    """Says of each situation whether activities are called for, from what came before it."""

    activities: tuple[str, ...] = ()
    denies: tuple[str, ...] | Literal['all'] = ()
    lasting: SomeSeconds = Field(0.0, alias='for')
    when: Condition

    @model_validator(mode='after')
    def _check(self) -> Rule:
        if not self.activities and not self.denies:
            raise ValueError('expected activities, or denies: ids or all, found neither')
        if both := set(self.activities) & set(() if self.denies == ALL else self.denies):
            raise ValueError(f'{sorted(both)} stand in activities and in denies')
        if self.activities and self.denies == ALL:
            raise ValueError('denies: all leaves nothing for activities; make two rules')
        return self


class Outcome(_Stating):
    """Says it of what came before something that happened; of the present only by `at`."""

    event: Pattern | None = None
    when: Condition | None = None
    within: Seconds | None = Field(None, description='how long before it; needed with `before`')
    gap: SomeSeconds = 0.0
    before: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    lasting: SomeSeconds = Field(0.0, alias='for', description='seconds that `at` lasts')
    end_of_episode: Literal['unsure', 'known'] = 'unsure'

    @model_validator(mode='after')
    def _check(self) -> Outcome:
        if (self.event is None) == (self.when is None):
            raise ValueError('expected an event (code or pattern) or when (a condition)')
        if not self.before and not self.at:
            raise ValueError('expected activities under before, at or both, found neither')
        if self.before and self.within is None:
            raise ValueError('expected within: how many seconds before it `before` is called for')
        if self.within is not None and self.gap >= self.within:
            raise ValueError(f'expected a gap shorter than within ({self.within:g} s)')
        return self


class Spans(_Strict):
    """How sure a person's spans are."""

    confidence: Share = 1.0
    margin: SomeSeconds = 0.0


class RuleFile(_Strict):
    """A whole file."""

    scale: Scaling = 'own'
    default: Literal['none_called_for', 'unlabelled'] = 'none_called_for'
    precedence: tuple[str, ...] = ('person', 'outcome', 'rule')
    spans: Spans = Spans()
    rules: tuple[Rule, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
