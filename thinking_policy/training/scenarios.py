# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a robot may live through, and which kinds of thinking that calls for.

The table that the simulator, the training data and the simulated robot share. It needs numpy
only, and not torch. Values are on the scaled axis, where the nominal range of a signal is 0...1.

| phase | what happens | thinking |
|---|---|---|
| healthy | idling, driving, heavy work; current, vibration and heat follow the work | – |
| rising | temperature and current climb together, steadily, beyond what the work explains | trend, hazard, cause |
| high | both stay beyond normal | hazard |
| falling | both come down again, steadily | trend, recovery |
| delayed_onset | after a normal time load, current and vibration suddenly accelerate | trend, hazard, cause, future_impact, information_seeking |
| overload | they stay beyond normal | hazard |
| easing | they drop back to normal | recovery |
| jammed | motion stops while load and current jump up | hazard, cause |
| freed | motion returns, load and current drop back | recovery |
| heating | temperature climbs although the current does not | trend, hazard, cause, cross_signal_temperature_current |
| hot | temperature stays high although the current is normal | hazard, cross_signal_temperature_current |
| cooling | temperature comes down again, steadily | trend, recovery |
| blinded | visibility collapses, distances stay as good as ever | cross_signal_visibility_distance, information_seeking |
| obscured | visibility and distance collapse together: dust, fog, a hand | information_seeking |
| clearing | the sight returns | recovery |
| shaking | vibration climbs and stays although the load does not | cause, cross_signal_vibration_load |
| calming | vibration drops back to normal | recovery |
| lagging | again and again vibration rises and motion dips a while after a load peak | future_impact, hidden_dependency |
| shaking_and_rising | rising while the vibration of shaking stays | trend, hazard, cause, cross_signal_vibration_load |
| shaking_and_high | high while the vibration of shaking stays | hazard, cross_signal_vibration_load |
| settling | temperature, current and vibration come down together, steadily | trend, recovery |
"""  # noqa: E501 (a table row can't be broken)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Seconds of one simulated step: the default tick.
TICK_S = 0.5
HEALTHY = 'healthy'
CROSS_SIGNAL = 'cross_signal_'


@dataclass(frozen=True)
class SimulatedSignal:
    """A signal of the simulated robot and what 0 and 1 of the scaled axis stand for."""

    name: str
    unit: str
    nominal_low: float
    nominal_high: float

    def in_unit(self, scaled: float) -> float:
        """Return a scaled value in the signal's own unit."""
        return self.nominal_low + scaled * (self.nominal_high - self.nominal_low)


SIGNALS = (
    SimulatedSignal('temperature', 'degC', 10.0, 70.0),
    SimulatedSignal('current', 'A', 0.0, 8.0),
    SimulatedSignal('vibration', 'm/s^2', 0.0, 4.0),
    SimulatedSignal('distance', 'm', 0.0, 5.0),
    SimulatedSignal('visibility', 'lx', 0.0, 1000.0),
    SimulatedSignal('motion', 'm/s', 0.0, 1.0),
    SimulatedSignal('load', '', 0.0, 1.0),
)
SIGNAL_NAMES = tuple(signal.name for signal in SIGNALS)

_ALWAYS = ('trend', 'hazard', 'cause', 'future_impact', 'information_seeking', 'recovery')
_PAIRS = ('temperature_current', 'visibility_distance', 'vibration_load')
ACTIVITIES = (*_ALWAYS, *(CROSS_SIGNAL + pair for pair in _PAIRS), 'hidden_dependency')


@dataclass(frozen=True)
class Effect:
    """What a phase adds to one signal by its end, on the scaled axis.

    Attributes:
        low: Smallest addition.
        high: Largest addition; each robot and each time draws its own.
        shape: How it gets there: `ramp` evenly over the phase, `accelerate` ever faster,
            `step` within a second, `rise` within the first third, `settle` ever slower; `peak`
            and `echo` come and go within the phase, the echo later than the peak.
    """

    low: float
    high: float
    shape: str


@dataclass(frozen=True)
class Phase:
    """One stretch in which one thing happens.

    Attributes:
        name: As in the table above.
        ticks: Shortest and longest duration at the robot's own pace.
        effects: What it does, by signal; a signal not named keeps what earlier phases added.
        activities: Kinds of thinking it calls for.
        shown_by: Signals that show it; where none is seen, nothing can be asked of a policy.
        work: Work mode that the robot is in meanwhile; empty: whatever comes.
        seen_after: Ticks after which the phase can be told from what came before.
    """

    name: str
    ticks: tuple[int, int]
    effects: Mapping[str, Effect] = field(default_factory=dict)
    activities: tuple[str, ...] = ()
    shown_by: tuple[str, ...] = ()
    work: str = ''
    seen_after: int = 4


def _ended(*signals: str, shape: str) -> dict[str, Effect]:
    return {signal: Effect(0.0, 0.0, shape) for signal in signals}


