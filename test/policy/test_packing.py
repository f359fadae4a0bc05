# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""How a situation becomes tensors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thinking_policy.policy.packing import Packer, input_specs, pack_signals
from thinking_policy.situation import Event, EventKind, Recalled

NOW_S = 10


def event(code, age_s):
    return Event(round((NOW_S - age_s) * 1e9), EventKind.TOPIC, code, 'topic', float('nan'))


def test_window_stands_before_validity(make_situation):
    packer = Packer(2, 2, 0, ())
    packer.fill(make_situation([[1, 2], [3, 4]], valid=[[1, 0], [1, 1]]))
    assert packer.buffers['signals'].tolist() == [[1, 0, 3, 4, 1, 0, 1, 1]]


def test_an_empty_vocabulary_has_no_input_for_events():
    assert [s.name for s in input_specs(10, 7, 16, 0)] == ['signals']
    assert list(Packer(10, 7, 16, ()).buffers) == ['signals']


def test_inputs_are_allocated_once(make_situation):
    packer = Packer(2, 2, 3, ('a',))
    addresses = {name: buffer.ctypes.data for name, buffer in packer.buffers.items()}
    packer.fill(make_situation([[1, 2], [3, 4]], events=(event('a', 1),)))
    packer.clear()
    assert {n: b.ctypes.data for n, b in packer.buffers.items()} == addresses


def test_recent_events_newest_last_and_only_of_known_codes(make_situation):
    packer = Packer(2, 2, 3, ('a', 'b'))
    packer.fill(
        make_situation([[0, 0], [0, 0]], events=(event('b', 4), event('x', 3), event('a', 1.5)))
    )
    assert packer.buffers['event_code'].tolist() == [[0, 2, 1]]
    assert packer.buffers['event_age'].tolist() == [[-1, 4, 1.5]]


def test_more_events_than_slots_keep_the_newest(make_situation):
    packer = Packer(2, 2, 2, ('a', 'b', 'c'))
    packer.fill(
        make_situation([[0, 0], [0, 0]], events=(event('a', 3), event('b', 2), event('c', 1)))
    )
    assert packer.buffers['event_code'].tolist() == [[2, 3]]


def test_what_happened_long_ago_is_not_forgotten(make_situation):
    packer = Packer(2, 2, 2, ('a', 'b', 'c'))
    packer.fill(
        make_situation(
            [[0, 0], [0, 0]],
            events=(event('b', 3), event('b', 2)),
            recalled=(Recalled(event('a', 7200), 5), Recalled(event('x', 1), 9)),
        )
    )
    assert packer.buffers['code_age'].tolist() == [[7200, 2, -1]]
    assert packer.buffers['code_count'].tolist() == [[5, 2, 0]]


def test_an_event_after_the_ticks_end_is_of_now(make_situation):
    packer = Packer(2, 2, 1, ('a',))
    packer.fill(make_situation([[0, 0], [0, 0]], events=(event('a', -0.2),)))
    assert packer.buffers['event_age'].tolist() == [[0]]


def test_nothing_of_the_last_situation_remains(make_situation):
    packer = Packer(2, 2, 2, ('a', 'b'))
    packer.fill(make_situation([[1, 1], [1, 1]], events=(event('a', 1), event('b', 1))))
    packer.fill(make_situation([[0, 0], [0, 0]], valid=np.zeros((2, 2))))
    assert packer.buffers['signals'].tolist() == [[0] * 8]
    assert packer.buffers['event_code'].tolist() == [[0, 0]]
    assert packer.buffers['event_age'].tolist() == [[-1, -1]]
    assert packer.buffers['code_age'].tolist() == [[-1, -1]]
    assert packer.buffers['code_count'].tolist() == [[0, 0]]


def test_signals_of_another_shape_are_refused(make_situation):
    with pytest.raises(ValueError, match='broadcast'):
        Packer(3, 2, 0, ()).fill(make_situation([[1, 2], [3, 4]]))


@given(
    window=hnp.arrays(np.float32, (4, 3, 2), elements=st.floats(-10, 10, width=32)),
    valid=hnp.arrays(np.bool_, (4, 3, 2)),
)
def test_training_packs_as_the_robot_does(window, valid):
    packed = pack_signals(window, valid)
    packer = Packer(3, 2, 0, ())
    for row in range(4):
        packer.halves[0] = np.where(valid[row], window[row], 0)
        packer.halves[1] = valid[row]
        assert np.array_equal(packed[row], packer.buffers['signals'][0])
