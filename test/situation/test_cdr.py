# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import array
import math

import numpy as np
import pytest

from thinking_policy.situation import SituationError, cdr
from thinking_policy.situation.cdr import compile_reader, decode, stamp_reader

INF, NAN = math.inf, math.nan
TEMPERATURE = 'sensor_msgs/msg/Temperature'
IMU = 'sensor_msgs/msg/Imu'
SCAN = 'sensor_msgs/msg/LaserScan'
RANGE = 'sensor_msgs/msg/Range'
JOINTS = 'sensor_msgs/msg/JointState'


def numbers(reader, *raws):
    values, broken = reader.read(raws)
    assert not broken.any()
    return values.tolist()


@pytest.mark.parametrize('little_endian', [True, False])
@pytest.mark.parametrize('frame', ['', 'base_link', 'a frame of another length'])
def test_a_number_is_read_in_either_byte_order(messages, little_endian, frame):
    reader = compile_reader(messages.type(TEMPERATURE), 'temperature')
    raws = [
        messages.raw(TEMPERATURE, little_endian, temperature=value, header={'frame_id': frame})
        for value in (20.5, -3.25)
    ]
    assert numbers(reader, *raws) == [20.5, -3.25]


def test_one_batch_may_mix_byte_orders_and_lengths(messages):
    reader = compile_reader(messages.type(TEMPERATURE), 'temperature')
    raws = [
        messages.raw(
            TEMPERATURE, bool(i % 2), temperature=float(i), header={'frame_id': 'x' * (i % 11)}
        )
        for i in range(50)
    ]
    assert numbers(reader, *raws) == [float(i) for i in range(50)]


def test_bools_and_integers_are_numbers(messages_with):
    messages = messages_with({'a/msg/T': 'bool on\nint16 current_ma\nuint64 big\nint8[3] small\n'})
    kind = messages.type('a/msg/T')
    raw = messages.raw('a/msg/T', on=True, current_ma=-250, big=2**40, small=[-1, 0, 7])
    assert numbers(compile_reader(kind, 'on'), raw) == [1.0]
    assert numbers(compile_reader(kind, 'current_ma'), raw) == [-250.0]
    assert numbers(compile_reader(kind, 'big'), raw) == [2.0**40]
    assert numbers(compile_reader(kind, 'small[2]'), raw) == [7.0]


def test_a_vector_is_reduced_to_its_norm(messages):
    reader = compile_reader(messages.type(IMU), 'linear_acceleration', 'norm')
    raw = messages.raw(IMU, linear_acceleration={'x': 2.0, 'y': 3.0, 'z': 6.0})
    assert numbers(reader, raw) == [7.0]


def test_a_struct_of_unlike_numbers_counts_as_an_array(messages_with):
    messages = messages_with({'a/msg/S': 'uint8 a\nfloat64 b\nint16 c\n', 'a/msg/T': 'a/S s\n'})
    raw = messages.raw('a/msg/T', s={'a': 1, 'b': 2.5, 'c': -8})
    reader = compile_reader(messages.type('a/msg/T'), 's', 'max')
    assert numbers(reader, raw) == [2.5]
    assert numbers(compile_reader(messages.type('a/msg/T'), 's', 'mean'), raw) == [-1.5]


def test_an_entry_is_found_by_the_name_beside_it(messages):
    reader = compile_reader(messages.type(JOINTS), 'effort[elbow]')
    first = messages.raw(JOINTS, name=['shoulder', 'elbow'], effort=[1.0, 2.0])
    swapped = messages.raw(JOINTS, name=['elbow', 'shoulder'], effort=[3.0, 4.0])
    assert numbers(reader, first, swapped, first) == [2.0, 3.0, 2.0]
    same_length = messages.raw(JOINTS, name=['shoulder', 'wrist'], effort=[1.0, 2.0])
    assert numbers(reader, first, same_length) == pytest.approx([2.0, NAN], nan_ok=True)