PHASES: Mapping[str, Phase] = {
    phase.name: phase
    for phase in (
        Phase(HEALTHY, (14, 30)),
        Phase(
            'rising',
            (12, 18),
            {'temperature': Effect(0.45, 0.65, 'ramp'), 'current': Effect(0.4, 0.6, 'ramp')},
            ('trend', 'hazard', 'cause'),
            ('temperature', 'current'),
            seen_after=5,
        ),
        Phase('high', (8, 14), {}, ('hazard',), ('temperature', 'current')),
        Phase(
            'falling',
            (12, 18),
            _ended('temperature', 'current', shape='ramp'),
            ('trend', 'recovery'),
            ('temperature', 'current'),
            seen_after=5,
        ),
        Phase(
            'delayed_onset',
            (5, 7),
            {
                'load': Effect(0.3, 0.45, 'accelerate'),
                'current': Effect(0.4, 0.6, 'accelerate'),
                'vibration': Effect(0.4, 0.6, 'accelerate'),
            },
            ('trend', 'hazard', 'cause', 'future_impact', 'information_seeking'),
            ('current', 'vibration'),
            work='drive',
            seen_after=3,
        ),
        Phase('overload', (10, 16), {}, ('hazard',), ('current', 'vibration'), work='drive'),
        Phase(
            'easing',
            (8, 12),
            _ended('load', 'current', 'vibration', shape='settle'),
            ('recovery',),
            ('current', 'vibration'),
            seen_after=3,
        ),
        Phase(
            'jammed',
            (10, 18),
            {
                'motion': Effect(-1.0, -1.0, 'step'),
                'load': Effect(0.3, 0.45, 'step'),
                'current': Effect(0.35, 0.55, 'step'),
            },
            ('hazard', 'cause'),
            ('motion', 'current'),
            work='drive',
            seen_after=3,
        ),
        Phase(
            'freed',
            (8, 12),
            _ended('motion', 'load', 'current', shape='settle'),
            ('recovery',),
            ('motion', 'current'),
            work='drive',
            seen_after=3,
        ),
        Phase(
            'heating',
            (12, 18),
            {'temperature': Effect(0.45, 0.65, 'ramp')},
            ('trend', 'hazard', 'cause', 'cross_signal_temperature_current'),
            ('temperature', 'current'),
            seen_after=5,
        ),
        Phase(
            'hot',
            (8, 14),
            {},
            ('hazard', 'cross_signal_temperature_current'),
            ('temperature', 'current'),
        ),
        Phase(
            'cooling',
            (12, 18),
            _ended('temperature', shape='ramp'),
            ('trend', 'recovery'),
            ('temperature',),
            seen_after=5,
        ),
        Phase(
            'blinded',
            (12, 20),
            {'visibility': Effect(-0.55, -0.42, 'step')},
            ('cross_signal_visibility_distance', 'information_seeking'),
            ('visibility', 'distance'),
        ),
        Phase(
            'obscured',
            (12, 20),
            {'visibility': Effect(-0.55, -0.42, 'step'), 'distance': Effect(-1.2, -1.0, 'step')},
            ('information_seeking',),
            ('visibility', 'distance'),
        ),
        Phase(
            'clearing',
            (8, 12),
            _ended('visibility', 'distance', shape='settle'),
            ('recovery',),
            ('visibility',),
            seen_after=3,
        ),
        Phase(
            'shaking',
            (12, 20),
            {'vibration': Effect(0.4, 0.65, 'rise')},
            ('cause', 'cross_signal_vibration_load'),
            ('vibration', 'load'),
            seen_after=5,
        ),
        Phase(
            'calming',
            (8, 12),
            _ended('vibration', shape='settle'),
            ('recovery',),
            ('vibration',),
            seen_after=3,
        ),
        Phase(
            'lagging',
            (24, 40),
            {
                'load': Effect(0.3, 0.4, 'peak'),
                'current': Effect(0.12, 0.2, 'peak'),
                'vibration': Effect(0.3, 0.4, 'echo'),
                'motion': Effect(-0.3, -0.2, 'echo'),
            },
            ('future_impact', 'hidden_dependency'),
            ('load', 'vibration', 'motion'),
            work='drive',
            seen_after=9,
        ),
        Phase(
            'shaking_and_rising',
            (12, 18),
            {'temperature': Effect(0.45, 0.65, 'ramp'), 'current': Effect(0.4, 0.6, 'ramp')},
            ('trend', 'hazard', 'cause', 'cross_signal_vibration_load'),
            ('temperature', 'current', 'vibration', 'load'),
            seen_after=5,
        ),
        Phase(
            'shaking_and_high',
            (8, 12),
            {},
            ('hazard', 'cross_signal_vibration_load'),
            ('temperature', 'current', 'vibration', 'load'),
        ),
        Phase(
            'settling',
            (14, 20),
            _ended('temperature', 'current', 'vibration', shape='ramp'),
            ('trend', 'recovery'),
            ('temperature', 'current', 'vibration'),
            seen_after=6,
        ),
    )
}

# What a simulated robot lives through, over and over.
SCENARIOS: Mapping[str, tuple[str, ...]] = {
    'healthy': (HEALTHY,),
    'rising': (HEALTHY, 'rising', 'high', 'falling'),
    'falling': ('rising', 'falling', HEALTHY),
    'delayed_onset': (HEALTHY, 'delayed_onset', 'overload', 'easing'),
    'recovery': (HEALTHY, 'jammed', 'freed'),
    'cross_signal_temperature_current': (HEALTHY, 'heating', 'hot', 'cooling'),
    'cross_signal_visibility_distance': (HEALTHY, 'blinded', 'clearing'),
    'cross_signal_vibration_load': (HEALTHY, 'shaking', 'calming'),
    'hidden_dependency': (HEALTHY, 'lagging'),
    'information_seeking': (HEALTHY, 'obscured', 'clearing'),
    'developing_fault': (HEALTHY, 'shaking', 'shaking_and_rising', 'shaking_and_high', 'settling'),
}
# What `run` shows where no scenario is named.
DEFAULT_SCENARIO = 'developing_fault'
