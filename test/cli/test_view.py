# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The live view: what stands on the screen for a given moment and size."""

import dataclasses
import math

import pytest
from rich.console import Console

from thinking_policy.cli.picture import (
    INVALID,
    NEVER,
    OK,
    STALE,
    ActivityPicture,
    EventPicture,
    Picture,
    SignalPicture,
    Silence,
    duration,
    number,
)
from thinking_policy.cli.view import bar, render, render_silence, sparkline

NAN = math.nan
RAMP = tuple(index / 10 for index in range(10))
SIGNALS = (
    SignalPicture('temperature', OK, 63.21, 0.1, '°C', RAMP),
    SignalPicture('current', STALE, NAN, 12.0, 'A', (NAN,) * 5 + RAMP[:5]),
    SignalPicture('vibration', INVALID, NAN, 0.2, 'm/s²', (NAN,) * 10),
    SignalPicture('visibility', NEVER, NAN, -1.0, 'lux', (NAN,) * 10),
)
ACTIVITIES = (
    ActivityPicture('trend', 0.83, 0.5, True, 'Watch the trend', 'Say where it is going.'),
    ActivityPicture('hidden_dependency', 0.12, 0.6, False),
)
PICTURE = Picture(
    topic='/thinking/activations',
    stamp_s=1_796_058_000.0,
    tick=7,
    episode='robot-1',
    policy_version='3fab12004711',
    inference_time_s=6.2e-5,
    novelty=3.4,
    novelty_threshold=3.0,
    valid_fraction=0.86,
    silent_s=0.1,
    signals=SIGNALS,
    activities=ACTIVITIES,
    events=(EventPicture('temperature_high', 61.5, 40.0), EventPicture('docked', NAN, 2.0)),
    phase='wear, 4 of 90 s',
)


def screen(picture, width=80, height=24):
    console = Console(width=width, height=height, color_system=None)
    with console.capture() as capture:
        console.print(render(picture, width, height))
    return [line.rstrip() for line in capture.get().splitlines()]


def line_with(lines, word):
    return next(line for line in lines if word in line)


def test_a_signal_shows_state_value_unit_age_and_window():
    line = line_with(screen(PICTURE), 'temperature ')
    assert '● temperature' in line
    assert '63.2 °C' in line
    assert ' 0.1s ' in line
    assert '▁▁▂▃▄▅▅▆▇█'[:4] in line


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('current', '◌ current'),
        ('current', 'stale'),
        ('vibration', '✗ vibration'),
        ('vibration', 'invalid'),
        ('visibility', '○ visibility'),
        ('visibility', 'never'),
    ],
)
def test_a_signal_without_value_says_its_state_in_words(name, words):
    assert words in line_with(screen(PICTURE), f' {name} ')


def test_an_active_activity_is_marked_and_its_directive_said():
    lines = screen(PICTURE)
    assert any('▶ Watch the trend' in line and '0.83' in line for line in lines)
    assert any(line.startswith('▶ Watch the trend  Say where it is going.') for line in lines)


def test_an_activity_without_taxonomy_shows_its_id_in_words():
    line = line_with(screen(PICTURE), 'hidden dependency')
    assert '▶' not in line
    assert '0.12' in line


def test_nothing_active_is_said():
    calm = dataclasses.replace(PICTURE, activities=ACTIVITIES[1:])
    assert 'No thinking is called for.' in screen(calm)


def test_novelty_above_its_threshold_is_called_unusual():
    assert '3.40 of 3.00 unusual' in '\n'.join(screen(PICTURE))
    assert 'unusual' not in '\n'.join(screen(dataclasses.replace(PICTURE, novelty=2.9)))


def test_events_stand_newest_first_with_their_ages():
    line = line_with(screen(PICTURE), 'events')
    assert line == 'events  docked 2.0s ago · temperature_high 61.5 40s ago'


def test_a_silent_policy_is_said_instead_of_the_phase():
    head = screen(dataclasses.replace(PICTURE, silent_s=12.0))[0]
    assert 'silent for 12s' in head
    assert 'wear' in screen(PICTURE)[0]


