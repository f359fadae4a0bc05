# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Learning sets on disk, and events as the robot would pack them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import struct

import numpy as np
import pytest

from thinking_policy.policy.packing import Packer
from thinking_policy.situation import (
    SituationTracker,
    configuration_from_mapping,
    message_type_from_fields,
)
from thinking_policy.training.errors import LearningError
from thinking_policy.training.event_rows import EventStream, event_rows
from thinking_policy.training.learning_files import (
    exported_codes,
    load_learning_set,
    newest_stamp_ns,
    save_learning_set,
)
from thinking_policy.training.learning_set import EventRows

SECOND = 1_000_000_000
CONFIGURATION = {
    'tick_period_s': 0.5,
    'window_length': 4,
    'signal_names': ['heat'],
    'signals': {
        'heat': {
            'topic': '/heat',
            'type': 'std_msgs/msg/Float64',
            'field': 'data',
            'unit': 'degC',
            'nominal_low': 20.0,
            'nominal_high': 60.0,
            'limit_high': 50.0,
        }
    },
    'events': {'topics': ['/said'], 'diagnostics_topic': '', 'recent': 3, 'known': 5},
    'episode': {'max_length_s': 20.0},
}


def situations():
    """Return situations of a robot that is hot now and then and hears many words."""
    config = configuration_from_mapping(CONFIGURATION, 'test')
    tracker = SituationTracker(config)
    tracker.bind('/heat', message_type_from_fields('std_msgs/msg/Float64', lambda n: _FIELDS[n]))
    tracker.bind('/said', message_type_from_fields('std_msgs/msg/String', lambda n: _FIELDS[n]))
    random = np.random.default_rng(5)
    made = []
    for step in range(400):
        now = 1000 * SECOND + step * SECOND // 5
        tracker.receive('/heat', b'\0\1\0\0' + struct.pack('<d', random.uniform(20, 60)), now)
        if random.random() < 0.3:
            text = random.choice(['bump', 'slip', 'dust', 'door', 'call', 'fog']).encode()
            raw = b'\0\1\0\0' + struct.pack('<I', len(text) + 1) + text + b'\0'
            tracker.receive('/said', raw, now - SECOND // 20)
        made += tracker.advance(now)
    return config, made


_FIELDS = {
    'std_msgs/msg/Float64': {'data': 'float64'},
    'std_msgs/msg/String': {'data': 'string'},
}


@pytest.fixture
def exported(tmp_path):
    """Return the path of exported situations with labels, and the situations."""
    return export(tmp_path)


def export(folder, stride=1):
    from thinking_policy.bags.export import SituationArrays

    config, made = situations()
    collected = SituationArrays(config, stride)
    for situation in made:
        collected.add(situation)
    arrays = collected.arrays()
    hot = arrays['window'][:, -1, 0] > 0.5
    path = folder / 'walk.npz'
    np.savez(
        path,
        **arrays,
        labels=np.column_stack((hot, ~hot)),
        activities=np.array(['hazard', 'trend']),
        meta=json.dumps({'configuration': dataclasses.asdict(config)}),
    )
    return path, made


def changed(path, **arrays):
    with np.load(path) as file:
        content = {name: file[name] for name in file.files}
    content.update(arrays)
    other = path.with_name('changed.npz')
    np.savez(other, **{name: array for name, array in content.items() if array is not None})
    return other


def test_exported_situations_become_a_learning_set(exported):
    path, made = exported
    learning = load_learning_set(path)
    assert len(learning) == len(made) > 150
    assert np.array_equal(learning.window, [s.window for s in made])
    assert np.array_equal(learning.valid, [s.valid for s in made])
    assert learning.activities == ('hazard', 'trend')
    (signal,) = learning.signals
    assert (signal.name, signal.unit, signal.nominal_high, signal.period_s) == (
        'heat',
        'degC',
        60.0,
        0.5,
    )
    assert learning.tick_period_s == 0.5
    names = [s.episode for s in made]
    assert len(set(learning.episode.tolist())) == len(set(names)) == 4
    assert [a == b for a, b in itertools.pairwise(names)] == [
        a == b for a, b in itertools.pairwise(learning.episode)
    ]


@pytest.mark.parametrize('slots', [2, 3, 6])
def test_events_are_packed_as_on_the_robot_to_the_bit(exported, slots):
    path, made = exported
    vocabulary = ('slip', 'heat_high', 'fog', 'never')
    learning = load_learning_set(path, vocabulary=vocabulary, recent_events=slots)
    packer = Packer(4, 1, slots, vocabulary)
    packed = learning.packed()
    for row, situation in enumerate(made):
        packer.fill(situation)
        for array, name in zip(packed, packer.buffers, strict=True):
            assert np.array_equal(array[row : row + 1], packer.buffers[name]), (row, name)
    assert (learning.events.code > 0).any()
    assert (learning.events.code_count > 1).any()
    assert learning.events.code_age[:, 3].tolist() == [-1] * len(made)


def test_events_of_left_out_ticks_belong_to_the_next_row():
    stream = EventStream(
        np.array([10, 20]) * SECOND,
        np.zeros(2, np.int64),
        np.array([0, 1, 1, 2]),
        np.array([9, 14, 18, 25]),
        np.zeros(4, np.bool_),
        np.array([9, 14, 18, 25]) * SECOND,
        np.array(['a', 'b', 'a', 'a']),
        recent=16,
        known=16,
    )
    rows = event_rows(stream, ('a', 'b'), 3)
    assert rows.code.tolist() == [[0, 0, 1], [1, 2, 1]]
    assert rows.age.tolist() == [[-1, -1, 1], [11, 6, 2]]
    assert rows.code_count.tolist() == [[1, 0], [2, 1]]


def test_events_of_an_episode_that_ended_in_left_out_ticks_are_only_recalled():
    stream = EventStream(
        np.array([10, 20]) * SECOND,
        np.array([0, 1]),
        np.array([0, 1, 1]),
        np.array([9, 14, 18]),
        np.array([False, True, False]),
        np.array([9, 14, 18]) * SECOND,
        np.array(['a', 'b', 'a']),
        recent=16,
        known=16,
    )
    rows = event_rows(stream, ('a', 'b'), 3)
    assert rows.code.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert rows.code_age.tolist() == [[1, -1], [2, 6]]
    assert rows.code_count.tolist() == [[1, 0], [1, 1]]


def test_a_stride_leaves_the_events_of_the_rows_that_stay_alone(tmp_path):
    path, made = export(tmp_path, stride=3)
    vocabulary = ('slip', 'heat_high', 'fog', 'never')
    learning = load_learning_set(path, vocabulary=vocabulary, recent_events=4)
    packer = Packer(4, 1, 4, vocabulary)
    packed = learning.packed()
    kept = [situation for situation in made if situation.tick % 3 == 0]
    assert len(kept) == len(learning.episode)
    for row, situation in enumerate(kept):
        packer.fill(situation)
        for array, name in zip(packed, packer.buffers, strict=True):
            assert np.array_equal(array[row : row + 1], packer.buffers[name]), (row, name)
    with np.load(path) as file:
        own = np.append(file['episode'], '')[file['event_row']]
        assert (own != file['event_episode']).any()


def test_what_is_saved_is_what_is_loaded(tmp_path, make_learning_set):
    random = np.random.default_rng(0)
    valid = random.random((6, 3, 2)) < 0.7
    events = EventRows(
        ('a', 'b'),
        random.integers(0, 3, (6, 4)),
        random.random((6, 4), np.float32),
        random.random((6, 2), np.float32),
        random.random((6, 2), np.float32),
    )
    learning = make_learning_set(
        np.where(valid, random.random((6, 3, 2)), 0),
        random.random((6, 2)),
        valid=valid,
        weight=random.random((6, 2), np.float32),
        episode=[0, 0, 1, 1, 2, 2],
        events=events,
    )
    save_learning_set(tmp_path / 'a.npz', learning)
    save_learning_set(tmp_path / 'b.npz', learning)
    assert (tmp_path / 'a.npz').read_bytes() == (tmp_path / 'b.npz').read_bytes()
    found = load_learning_set(tmp_path / 'a.npz')
    assert found.sha256 == learning.sha256
    assert found.signals == learning.signals


def test_a_folder_is_one_set_of_more_episodes(exported):
    path, made = exported
    path.rename(path.with_name('b.npz'))
    changed(path.with_name('b.npz')).rename(path.with_name('a.npz'))
    learning = load_learning_set(path.parent)
    assert len(learning) == 2 * len(made)
    assert len(set(learning.episode.tolist())) == 8


def test_a_folder_of_differing_signals_names_the_file(exported):
    path, _ = exported
    meta = json.loads(str(np.load(path)['meta']))
    meta['configuration']['signals'][0]['nominal_high'] = 80.0
    changed(path, meta=json.dumps(meta)).rename(path.with_name('z.npz'))
    with pytest.raises(LearningError, match=r'z.npz: signals differ from those of the first'):
        load_learning_set(path.parent)


def test_the_order_is_that_of_the_list_of_activities(exported):
    path, _ = exported
    learning = load_learning_set(path, taxonomy=('trend', 'cause', 'hazard'))
    assert learning.activities == ('trend', 'hazard')
    assert np.array_equal(learning.labels, load_learning_set(path).labels[:, ::-1])


def test_a_label_that_the_list_lacks_is_named(exported):
    with pytest.raises(LearningError, match=r"label 'hazard' is not in the list.*\['trend'\]"):
        load_learning_set(exported[0], taxonomy=('trend',))


@pytest.mark.parametrize(
    ('arrays', 'says'),
    [
        ({'labels': None}, r"expected an array 'labels'.*add what each row calls for"),
        ({'window': None}, r"expected an array 'window'"),
        ({'meta': 'no json'}, r'meta: expected JSON'),
        ({'activities': ['a', 'a']}, r'names one twice'),
        ({'activities': ['a']}, r'expected labels and weight \[N, 1\]'),
        ({'signals': ['cold']}, r"signals \['cold'\] are not those of meta"),
        ({'labels': np.array([['x', 'y']])}, r'labels: expected numbers'),
    ],
)
def test_what_is_wrong_is_said_with_the_file(exported, arrays, says):
    with pytest.raises(LearningError, match=f'changed.npz: .*{says}|changed.npz: {says}'):
        load_learning_set(changed(exported[0], **arrays))


def test_a_sample_that_is_no_number_is_said_with_file_array_and_row(exported):
    path, _ = exported
    window, valid = np.load(path)['window'], np.load(path)['valid']
    valid[7], window[7, 2, 0] = True, np.nan
    with pytest.raises(LearningError, match=r'changed.npz: window: NaN or infinite.*row 7'):
        load_learning_set(changed(path, window=window, valid=valid))
    valid[7, 2, 0] = False  # where nothing is valid, nothing is read
    assert load_learning_set(changed(path, window=window, valid=valid)).window[7, 2, 0] == 0


def test_samples_in_their_own_unit_are_refused(exported):
    path, _ = exported
    window = np.load(path)['window'] * 40 + 20
    with pytest.raises(LearningError, match=r'window: expected scaled samples within ±10'):
        load_learning_set(changed(path, window=window))


@pytest.mark.parametrize('content', [b'', b'PK\3\4 and no more', b'neither zip nor npy'])
def test_what_is_no_npz_file_is_said(tmp_path, content):
    (tmp_path / 'x.npz').write_bytes(content)
    with pytest.raises(LearningError, match=r'x.npz: not an .npz file, or damaged'):
        load_learning_set(tmp_path / 'x.npz')


def test_a_missing_file_and_an_empty_folder_are_said(tmp_path):
    with pytest.raises(LearningError, match='no such file'):
        load_learning_set(tmp_path / 'none.npz')
    with pytest.raises(LearningError, match=r'expected .npz files in this folder, found none'):
        load_learning_set(tmp_path)


def test_unlabelled_situations_can_be_taken_without_weight(exported):
    path = changed(exported[0], labels=None, activities=None)
    learning = load_learning_set(path, taxonomy=('a', 'b', 'c'), unlabelled=True)
    assert learning.activities == ('a', 'b', 'c')
    assert learning.weight.sum() == 0


def test_codes_and_times_are_found_without_reading_the_windows(exported):
    path, made = exported
    codes = exported_codes(path)
    assert set(codes) == {'heat_high', 'bump', 'slip', 'dust', 'door', 'call', 'fog'}
    assert codes[0] == 'heat_high'  # the most frequent
    assert newest_stamp_ns(path) == made[-1].stamp_ns


NO_ACTIVITY = {
    'labels': np.zeros((10, 0)),
    'weight': np.zeros((10, 0)),
    'activities': np.array([], 'U1'),
}


@pytest.mark.parametrize(('changes', 'says'), [
    (NO_ACTIVITY, 'at least one signal and'),
    ({'valid': np.full((10, 2, 1), 'x')}, 'valid: expected true and false'),
    ({'valid': np.full((10, 2, 1), 0.5)}, 'valid: expected true and false'),
    ({'recent_code': np.full((10, 3), 3)}, r'recent_code: expected whole numbers 0\.\.\.2'),
    ({'recent_code': np.full((10, 3), -1)}, r'recent_code: expected whole numbers 0\.\.\.2'),
    ({'recent_age': np.zeros((10, 2))}, r'recent_age: expected \[N, 3\]'),
    ({'code_age': np.zeros((10, 3))}, r'code_age: expected \[N, 2\]'),
])  # fmt: skip
def test_arrays_that_do_not_match_are_named(tmp_path, make_learning_set, changes, says):
    events = EventRows(('a', 'b'), np.zeros((10, 3), np.int64), *np.zeros((3, 10, 3), np.float32))
    events = dataclasses.replace(
        events, code_age=np.zeros((10, 2), 'f4'), code_count=np.zeros((10, 2), 'f4')
    )
    learning = make_learning_set(np.zeros((10, 2, 1)), np.ones((10, 1)), events=events)
    path = tmp_path / 'walk.npz'
    save_learning_set(path, learning)
    with np.load(path) as file:
        content = dict(file)
    np.savez(path, **(content | changes))
    with pytest.raises(LearningError, match=rf'walk.npz: .*{says}'):
        load_learning_set(path)


def test_whatever_damages_a_file_is_said_with_its_name(tmp_path, make_learning_set):
    path = tmp_path / 'walk.npz'
    save_learning_set(path, make_learning_set(np.zeros((10, 2, 1)), np.ones((10, 1))))
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        for place in random.integers(0, len(whole), 20):
            damaged[place] = random.integers(0, 256)
        path.write_bytes(damaged)
        with pytest.raises(LearningError, match=r'walk.npz: '):
            load_learning_set(path)
