# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_records import amendment, experience, observation, situation

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.experience.record import (
    MAX_LINE,
    Activation,
    Amendment,
    Experience,
    Observation,
    checked,
    from_line,
    stored,
    time_ordered_id,
    to_line,
)
from thinking_policy.situation import Event, EventKind, Reading, Recalled, SignalState, Situation

NANOSECONDS = st.integers(0, 2**63 - 1)
TEXTS = st.text(max_size=20)
NUMBERS = st.floats(allow_infinity=False)
EVENTS = st.builds(Event, NANOSECONDS, st.sampled_from(EventKind), TEXTS, TEXTS, NUMBERS)
READINGS = st.one_of(
    st.builds(
        Reading, st.just(''), st.just(SignalState.OK), st.floats(-1e300, 1e300), st.just(0.5)
    ),
    st.builds(
        Reading,
        st.just(''),
        st.sampled_from([SignalState.STALE, SignalState.INVALID, SignalState.NEVER]),
        st.just(math.nan),
        st.floats(-1, 1e9),
    ),
)


@st.composite
def situations(draw):
    signals = draw(st.lists(TEXTS, max_size=5, unique=True))
    shape = (draw(st.integers(0, 6)), len(signals))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    window = random.uniform(-10, 10, shape).astype(np.float32)
    events = draw(st.lists(EVENTS, max_size=6))
    readings = [dataclasses.replace(draw(READINGS), name=name) for name in signals]
    return Situation(
        stamp_ns=draw(NANOSECONDS),
        tick=draw(st.integers(0, 2**64 - 1)),
        episode=draw(TEXTS),
        period_s=draw(st.floats(1e-3, 1e3)),
        signals=tuple(signals),
        window=window,
        valid=random.random(shape) > 0.3,
        readings=tuple(readings) if draw(st.booleans()) else (),
        new_events=tuple(events[len(events) - draw(st.integers(0, len(events))) :]),
        events=tuple(events),
        recalled=tuple(
            Recalled(one, draw(st.integers(1, 2**32 - 1)))
            for one in draw(st.lists(EVENTS, max_size=4))
        ),
    )