@pytest.mark.parametrize(('width', 'height'), [(80, 24), (120, 40), (60, 40), (200, 50)])
def test_the_view_fits_the_terminal(width, height):
    many = dataclasses.replace(
        PICTURE,
        activities=tuple(
            ActivityPicture(f'a{index}', 0.9, 0.5, True, f'Activity {index}', 'Think hard. ' * 12)
            for index in range(10)
        ),
    )
    lines = screen(many, width, height)
    assert len(lines) <= height
    assert max(len(line) for line in lines) <= width
    assert all(any(f'Activity {index}' in line for line in lines) for index in range(10))


def test_directives_that_do_not_fit_are_named():
    many = dataclasses.replace(
        PICTURE,
        activities=tuple(
            ActivityPicture(f'a{index}', 0.9, 0.5, True, f'Activity {index}', 'Think.')
            for index in range(10)
        ),
    )
    lines = screen(many, 80, 20)
    assert len(lines) <= 20
    said = [line for line in lines if line.startswith('▶')]
    assert said[0] == '▶ Activity 0  Think.'
    assert 'Activity 4, Activity 5' in said[-1]


def test_a_long_name_does_not_push_the_window_away():
    long = dataclasses.replace(SIGNALS[0], name='temperature_of_the_left_rear_motor')
    lines = screen(dataclasses.replace(PICTURE, signals=(long,)))
    assert '…' in line_with(lines, '● temperatur')
    assert '63.2 °C' in line_with(lines, '● temperatur')


def test_sparkline_spans_the_nominal_range_and_marks_invalid_samples():
    assert sparkline((0.0, 0.49, 0.5, 0.99, 1.7, -0.3, NAN), 7).plain == '▁▄▅██▁·'
    assert sparkline(RAMP, 3).plain == '▆▇█'


@pytest.mark.parametrize(
    ('probability', 'threshold', 'expected'),
    [
        (0.0, 0.5, '─────┼────'),
        (0.42, 0.5, '━━━━─┼────'),
        (0.8, 0.5, '━━━━━╋━━──'),
        (1.0, 1.0, '━━━━━━━━━╋'),
    ],
)
def test_bar_shows_probability_and_where_the_threshold_is(probability, threshold, expected):
    assert bar(probability, threshold, False, 10).plain == expected


def said(silence):
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(render_silence(silence))
    return capture.get()


def test_silence_names_the_topic_and_what_to_do():
    text = said(Silence('/r1/thinking/activations', 4.0, '7', 0))
    assert 'Nothing heard yet on /r1/thinking/activations (4.0s, domain 7).' in text
    assert 'thinking-policy run' in text


def test_silence_points_to_the_namespace_where_a_policy_is():
    text = said(Silence('/thinking/activations', 4.0, '0', 0, ('/r2/thinking/activations',)))
    assert 'thinking-policy watch --namespace /r2' in text


def test_silence_of_a_node_that_is_there_asks_for_its_lifecycle():
    assert 'ros2 lifecycle get' in said(Silence('/thinking/activations', 4.0, '0', 1))


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        (63.21, '63.2'),
        (0.3531, '0.353'),
        (-4.2, '-4.20'),
        (233.062, '233'),
        (1013.25, '1013'),
        (0.0, '0.00'),
        (0.04, '0.040'),
        (12345678.0, '1.2e+07'),
        (0.00012, '1.2e-04'),
        (NAN, '–'),
        (math.inf, '–'),
    ],
)
def test_numbers_keep_three_digits(value, expected):
    assert number(value) == expected


@pytest.mark.parametrize(
    ('seconds', 'expected'),
    [
        (-1.0, '–'),
        (0.04, '0.0s'),
        (9.94, '9.9s'),
        (9.96, '10s'),
        (99.0, '99s'),
        (100.0, '2m'),
        (5969.0, '99m'),
        (6000.0, '2h'),
        (400000.0, '5d'),
        (NAN, '–'),
    ],
)
def test_ages_take_four_characters_at_most(seconds, expected):
    assert duration(seconds) == expected