@pytest.mark.parametrize(
    'values',
    [
        {'name': ['shoulder'], 'effort': [1.0]},
        {'name': ['shoulder', 'elbow'], 'effort': [1.0]},
        {'name': ['shoulder', 'elbow'], 'effort': []},
        {'name': [], 'effort': [1.0, 2.0]},
        {'name': ['elbow2', 'elbo', ''], 'effort': [1.0, 2.0, 3.0]},
    ],
)
def test_a_missing_name_or_entry_is_unusable_not_broken(messages, values):
    reader = compile_reader(messages.type(JOINTS), 'effort[elbow]')
    assert numbers(reader, messages.raw(JOINTS, **values)) == [pytest.approx(NAN, nan_ok=True)]


def test_a_missing_index_is_unusable_not_broken(messages):
    reader = compile_reader(messages.type(JOINTS), 'effort[2]')
    raws = [messages.raw(JOINTS, effort=[1.0] * count) for count in (2, 3)]
    assert numbers(reader, *raws) == pytest.approx([NAN, 1.0], nan_ok=True)


MOTORS = {
    'a/msg/Motor': 'string note\nstring joint_name\nfloat32 current\nfloat64[] temperatures\n',
    'a/msg/Motors': 'std_msgs/Header header\na/Motor[] motors\nfloat32 after\n',
}


def test_structs_in_an_array_are_found_by_index_and_by_their_own_name(messages_with):
    messages = messages_with(MOTORS)
    kind = messages.type('a/msg/Motors')
    motors = [
        {'note': 'n' * i, 'joint_name': f'wheel_{i}', 'current': i + 0.5, 'temperatures': [40 + i]}
        for i in range(3)
    ]
    raw = messages.raw('a/msg/Motors', motors=motors, after=9.0)
    turned = messages.raw('a/msg/Motors', motors=motors[::-1], after=9.0)
    assert numbers(compile_reader(kind, 'motors[1].current'), raw, turned) == [1.5, 1.5]
    assert numbers(compile_reader(kind, 'motors[wheel_2].current'), raw, turned) == [2.5, 2.5]
    named = compile_reader(kind, 'motors[wheel_0].temperatures[0]')
    assert numbers(named, raw, turned) == [40.0, 40.0]
    assert numbers(compile_reader(kind, 'after'), raw, turned) == [9.0, 9.0]


def test_names_may_stand_behind_what_they_name(messages_with):
    messages = messages_with({'a/msg/T': 'float32[] values\nuint8 pad\nstring[] names\n'})
    reader = compile_reader(messages.type('a/msg/T'), 'values[b]')
    raw = messages.raw('a/msg/T', values=[1.0, 2.0], pad=1, names=['a', 'b'])
    assert numbers(reader, raw) == [2.0]


@pytest.mark.parametrize('value', [NAN, INF, -INF, -1.0, 0.0])
def test_what_is_not_finite_and_sentinels_are_unusable(messages, value):
    reader = compile_reader(messages.type(TEMPERATURE), 'temperature', sentinels=(-1.0, 0.0))
    raws = [messages.raw(TEMPERATURE, temperature=v) for v in (value, 5.0)]
    assert numbers(reader, *raws) == pytest.approx([NAN, 5.0], nan_ok=True)


def test_a_sentinel_is_compared_as_the_message_holds_it(messages):
    reader = compile_reader(messages.type('std_msgs/msg/Float32'), 'data', sentinels=(0.1, 1e300))
    raws = [messages.raw('std_msgs/msg/Float32', data=value) for value in (0.1, 0.2)]
    assert numbers(reader, *raws) == pytest.approx([NAN, np.float32(0.2)], nan_ok=True)


def test_a_sentinel_in_an_array_leaves_the_other_entries(messages_with):
    messages = messages_with({'a/msg/Power': 'float32[] measured_currents\n'})
    raw = messages.raw('a/msg/Power', measured_currents=[-1.0, 2.0, 4.0])
    kind = messages.type('a/msg/Power')
    reader = compile_reader(kind, 'measured_currents', 'mean', sentinels=(-1.0,))
    assert numbers(reader, raw) == [3.0]


