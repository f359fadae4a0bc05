# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a robot perceives, as typed configuration.

One definition serves ROS parameters, robot files and the command line: names, defaults, help
and ranges stand here and nowhere else. `robot_file` reads and checks it.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

WITHIN_MESSAGE = (
    '',
    'norm',
    'mean',
    'min',
    'max',
    'rms',
    'std',
    'range_min',
    'invalid_fraction',
    'count',
)
OVER_TIME = ('last', 'mean', 'min', 'max', 'rms', 'std', 'invalid_fraction', 'count')
TIME_SOURCES = ('receive', 'header')
NAN = math.nan


def option(
    default: Any,
    text: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    dynamic: bool = False,
) -> Any:
    """Return a dataclass field that carries what a parameter descriptor needs.

    Args:
        default: Value where the configuration is silent.
        text: One line for descriptors and `--help`; names the unit.
        low: Smallest allowed number.
        high: Largest allowed number.
        choices: Allowed words, for text fields.
        dynamic: Whether it may change while the node is active.
    """
    meta = {'text': text, 'low': low, 'high': high, 'choices': choices, 'dynamic': dynamic}
    if isinstance(default, tuple):
        return dataclasses.field(default_factory=lambda: default, metadata=meta)
    return dataclasses.field(default=default, metadata=meta)


@dataclass(frozen=True)
class SignalConfig:
    """One scalar over time."""

    name: str = option('', 'name of the signal, unique')
    topic: str = option('', 'topic; empty: this robot has no such signal')
    type: str = option('', 'message type, such as sensor_msgs/msg/Imu')
    field: str = option('', 'path into the message: a.b, a[2], effort[joint_name]')
    within_message: str = option(
        '', 'how an array or vector in one message becomes a number', choices=WITHIN_MESSAGE
    )
    over_time: str = option(
        'last', 'how the numbers of one sampling period become a sample', choices=OVER_TIME
    )
    unit: str = option('', 'unit after scale and offset')
    scale: float = option(1.0, 'multiplies the raw number')
    offset: float = option(0.0, 'added after scaling')
    absolute: bool = option(False, 'take the absolute value of the scaled number')
    sentinels: tuple[float, ...] = option((), 'raw numbers that mean unknown, such as -1')
    valid_low: float = option(NAN, 'values below are invalid; in the unit; .nan: no bound')
    valid_high: float = option(NAN, 'values above are invalid; in the unit; .nan: no bound')
    nominal_low: float = option(0.0, 'what the window shows as 0; in the unit')
    nominal_high: float = option(1.0, 'what the window shows as 1; in the unit')
    baseline_mean: float = option(
        NAN,
        'mean over a window while all is normal; in the unit; .nan: middle of the nominal range',
        dynamic=True,
    )
    baseline_spread: float = option(
        NAN,
        'a window mean this far from it has novelty 1; in the unit; .nan: a quarter of the '
        'nominal range',
        dynamic=True,
    )
    limit_low: float = option(NAN, 'falling below raises <name>_low; .nan: no event')
    limit_high: float = option(NAN, 'rising above raises <name>_high; .nan: no event')
    limit_hysteresis: float = option(
        0.0, 'how far back inside before the event can come again; in the unit', low=0.0
    )
    period_ticks: int = option(1, 'sampling period in ticks', low=1, high=100_000)
    stale_s: float = option(2.0, 'a value older than this is stale; seconds', low=0.0)
    time_source: str = option(
        '', 'receive or header; empty: as the whole situation', choices=('', *TIME_SOURCES)
    )


@dataclass(frozen=True)
class EventConfig:
    """Where events come from, besides signals that cross a limit."""

    diagnostics_topic: str = option(
        '/diagnostics', 'diagnostic_msgs/DiagnosticArray; empty: not used'
    )
    diagnostics_exclude: tuple[str, ...] = option(
        ('thinking_',), 'diagnostic names that start with one of these raise no event'
    )
    topics: tuple[str, ...] = option(
        (), 'std_msgs/String topics whose text is the code of an event'
    )
    recent: int = option(16, 'E, how many recent events a situation holds', low=1, high=256)
    known: int = option(
        512, 'how many codes the table of last occurrences holds', low=1, high=100_000
    )


@dataclass(frozen=True)
class EpisodeConfig:
    """Where one stretch of experience ends and the next begins."""

    mission_topic: str = option(
        '', 'std_msgs/String topic; another text begins another episode; empty: not used'
    )
    idle_gap_s: float = option(
        60.0, 'so long without a usable value ends an episode; seconds', low=0.1
    )
    max_length_s: float = option(
        3600.0, 'an endless stream is cut at this length; seconds', low=1.0
    )


@dataclass(frozen=True)
class SituationConfig:
    """Everything that decides which tensors a stream of messages becomes."""

    tick_period_s: float = option(0.5, 'tick period in seconds', low=0.01, high=3600.0)
    window_length: int = option(10, 'T, samples per signal in the window', low=1, high=1000)
    time_source: str = option(
        'receive', 'which time orders messages: receive or header', choices=TIME_SOURCES
    )
    lateness_s: float = option(
        0.1, 'header time: a tick waits this long for late messages; seconds', low=0.0, high=60.0
    )
    clock_jump_s: float = option(
        10.0,
        'a forward step of the clock beyond this starts a new episode; seconds',
        low=0.1,
        high=3600.0,
    )
    signals: tuple[SignalConfig, ...] = ()
    events: EventConfig = EventConfig()
    episode: EpisodeConfig = EpisodeConfig()

    @property
    def tick_period_ns(self) -> int:
        """Tick period in nanoseconds."""
        return round(self.tick_period_s * 1e9)

    @property
    def names(self) -> tuple[str, ...]:
        """Signal names in window order."""
        return tuple(signal.name for signal in self.signals)


def nanoseconds(seconds: float) -> int:
    """Return a duration in nanoseconds; very long ones, `.inf` too, become 146 years."""
    return round(min(seconds * 1e9, 2.0**62))
