# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The bytes that are published each tick are the messages that rclpy reads from them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message

from thinking_policy.msg import Situation as SituationMessage
from thinking_policy.msg import ThinkingActivations
from thinking_policy.ros.conversions import event_message, situation_from_message
from thinking_policy.ros.wire_messages import ActivationsWriter, situation_bytes
from thinking_policy.situation import (
    Event,
    EventKind,
    Reading,
    Recalled,
    SignalState,
    Situation,
)

STAMPS = st.integers(0, 2**31 * 1_000_000_000 - 1)
TEXTS = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=12)
FLOAT32S = st.floats(width=32, allow_nan=False, allow_infinity=False)
EVENTS = st.builds(
    Event,
    stamp_ns=STAMPS,
    kind=st.sampled_from(EventKind),
    code=TEXTS,
    source=TEXTS,
    value=FLOAT32S,
)
SIGNALS = st.lists(TEXTS, min_size=1, max_size=4, unique=True)


@st.composite
def situations(draw):
    names = tuple(draw(SIGNALS))
    shape = (draw(st.integers(1, 4)), len(names))
    seed = np.random.default_rng(draw(st.integers(0, 2**32)))
    valid = seed.random(shape) < 0.7
    events = tuple(draw(st.lists(EVENTS, max_size=4)))
    return Situation(
        stamp_ns=draw(STAMPS),
        tick=draw(st.integers(0, 2**64 - 1)),
        episode=draw(TEXTS),
        period_s=draw(st.floats(0.01, 3600.0)),
        signals=names,
        window=(seed.normal(size=shape) * valid).astype(np.float32),
        valid=valid,
        readings=tuple(
            Reading(
                name, draw(st.sampled_from(SignalState)), draw(FLOAT32S), draw(st.floats(-1, 1e6))
            )
            for name in names
        ),
        new_events=(),
        events=events,
        recalled=tuple(
            Recalled(event, draw(st.integers(1, 2**32 - 1)))
            for event in draw(st.lists(EVENTS, max_size=3))
        ),
    )


@given(situations())
def test_a_situation_comes_back_from_its_bytes_as_it_was(situation):
    message = deserialize_message(situation_bytes(situation), SituationMessage)
    back = situation_from_message(message)
    assert back.window.tobytes() == situation.window.tobytes()
    assert np.array_equal(back.valid, situation.valid)
    assert (back.stamp_ns, back.tick, back.episode, back.period_s, back.signals) == (
        situation.stamp_ns,
        situation.tick,
        situation.episode,
        situation.period_s,
        situation.signals,
    )
    assert back.events == situation.events
    assert back.recalled == situation.recalled


@given(situations())
def test_a_situation_takes_the_bytes_that_rclpy_takes(situation):
    data = situation_bytes(situation)
    assert len(serialize_message(deserialize_message(data, SituationMessage))) == len(data)


def test_numbers_beyond_float32_become_nan():
    event = Event(0, EventKind.LIMIT, 'hot', 'temperature', 1e300)
    situation = plain_situation(events=(event,), readings=(reading(1e300),))
    message = deserialize_message(situation_bytes(situation), SituationMessage)
    assert math.isnan(message.events[0].value)
    assert math.isnan(event_message(event).value)
    writer = ActivationsWriter('v', ['a'], [0.5], ['temperature'], 3.0)
    message = activations(writer, situation, [0.25], [False])
    assert math.isnan(message.signals[0].value)


def test_activations_hold_what_was_said_and_nothing_of_the_tick_before():
    writer = ActivationsWriter('abc', ['first', 'second'], [0.5, 0.75], ['temperature'], 3.0)
    early = plain_situation(episode='one', readings=(reading(20.0),), tick=7)
    message = activations(writer, early, [0.25, 1.0], [False, True], novelty=4.5)
    assert message.policy_version == 'abc'
    assert message.episode == 'one'
    assert message.tick == 7
    assert [(a.id, a.probability, a.threshold, a.active) for a in message.activations] == [
        ('first', 0.25, 0.5, False),
        ('second', 1.0, 0.75, True),
    ]
    assert (message.novelty, message.novelty_threshold) == (4.5, 3.0)
    assert message.valid_fraction == 0.5
    assert message.inference_time == 0.125
    assert (message.signals[0].name, message.signals[0].value) == ('temperature', 20.0)
    assert (message.signals[0].state, message.signals[0].age) == (SignalState.OK, 0.25)

    silent = Reading('temperature', SignalState.NEVER, math.nan, -1.0)
    late = plain_situation(
        episode='a longer name', readings=(silent,), tick=8, stamp_ns=1_500_000_001
    )
    message = activations(writer, late, [0.0, 0.5], [False, False])
    assert message.episode == 'a longer name'
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_001)
    assert [a.active for a in message.activations] == [False, False]
    assert message.signals[0].state == SignalState.NEVER
    assert math.isnan(message.signals[0].value)
    assert message.signals[0].age == -1.0


@given(situations())
def test_activations_take_the_bytes_that_rclpy_takes(situation):
    writer = ActivationsWriter('v', ['one', 'two'], [0.5, 0.5], situation.signals, 3.0)
    data = activations_bytes(writer, situation, [0.1, 0.9], [False, True])
    message = deserialize_message(data, ThinkingActivations)
    assert len(serialize_message(message)) == len(data)
    assert [status.name for status in message.signals] == list(situation.signals)
    assert message.episode == situation.episode


def reading(value):
    return Reading('temperature', SignalState.OK, value, 0.25)


def plain_situation(**changes):
    values = {
        'stamp_ns': 1,
        'tick': 1,
        'episode': 'e',
        'period_s': 0.5,
        'signals': ('temperature',),
        'window': np.zeros((2, 1), np.float32),
        'valid': np.array([[True], [False]]),
        'readings': (reading(20.0),),
        'new_events': (),
        'events': (),
        'recalled': (),
    }
    return Situation(**{**values, **changes})


def activations_bytes(writer, situation, probability, active, novelty=0.0):
    return writer.write(
        situation,
        np.array(probability, np.float32),
        np.array(active),
        novelty=novelty,
        inference_time_s=0.125,
    )


def activations(*arguments, **named):
    return deserialize_message(activations_bytes(*arguments, **named), ThinkingActivations)