@pytest.mark.parametrize(
    ('ranges', 'least'),
    [
        ([2.0, 1.0, 3.0], 1.0),
        ([2.0, INF, NAN], 2.0),
        ([2.0, -INF], 0.25),  # too close to measure
        ([INF, INF], 8.0),  # nothing within range
        ([INF, NAN], 8.0),
        ([INF, 9.0], 8.0),  # 9 is beyond what the sensor measures
        ([0.0, 0.125, 2.0], 2.0),  # below what it measures
        ([0.25, 8.0], 0.25),
        ([NAN, NAN], NAN),
        ([0.0, 9.0], NAN),
        ([], NAN),
    ],
)
def test_the_shortest_distance_follows_rep_117(messages, ranges, least):
    reader = compile_reader(messages.type(SCAN), 'ranges', 'range_min')
    raw = messages.raw(SCAN, range_min=0.25, range_max=8.0, ranges=ranges)
    other = messages.raw(SCAN, range_min=0.5, range_max=8.0, ranges=[1.0])
    assert numbers(reader, raw, other) == pytest.approx([least, 1.0], nan_ok=True)


@pytest.mark.parametrize(
    ('value', 'distance'), [(1.0, 1.0), (-INF, 0.5), (INF, 4.0), (NAN, NAN), (5.0, NAN)]
)
def test_a_single_distance_follows_rep_117_too(messages, value, distance):
    reader = compile_reader(messages.type(RANGE), 'range', 'range_min')
    raw = messages.raw(RANGE, min_range=0.5, max_range=4.0, range=value)
    assert numbers(reader, raw) == pytest.approx([distance], nan_ok=True)


@pytest.mark.parametrize('bounds', [(0.0, 0.0), (5.0, 1.0), (NAN, 8.0), (0.0, NAN), (-INF, 8.0)])
def test_a_sensor_range_that_was_never_set_bounds_nothing(messages, bounds):
    reader = compile_reader(messages.type(SCAN), 'ranges', 'range_min')
    raw = messages.raw(SCAN, range_min=bounds[0], range_max=bounds[1], ranges=[20.0, 30.0, INF])
    assert numbers(reader, raw) == [20.0]


def test_the_share_of_invalid_beams_knows_the_range_of_the_sensor(messages):
    reader = compile_reader(messages.type(SCAN), 'ranges', 'invalid_fraction')
    beams = [1.0, INF, NAN, 9.0, 0.125, 2.0, 3.0, 4.0]
    raw = messages.raw(SCAN, range_min=0.25, range_max=8.0, ranges=beams)
    bare = messages.raw(SCAN, ranges=beams)
    assert numbers(reader, raw, bare) == [0.5, 0.25]


def test_count_is_the_length_of_an_array(messages):
    reader = compile_reader(messages.type(SCAN), 'ranges', 'count')
    raws = [messages.raw(SCAN, ranges=[NAN] * count) for count in (0, 3)]
    assert numbers(reader, *raws) == [0.0, 3.0]


def test_an_array_needs_a_reduction(messages):
    with pytest.raises(SituationError, match=r"'ranges' holds several numbers: set within_mess"):
        compile_reader(messages.type(SCAN), 'ranges')
    with pytest.raises(SituationError, match=r"expected one of norm, .* found 'median'"):
        compile_reader(messages.type(SCAN), 'ranges', 'median')


def test_the_result_of_a_message_does_not_depend_on_its_batch(messages):
    random = np.random.default_rng(7)
    raws = [
        messages.raw(SCAN, ranges=random.normal(size=int(random.integers(1, 5)) * 90) * 1e3)
        for _ in range(40)
    ]
    for reduction in ('norm', 'mean', 'rms', 'std', 'min', 'max', 'range_min', 'count'):
        kind = messages.type(SCAN)
        together = compile_reader(kind, 'ranges', reduction).read(raws)[0]
        alone = [compile_reader(kind, 'ranges', reduction).read([raw])[0][0] for raw in raws]
        assert together.tobytes() == np.array(alone).tobytes(), reduction


def test_a_batch_of_large_messages_is_read_in_parts(messages, monkeypatch):
    monkeypatch.setattr(cdr, 'CHUNK_BYTES', 500)
    reader = compile_reader(messages.type(SCAN), 'ranges', 'max')
    raws = [messages.raw(SCAN, ranges=[float(i)] * 90) for i in range(7)]
    assert numbers(reader, *raws) == [float(i) for i in range(7)]
    monkeypatch.setattr(cdr, 'MAX_NUMBERS', 89)
    assert numbers(reader, *raws) == pytest.approx([NAN] * 7, nan_ok=True)


