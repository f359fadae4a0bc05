# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Messages written by rosbags, which shares no code with what is tested here."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from thinking_policy.situation import (
    SituationTracker,
    configuration_from_mapping,
    message_type_from_fields,
)


class Messages:
    """Types and raw messages by name, from the ROS definitions or from .msg texts of a test."""

    def __init__(self, definitions=None):
        self.store = get_typestore(Stores.ROS2_JAZZY)
        for name, text in (definitions or {}).items():
            self.store.register(get_types_from_msg(text, name))

    def type(self, name):
        return message_type_from_fields(name, self.fields)

    def fields(self, name):
        return {field: spelled(kind) for field, kind in self.store.fielddefs[name][1]}

    def raw(self, name, little_endian=True, /, **values):
        message = self.filled((Nodetype.NAME, name), values)
        return bytes(self.store.serialize_cdr(message, name, little_endian=little_endian))

    def filled(self, kind, value):
        """Return what rosbags wants for plain values; what is not given is zero or empty."""
        node, what = kind
        if node == Nodetype.NAME:
            fields = self.store.fielddefs[what][1]
            given = value or {}
            assert set(given) <= {field for field, _ in fields}, given
            return self.store.types[what](
                **{field: self.filled(inner, given.get(field)) for field, inner in fields}
            )
        if node == Nodetype.BASE:
            return value if value is not None else '' if what[0] == 'string' else 0
        item, length = what
        if item[0] == Nodetype.BASE and item[1][0] != 'string':
            empty = length if node == Nodetype.ARRAY else 0
            return np.array([0] * empty if value is None else value, np.dtype(item[1][0]))
        if value is None:
            value = [None] * (length if node == Nodetype.ARRAY else 0)
        return [self.filled(item, entry) for entry in value]


def spelled(kind):
    node, what = kind
    if node == Nodetype.BASE:
        return what[0]
    if node == Nodetype.NAME:
        return what
    item, length = what
    return f'{spelled(item)}[{length if node == Nodetype.ARRAY else ""}]'


@pytest.fixture(scope='session')
def messages():
    return Messages()


@pytest.fixture(scope='session')
def messages_with():
    return Messages


SECOND = 1_000_000_000
TEMPERATURE = 'sensor_msgs/msg/Temperature'


class Robot:
    """A tracker of one temperature (and what a test adds), fed in seconds, ticks of 1 s."""

    def __init__(self, messages, signals=None, bind=True, recalled=None, **settings):
        plain = {'topic': '/t', 'type': TEMPERATURE, 'field': 'temperature', 'nominal_high': 100}
        signals = {'t': {}} if signals is None else signals
        self.config = configuration_from_mapping(
            {
                'tick_period_s': 1.0,
                'window_length': 4,
                'signal_names': list(signals),
                'signals': {name: {**plain, **changes} for name, changes in signals.items()},
                **settings,
            },
            'test',
        )
        self.messages = messages
        self.tracker = SituationTracker(self.config, robot_id='r', recalled=recalled)
        self.types = {request.topic: request.type for request in self.tracker.requests}
        if bind:
            for topic, kind in self.types.items():
                self.tracker.bind(topic, messages.type(kind))

    def send(self, at, value=None, topic='/t', header=None, **fields):
        """Have a message received at `at` seconds; `header` is its own stamp in seconds."""
        kind = self.types[topic]
        if header is not None:
            sec, nanosec = divmod(round(header * SECOND), SECOND)
            fields['header'] = {'stamp': {'sec': sec, 'nanosec': nanosec}}
        if value is not None:
            fields['data' if kind == 'std_msgs/msg/String' else 'temperature'] = value
        self.tracker.receive(topic, self.messages.raw(kind, **fields), round(at * SECOND))

    def advance(self, now):
        return self.tracker.advance(round(now * SECOND))

    def counts(self, topic='/t'):
        """Return what is not 0 of a topic's counts, having checked that they add up."""
        counts = dataclasses.asdict(self.tracker.counters.topics[topic])
        parts = {name: counts[name] for name in counts if name not in ('received', 'unstamped')}
        assert counts['received'] == sum(parts.values()), counts
        assert min(counts.values()) >= 0
        return {name: count for name, count in counts.items() if count}


@pytest.fixture
def robot(messages):
    return functools.partial(Robot, messages)
