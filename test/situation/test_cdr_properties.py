# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Generated types and messages, written by rosbags and read back, and bytes from nowhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from thinking_policy.situation.cdr import compile_decoder, compile_reader, decode, stamp_reader
from thinking_policy.situation.field_paths import numeric_paths
from thinking_policy.situation.message_types import Array, MessageType, Primitive, Sequence, Text

REDUCTIONS = ('norm', 'mean', 'min', 'max', 'rms', 'std', 'range_min', 'invalid_fraction', 'count')
INTEGERS = {
    f'{sign}int{bits}': st.integers(
        0 if sign else -(2 ** (bits - 1)), 2 ** (bits if sign else bits - 1) - 1
    )
    for bits in (8, 16, 32, 64)
    for sign in ('', 'u')
}
NUMBERS = {
    **INTEGERS,
    'bool': st.booleans(),
    'float32': st.floats(width=32),
    'float64': st.floats(),
}
TEXTS = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=9)
quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def structs(draw, depth=2):
    """A struct as [(spelling, brackets, inner struct or None)]."""
    fields = []
    for _ in range(draw(st.integers(1, 5))):
        kinds = [*NUMBERS, 'string', *(['struct'] if depth else [])]
        kind = draw(st.sampled_from(kinds))
        brackets = draw(st.sampled_from(['', '', '[]', '[3]', '[<=4]']))
        inner = draw(structs(depth - 1)) if kind == 'struct' else None
        fields.append((kind, brackets, inner))
    return fields


def definitions(fields, name='gen/msg/Root'):
    """Write .msg texts, innermost first."""
    texts = {}
    lines = []
    for index, (kind, brackets, inner) in enumerate(fields):
        if inner is not None:
            kind = f'{name}{index}'
            texts.update(definitions(inner, kind))
        lines.append(f'{kind}{brackets} f{index}')
    return {**texts, name: '\n'.join(lines)}


@st.composite
def values(draw, fields):
    """Plain values for a struct."""
    message = {}
    for index, (kind, brackets, inner) in enumerate(fields):
        item = values(inner) if inner is not None else TEXTS if kind == 'string' else NUMBERS[kind]
        if brackets:
            size = {'min_size': 3, 'max_size': 3} if brackets == '[3]' else {'max_size': 4}
            item = st.lists(item, **size)
        message[f'f{index}'] = draw(item)
    return message


@st.composite
def cases(draw):
    fields = draw(structs())
    return definitions(fields), draw(st.lists(values(fields), min_size=1, max_size=4))


def plain(value):
    """Return a decoded value with lists in place of arrays and integers in place of bools."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, np.ndarray)):
        return [plain(inner) for inner in (value.tolist() if hasattr(value, 'tolist') else value)]
    return int(value) if isinstance(value, bool) else value


def at(message, path):
    """Return the numbers at the end of a path, None where an entry is missing."""
    for step in path.split('.'):
        name, _, index = step.rstrip(']').partition('[')
        message = message[name]
        if index:
            if int(index) >= len(message):
                return None
            message = message[int(index)]
    if isinstance(message, dict):
        message = list(message.values())
    return [float(number) for number in (message if isinstance(message, list) else [message])]


@quick
@given(cases(), st.booleans())
def test_a_message_decodes_to_what_was_written(messages_with, case, little_endian):
    texts, contents = case
    messages = messages_with(texts)
    kind = messages.type('gen/msg/Root')
    for content in contents:
        raw = messages.raw('gen/msg/Root', little_endian, **content)
        assert repr(plain(decode(kind, raw))) == repr(plain(content))


@quick
@given(cases(), st.lists(st.booleans(), min_size=8, max_size=8), st.sampled_from(REDUCTIONS))
def test_every_path_reads_what_a_full_decode_holds(messages_with, case, orders, reduction):
    texts, contents = case
    messages = messages_with(texts)
    kind = messages.type('gen/msg/Root')
    raws = [
        messages.raw('gen/msg/Root', order, **content)
        for content, order in zip(contents * 2, orders, strict=False)
    ]
    for path in numeric_paths(kind):
        expected = [at(content, path) for content in contents * 2]
        found, broken = compile_reader(kind, path, reduction).read(raws)
        assert not broken.any()
        assert not np.isinf(found).any()
        for number, numbers in zip(found, expected, strict=False):
            assert number == pytest.approx(reduced(reduction, numbers), nan_ok=True), path


def reduced(reduction, numbers):
    """Say in plain Python what `reductions` does; nothing here has a sensor's range."""
    if numbers is None:
        return math.nan
    if reduction == 'count':
        return len(numbers)
    if not numbers:
        return math.nan
    if reduction == 'invalid_fraction':
        return sum(not math.isfinite(number) for number in numbers) / len(numbers)
    if reduction == 'range_min':
        usable = [0.0 if n == -math.inf else n for n in numbers if n >= 0.0 or n == -math.inf]
        least = min(usable, default=math.nan)
        return math.nan if least == math.inf else least
    if reduction == 'norm':
        return finite(math.sqrt(sum_of(n * n for n in numbers)))
    usable = [number for number in numbers if math.isfinite(number)]
    if reduction in ('min', 'max'):
        return {'min': min, 'max': max}[reduction](usable, default=math.nan)
    if not usable:
        return math.nan
    mean = sum_of(usable) / len(usable)
    if reduction == 'mean':
        return finite(mean)
    away = [n - mean for n in usable] if reduction == 'std' else usable
    squares = [n * n for n in away if math.isfinite(n * n)]
    return finite(math.sqrt(sum_of(squares) / len(squares))) if squares else math.nan