def test_broken_messages_are_marked_and_the_others_read(messages):
    reader = compile_reader(messages.type(TEMPERATURE), 'temperature')
    good = messages.raw(TEMPERATURE, temperature=21.0, header={'frame_id': 'imu'})
    hostile = bytearray(good)
    hostile[12:16] = b'\xff\xff\xff\xff'  # the length of frame_id
    raws = [good, b'', good[:3], good[:20], b'\0\x03' + good[2:], bytes(hostile), good]
    values, broken = reader.read(raws)
    assert broken.tolist() == [False, True, True, True, True, True, False]
    assert values.tolist() == pytest.approx([21.0] + [NAN] * 5 + [21.0], nan_ok=True)


def test_a_hostile_count_of_structs_costs_nothing(messages_with):
    messages = messages_with(MOTORS)
    kind = messages.type('a/msg/Motors')
    raw = bytearray(messages.raw('a/msg/Motors', motors=[{'joint_name': 'a'}]))
    at = raw.index(b'\x01\0\0\0', 17)
    for count in (b'\xff\xff\xff\xff', b'\x02\0\0\0'):
        raw[at : at + 4] = count
        for path in ('motors[a].temperatures[0]', 'motors[3].current', 'after'):
            assert compile_reader(kind, path).read([bytes(raw)])[1].tolist() == [True], path
        assert decode(kind, bytes(raw)) is None


def test_a_remembered_layout_is_not_taken_for_a_shorter_message(messages):
    """Whether a message is broken must not depend on what was read before it."""
    kind = messages.type(JOINTS)
    good = messages.raw(JOINTS, name=['a'], effort=[])
    cut = messages.raw(JOINTS, name=['a'])[:-4]
    reader = compile_reader(kind, 'effort[0]')
    fresh = compile_reader(kind, 'effort[0]').read([cut])[1].tolist()
    assert reader.read([good])[1].tolist() == [False]
    assert reader.read([cut])[1].tolist() == fresh == [True]


def test_more_layouts_than_are_remembered_are_read_all_the_same(messages):
    reader = compile_reader(messages.type(TEMPERATURE), 'temperature')
    for _ in range(2):
        raws = [
            messages.raw(TEMPERATURE, temperature=float(i), header={'frame_id': 'x' * 4 * i})
            for i in range(30)
        ]
        assert numbers(reader, *raws) == [float(i) for i in range(30)]


def test_the_header_gives_the_stamp(messages):
    reader = stamp_reader(messages.type(IMU))
    stamps = [(0, 0), (0, 7), (1_700_000_000, 999_999_999), (-1, 5)]
    raws = [
        messages.raw(IMU, header={'stamp': {'sec': sec, 'nanosec': nanosec}})
        for sec, nanosec in stamps
    ]
    found = reader.read([*raws, b'\0\1'])
    assert found.dtype == np.int64
    assert found.tolist() == [0, 7, 1_700_000_000_999_999_999, 0, 0]


def test_types_without_a_time_have_no_stamp(messages):
    assert stamp_reader(messages.type('std_msgs/msg/String')) is None
    assert stamp_reader(messages.type('geometry_msgs/msg/Twist')) is None
    assert stamp_reader(messages.type('std_msgs/msg/Header')) is not None


def test_nothing_behind_a_wstring_can_be_read():
    from thinking_policy.situation.message_types import FLOAT32, Field, MessageType, Text

    before = MessageType('a/msg/T', (Field('x', FLOAT32), Field('text', Text(wide=True))))
    assert numbers(compile_reader(before, 'x'), b'\0\1\0\0\0\0\x80\x3f') == [1.0]
    behind = MessageType('a/msg/T', (Field('text', Text(wide=True)), Field('x', FLOAT32)))
    with pytest.raises(SituationError, match='a wstring cannot be read'):
        compile_reader(behind, 'x')


def test_an_empty_struct_takes_one_byte(messages):
    """IDL has none, so the ROS generators put a byte there."""
    from thinking_policy.situation.message_types import FLOAT32, UINT8, Field, MessageType

    empty = MessageType('std_msgs/msg/Empty', ())
    kind = MessageType('a/msg/T', (Field('e', empty), Field('n', UINT8), Field('x', FLOAT32)))
    raw = b'\0\1\0\0' + b'\0\x05\0\0' + b'\0\0\x80\x3f'
    assert numbers(compile_reader(kind, 'n'), raw) == [5.0]
    assert decode(kind, raw) == {'e': {}, 'n': 5, 'x': 1.0}
    assert messages.raw('std_msgs/msg/Empty')[4:5] == b'\0'