def plain(value):
    """Return a situation as what compares equal where it is the same, NaN included."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if dataclasses.is_dataclass(value):
        return type(value), [plain(getattr(value, f.name)) for f in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return 'NaN' if isinstance(value, float) and math.isnan(value) else value


@settings(max_examples=150, deadline=None)
@given(situations())
@example(situation(3))
def test_any_situation_comes_back_as_it_was(seen):
    record = experience().model_copy(update={'situation': stored(seen)})
    again = from_line(to_line(record))
    assert plain(again.situation.situation()) == plain(seen)
    assert again == record
    assert to_line(again) == to_line(record)


@settings(max_examples=100, deadline=None)
@given(
    st.builds(
        Observation,
        kind=st.sampled_from(['action', 'trace', 'outcome', 'feedback']),
        stamp_ns=NANOSECONDS,
        code=TEXTS,
        reward=st.none() | st.floats(-1, 1),
        expected=st.lists(TEXTS, max_size=3).map(tuple),
        verified=st.booleans(),
        source=TEXTS,
        text=st.text(),
    ),
    st.integers(1, 2**63 - 1),
)
def test_any_amendment_comes_back_as_one_line(told, revision):
    record = Amendment(id=experience().id, robot='r', revision=revision, observation=told)
    line = to_line(record)
    assert b'\n' not in line
    assert from_line(line) == record


def changed(path, value, record=None):
    """Return a line in which one field has another value."""
    whole = json.loads(to_line(record or experience()))
    place = whole
    *way, last = path.split('.')
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    place[last] = value
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ('path', 'value', 'said'),
    [
        ('id', '0197a3f0-5b8c-4d3e-9f10-2b6f0c1d2e3f', 'id: String should match pattern'),
        ('robot', None, 'robot: Input should be a valid string, found None'),
        ('robot', 7, 'robot: Input should be a valid string, found 7'),
        ('robot', 'r' * 257, 'robot: String should have at most 256'),
        ('situation.tick', '5', "situation.tick: Input should be a valid integer, found '5'"),
        ('situation.tick', -1, 'situation.tick: '),
        ('situation.stamp_ns', 2**63, 'situation.stamp_ns: '),
        ('situation.window', 'AAAA', 'situation: window: expected 48 bytes for 4 samples of 3'),
        ('situation.window', 'A?==', "situation: window: expected base64, found 'A?=='"),
        ('situation.valid', '', 'situation: valid: expected 2 bytes'),
        ('situation.new', 1, 'situation: new: expected at most 0'),
        ('situation.readings', [], None),
        ('situation.readings.0.state', 'FINE', 'situation.readings.0.state: '),
        ('activations.0.probability', 'high', 'activations.0.probability: '),
        ('reasons', [], 'reasons: '),
        ('reasons', ['mood'], 'reasons.0: '),
        ('kind', 'tale', "Input tag 'tale' found using 'kind'"),
        ('more', 1, 'more: Extra inputs are not permitted, found 1'),
        ('novelty', math.nan, 'novelty: Input should be a finite number'),
        ('novelty', math.inf, 'novelty: Input should be a finite number'),
    ],
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_field(path, value, said):
    if said is None:
        from_line(changed(path, value))
        return
    with pytest.raises(ExperienceError) as caught:
        from_line(changed(path, value), 'line 3')
    assert str(caught.value).startswith(f'line 3: {said}')
    assert caught.value.code == 'invalid'


def test_a_window_that_holds_nan_is_refused():
    seen = situation()
    seen.window[1, 1] = np.nan
    with pytest.raises(ExperienceError, match='situation: window: expected finite numbers'):
        stored(seen)


def test_a_line_of_another_schema_says_so_before_all_that_is_wrong_with_it():
    whole = json.loads(changed('schema_version', 2)) | {'mood': 'new in 2'}
    with pytest.raises(
        ExperienceError, match='schema_version: Input should be 1, found 2'
    ) as caught:
        from_line(json.dumps(whole).encode())
    assert caught.value.code == 'schema'


def test_a_line_that_is_too_long_is_refused_unread():
    with pytest.raises(ExperienceError, match='expected at most 4,194,304 bytes') as caught:
        from_line(b'[' * (MAX_LINE + 1))
    assert caught.value.code == 'too_large'


@pytest.mark.parametrize(
    'line',
    [b'', b'{', b'[]', b'null', b'\xff\xfe', b'[' * 100_000, b'{"kind": "amendment"}', b'7'],
)
def test_what_is_no_record_is_refused(line):
    with pytest.raises(ExperienceError):
        from_line(line)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=6), st.integers(0, 10_000))
def test_a_damaged_line_is_a_record_or_an_error(junk, where):
    line = to_line(experience(labelled=True, text='it broke'))
    at = where % len(line)
    try:
        record = from_line(line[:at] + junk + line[at + len(junk) :])
    except ExperienceError:
        return
    assert isinstance(record, Experience)
    record.situation.situation()


def test_values_from_outside_are_checked_with_their_place():
    with pytest.raises(ExperienceError, match=r'/outcome: reward: .* found 3'):
        checked(Observation, '/outcome', kind='outcome', stamp_ns=1, reward=3)
    with pytest.raises(ExperienceError, match='/outcome: text: '):
        checked(Observation, '/outcome', kind='outcome', stamp_ns=1, text='\ud800')


def test_whoever_knows_an_outcome_can_learn_from_it():
    assert experience(labelled=True).labelled
    assert not experience(text='thought').labelled
    assert amendment(experience(), kind='feedback').labelled
    assert not amendment(experience(), kind='action').labelled
    active = Activation(id='cause', probability=1, threshold=0.5, active=True)
    assert experience().model_copy(update={'activations': (active,)}).active == ('cause',)
    assert observation().reward is None


@settings(max_examples=200)
@given(
    st.integers(0, 2**47 * 10**6),
    st.integers(250, 10**15),
    st.binary(min_size=10, max_size=10),
    st.binary(min_size=10, max_size=10),
)
def test_ids_sort_by_their_time(stamp_ns, later_ns, first, second):
    before, after = time_ordered_id(stamp_ns, first), time_ordered_id(stamp_ns + later_ns, second)
    assert before < after
    assert int(before.replace('-', '')[:12], 16) == stamp_ns // 10**6
    for one in (before, after):
        Amendment(id=one, robot='', revision=1, observation=observation())


def test_an_id_is_uuid_version_7():
    import uuid

    one = uuid.UUID(time_ordered_id(1_766_000_000_123_456_789, bytes(range(10))))
    assert (one.version, one.variant) == (7, uuid.RFC_4122)


@pytest.mark.parametrize(
    ('inside', 'said'),
    [
        (
            b','.join(b'"k%06d":1' % number for number in range(340_000)),
            "expected at most 64 names in an object, found 340,001, such as 'kind'",
        ),
        (
            b'"situation":{"events":[' + b','.join([b'{"a":1,"b":2,"c":3}'] * 190_000) + b']}',
            "'events': expected at most 10,000 items, found 190,000",
        ),
    ],
)
def test_a_crowded_line_costs_little(inside, said):
    line = b'{"kind":"experience",' + inside + b'}'
    code = (
        'import resource, sys\n'
        'from thinking_policy.experience.record import from_line\n'
        'line = sys.stdin.buffer.read()\n'
        'before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n'
        'try:\n    from_line(line)\nexcept Exception as error:\n    print(error)\n'
        'print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], input=line, capture_output=True, check=True, timeout=60
    )
    error, more_mb = done.stdout.decode().splitlines()
    assert error == f'record: {said}'
    assert int(more_mb) < 200