def sum_of(numbers):
    return float(np.sum(np.fromiter(numbers, float)))


def finite(number):
    return number if math.isfinite(number) else math.nan


@quick
@given(
    names=st.lists(
        st.lists(st.sampled_from(['a', 'bc', 'wrist', 'elbow', '']), max_size=4), max_size=6
    ),
    gap=st.lists(st.integers(0, 3), min_size=6, max_size=6),
)
def test_names_find_their_entries_whatever_stands_between(messages, names, gap):
    reader = compile_reader(messages.type('sensor_msgs/msg/JointState'), 'effort[elbow]')
    raws, expected = [], []
    for entry, between in zip(names, gap, strict=False):
        effort = [float(10 * len(raws) + i) for i in range(len(entry))]
        raws.append(
            messages.raw(
                'sensor_msgs/msg/JointState', name=entry, position=[0.0] * between, effort=effort
            )
        )
        expected.append(effort[entry.index('elbow')] if 'elbow' in entry else math.nan)
    found, broken = reader.read(raws)
    assert not broken.any()
    assert found.tolist() == pytest.approx(expected, nan_ok=True)


HOSTILE = (
    'sensor_msgs/msg/JointState',
    'sensor_msgs/msg/LaserScan',
    'diagnostic_msgs/msg/DiagnosticArray',
    'visualization_msgs/msg/MarkerArray',
)


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(HOSTILE),
    raws=st.lists(
        st.one_of(
            st.binary(max_size=120),
            st.binary(max_size=120).map(lambda tail: b'\0\1\0\0' + tail),
            st.binary(max_size=120).map(lambda tail: b'\0\0\0\0' + tail),
        ),
        max_size=4,
    ),
)
@example(name=HOSTILE[0], raws=[b'\0\1\0\0' + b'\0' * 8 + b'\xff' * 60])
@example(name=HOSTILE[3], raws=[b'\0\1\0\0' + b'\xff' * 60, b'\0\1\0\0' + b'\0' * 60])
def test_bytes_from_nowhere_never_raise(messages, name, raws):
    kind = messages.type(name)
    for raw in raws:
        assert decode(kind, raw) is None or isinstance(decode(kind, raw), dict)
    paths = {'sensor_msgs/msg/JointState': 'effort[elbow]'}
    for path in [*numeric_paths(kind)[:8], *filter(None, [paths.get(name)])]:
        found, broken = compile_reader(kind, path, 'mean').read(raws)
        assert len(found) == len(broken) == len(raws)
        assert np.isnan(found[broken]).all()
        assert not np.isinf(found).any()
    reader = stamp_reader(kind)
    if reader is not None:
        assert (reader.read(raws) >= 0).all()


@quick
@given(case=cases(), data=st.data())
def test_a_damaged_message_is_read_or_marked_but_never_raises(messages_with, case, data):
    """Whatever a reader makes of it, it makes the same of it alone and in company."""
    texts, contents = case
    messages = messages_with(texts)
    kind = messages.type('gen/msg/Root')
    raw = bytearray(messages.raw('gen/msg/Root', **contents[0]))
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    company = [messages.raw('gen/msg/Root', **content) for content in contents]
    decode(kind, damaged)
    compile_decoder(kind, only=('f0', 'f1.f0'))(damaged)
    for path in numeric_paths(kind):
        alone = compile_reader(kind, path, 'max').read([damaged])
        together = compile_reader(kind, path, 'max').read([*company, damaged, *company])
        assert alone[1][0] == together[1][len(company)]
        assert repr(alone[0][0]) == repr(together[0][len(company)])
        assert not together[1][: len(company)].any()


def test_the_generator_makes_all_kinds_of_fields(messages_with):
    """Else the tests above would show little."""
    seen = set()

    def collect(kind):
        seen.add(type(kind))
        if isinstance(kind, MessageType):
            for field in kind.fields:
                collect(field.type)
        elif isinstance(kind, (Array, Sequence)):
            collect(kind.item)

    @settings(max_examples=100, deadline=None, database=None, derandomize=True)
    @given(cases())
    def generate(case):
        collect(messages_with(case[0]).type('gen/msg/Root'))

    generate()
    assert seen == {Primitive, Text, Array, Sequence, MessageType}