def test_a_whole_message_is_decoded(messages):
    raw = messages.raw(
        'diagnostic_msgs/msg/DiagnosticArray',
        header={'stamp': {'sec': 4, 'nanosec': 2}, 'frame_id': 'grün'},
        status=[
            {'level': 2, 'name': 'motor', 'message': 'hot', 'values': [{'key': 'k', 'value': ''}]},
            {'level': 0, 'name': '', 'hardware_id': 'x'},
        ],
    )
    kind = messages.type('diagnostic_msgs/msg/DiagnosticArray')
    hot = {'level': 2, 'name': 'motor', 'message': 'hot', 'hardware_id': ''}
    cold = {'level': 0, 'name': '', 'message': '', 'hardware_id': 'x', 'values': []}
    assert decode(kind, raw) == {
        'header': {'stamp': {'sec': 4, 'nanosec': 2}, 'frame_id': 'grün'},
        'status': [{**hot, 'values': [{'key': 'k', 'value': ''}]}, cold],
    }
    some = cdr.compile_decoder(kind, only=('status.level', 'status.name', 'header.stamp'))
    assert some(raw) == {
        'header': {'stamp': {'sec': 4, 'nanosec': 2}},
        'status': [{'level': 2, 'name': 'motor'}, {'level': 0, 'name': ''}],
    }


def test_bad_utf8_is_replaced(messages):
    raw = messages.raw('std_msgs/msg/String', data='a?').replace(b'a?', b'a\xff')
    assert decode(messages.type('std_msgs/msg/String'), raw) == {'data': 'a\ufffd'}


class TestAgainstRclpy:
    """What the middleware's own serialization writes."""

    @pytest.fixture
    def serialize(self):
        return pytest.importorskip('rclpy.serialization').serialize_message

    def test_joint_states_with_empty_arrays(self, serialize, messages):
        """An empty array of doubles has no padding behind its length."""
        from sensor_msgs.msg import JointState

        for names in (['a'], ['ab', 'c'], ['abcd', 'efgh', 'i']):
            message = JointState(name=names, effort=[float(i) for i in range(len(names))])
            for frame in ('', 'abc', 'abcd', 'abcdefgh'):
                message.header.frame_id = frame
                reader = compile_reader(messages.type(JOINTS), f'effort[{names[-1]}]')
                assert numbers(reader, serialize(message)) == [len(names) - 1.0]

    def test_scans(self, serialize, messages):
        from sensor_msgs.msg import LaserScan

        scan = LaserScan(range_min=0.1, range_max=3.5, ranges=array.array('f', [INF, 0.5, 0.05]))
        reader = compile_reader(messages.type(SCAN), 'ranges', 'range_min')
        assert numbers(reader, serialize(scan)) == [0.5]

    def test_batteries_and_odometry(self, serialize, messages):
        from nav_msgs.msg import Odometry
        from sensor_msgs.msg import BatteryState

        battery = BatteryState(current=-1.5, cell_voltage=[4.0, 3.5], present=True, location='x')
        kind = messages.type('sensor_msgs/msg/BatteryState')
        raw = serialize(battery)
        assert numbers(compile_reader(kind, 'current'), raw) == [-1.5]
        assert numbers(compile_reader(kind, 'present'), raw) == [1.0]
        assert numbers(compile_reader(kind, 'cell_voltage', 'min'), raw) == [3.5]
        odometry = Odometry(child_frame_id='base')
        odometry.twist.twist.linear.x = -3.0
        odometry.twist.twist.linear.y = 4.0
        reader = compile_reader(
            messages.type('nav_msgs/msg/Odometry'), 'twist.twist.linear', 'norm'
        )
        assert numbers(reader, serialize(odometry)) == [5.0]

    def test_diagnostics(self, serialize, messages):
        from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

        status = DiagnosticStatus(level=DiagnosticStatus.ERROR, name='motor')
        kind = messages.type('diagnostic_msgs/msg/DiagnosticArray')
        found = decode(kind, serialize(DiagnosticArray(status=[status, status])))
        assert [(s['name'], s['level']) for s in found['status']] == [('motor', 2)] * 2
