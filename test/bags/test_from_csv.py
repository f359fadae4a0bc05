# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Tables become bags with the right numbers at the right times; what is left out is said."""

from __future__ import annotations

import math
import resource
from pathlib import Path

import pytest

from thinking_policy.bags import BagError, open_bag
from thinking_policy.bags.csv_map import load_csv_map
from thinking_policy.bags.from_csv import bag_from_csv

SECOND = 1_000_000_000

MAP = """
separator: ';'
time: {column: when, format: '%Y-%m-%d %H:%M:%S', timezone: Europe/Berlin}
columns:
  temp: {topic: /t, type: sensor_msgs/msg/Temperature, field: temperature, scale: 0.1, offset: 2,
         frame_id: motor}
  amps: {topic: /battery, type: sensor_msgs/msg/BatteryState, field: current}
  volts: {topic: /battery, field: voltage}
  joint 2: {topic: /joints, type: sensor_msgs/msg/JointState, field: 'effort[1]'}
  count: {topic: /count, type: std_msgs/msg/Int32, field: data}
  label: {topic: /label, type: std_msgs/msg/Float32, field: data, optional: true}
constants:
  /battery: {percentage: .nan, present: true, power_supply_status: 2}
  /joints: {name: [one, two]}
"""
HEADING = 'when;temp;amps;volts;joint 2;count\n'
ROW = '2023-11-14 23:13:20;205;-1.5;24;7.5;3\n'


@pytest.fixture
def convert(tmp_path):
    """Return a function: table and map texts → (bag path, report)."""

    def run(table, map_text=MAP, storage='sqlite3', **options):
        (tmp_path / 'table.csv').write_text(table, encoding='utf-8')
        (tmp_path / 'map.yaml').write_text(map_text)
        csv_map = load_csv_map(tmp_path / 'map.yaml')
        output = tmp_path / 'made'
        report = bag_from_csv(tmp_path / 'table.csv', csv_map, output, storage=storage, **options)
        return output, report

    return run


def contents(path, messages):
    with open_bag(path) as bag:
        types = {topic.name: topic.type for topic in bag.topics}
        assert not bag.problems
        return {
            topic: (stamp, messages.store.deserialize_cdr(raw, types[topic]))
            for topic, stamp, raw in bag.messages()
        }


@pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
def test_a_row_becomes_one_message_per_topic_stamped_with_the_rows_time(
    storage, convert, messages
):
    path, report = convert(HEADING + ROW, storage=storage)
    found = contents(path, messages)
    stamp = 1_700_000_000 * SECOND  # 23:13:20 in Berlin is 22:13:20 UTC
    assert {topic: at for topic, (at, _) in found.items()} == dict.fromkeys(
        ('/t', '/battery', '/joints', '/count'), stamp
    )
    temperature = found['/t'][1]
    assert temperature.temperature == pytest.approx(22.5)
    assert temperature.header.frame_id == 'motor'
    assert temperature.header.stamp.sec * SECOND + temperature.header.stamp.nanosec == stamp
    battery = found['/battery'][1]
    assert (battery.current, battery.voltage) == (-1.5, 24.0)
    assert math.isnan(battery.percentage)
    assert (battery.present, battery.power_supply_status) == (True, 2)
    joints = found['/joints'][1]
    assert joints.name == ['one', 'two']
    assert math.isnan(joints.effort[0])
    assert joints.effort[1] == 7.5
    assert found['/count'][1].data == 3
    assert (report.rows, report.missing, dict(report.problems)) == (1, ('label',), {})
    assert dict(report.messages) == {'/t': 1, '/battery': 1, '/joints': 1, '/count': 1}


def test_bad_rows_and_cells_are_left_out_and_counted(convert, messages):
    table = (
        HEADING + ROW
        + '2023-11-14 23:13:21;x;;;7.5\n'  # a cell too few
        + 'yesterday;205;-1.5;24;7.5;3\n'
        + '2023-11-14 23:13:22;warm;;24;nan;99999999999\n'
        + '\n'
        + '2023-11-14 23:13:19;205;-1.5;24;7.5;3\n'
    )  # fmt: skip
    path, report = convert(table)
    assert report.rows == 5
    assert dict(report.problems) == {
        'rows with another number of cells than 6': 1,
        'rows whose when is not %Y-%m-%d %H:%M:%S': 1,
        'cells of temp that are no number': 1,
        'cells of amps that are empty': 1,
        'cells of joint 2 that are empty': 1,
        'messages on /count with a number too large for its field': 1,
        'rows earlier than the one before, written in their place': 1,
    }
    assert dict(report.messages) == {'/t': 2, '/battery': 3, '/joints': 2, '/count': 2}
    with open_bag(path) as bag:
        stamps = [stamp for topic, stamp, _ in bag.messages(['/battery'])]
        assert [(s - 1_700_000_000 * SECOND) // SECOND for s in stamps] == [-1, 0, 2]


@pytest.mark.parametrize(
    ('time_format', 'cell', 'expected'),
    [
        ('s', '1700000000.123456789', 1_700_000_000_123_456_789),
        ('ms', '1700000000123', 1_700_000_000_123_000_000),
        ('us', '1.7e15', 1_700_000_000_000_000_000),
        ('ns', '1700000000123456789', 1_700_000_000_123_456_789),
        ('iso', '2023-11-14T22:13:20.000001', 1_700_000_000_000_001_000),
        ('iso', '2023-11-15T00:13:20+02:00', 1_700_000_000_000_000_000),
    ],
)
def test_times_are_exact_to_the_nanosecond(time_format, cell, expected, convert):
    path, _ = convert(
        f't,v\n{cell},1\n',
        f'time: {{column: t, format: {time_format}}}\n'
        'columns: {v: {topic: /v, type: std_msgs/msg/Float32, field: data}}',
    )
    with open_bag(path) as bag:
        assert bag.start_ns == expected


def test_a_decimal_comma_and_a_byte_order_mark_are_read(convert, messages):
    path, _ = convert(
        '\ufefft;v\n5;1,25\n',
        "separator: ';'\ndecimal: ','\ntime: {column: t, format: s}\n"
        'columns: {v: {topic: /v, type: std_msgs/msg/Float32, field: data}}',
    )
    assert contents(path, messages)['/v'][1].data == 1.25


ERRORS = {
    'a missing column, with what is near': (
        HEADING.replace('volts', 'voltz') + ROW, MAP, "no column 'volts'; did you mean 'voltz'"),
    'the wrong separator': (
        HEADING.replace(';', ',') + ROW, MAP, "expected columns separated by ';', found one"),
    'no usable row': (HEADING + 'x;1;1;1;1;1\n', MAP, r'no row could be used \(1 rows whose when'),
    'an empty table': ('', MAP, 'no heading: expected a line with the names'),
    'an unknown type': (
        HEADING + ROW, MAP.replace('Temperature', 'Temprature'),
        "unknown message type 'sensor_msgs/msg/Temprature'; did you mean 'sensor_msgs/msg/Temp"),
    'a field that does not exist': (
        HEADING + ROW, MAP.replace('field: voltage', 'field: volts'),
        'volts: sensor_msgs/msg/BatteryState has no such field; there are header, voltage'),
    'a field that is no number': (
        HEADING + ROW, MAP.replace('field: voltage', 'field: header'), 'header: not a number'),
    'a constant that does not fit': (
        HEADING + ROW, MAP.replace('power_supply_status: 2', 'power_supply_status: 2000'),
        'do not fit into sensor_msgs/msg/BatteryState'),
    'a key of the map that is unknown': (
        HEADING + ROW, MAP.replace('scale: 0.1', 'scala: 0.1'),
        "columns.temp: unknown key 'scala'; did you mean 'scale'"),
    'a number that is text': (
        HEADING + ROW, MAP.replace('scale: 0.1', 'scale: ten'), "expected float, found 'ten'"),
    'a field filled twice': (
        HEADING + ROW, MAP.replace('field: voltage', 'field: current'),
        "/battery current is filled by 'amps' already"),
    'an unknown timezone': (
        HEADING + ROW, MAP.replace('Europe/Berlin', 'Europe/Atlantis'),
        'expected a name such as UTC or Europe/Berlin'),
    'a map that is a list': (HEADING + ROW, '- a\n', 'expected names and values'),
    'a map without times': (HEADING + ROW, 'columns: {a: {}}', 'time.column is missing'),
}  # fmt: skip


@pytest.mark.parametrize('what', ERRORS)
def test_what_cannot_be_converted_is_said_in_one_line_and_leaves_nothing(what, convert, tmp_path):
    table, map_text, reason = ERRORS[what]
    with pytest.raises(BagError, match=reason) as caught:
        convert(table, map_text)
    assert '\n' not in str(caught.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ['map.yaml', 'table.csv']


def test_a_bag_is_replaced_only_when_told_and_other_folders_never(convert, tmp_path):
    path, _ = convert(HEADING + ROW)
    with pytest.raises(BagError, match=r'exists already; choose another name or .* --force'):
        convert(HEADING + ROW)
    convert(HEADING + ROW + ROW.replace(':20;', ':21;'), overwrite=True)
    with open_bag(path) as bag:
        assert bag.topic('/t').count == 2
    (path / 'metadata.yaml').unlink()
    with pytest.raises(BagError, match='is no bag folder, so --force does not remove it'):
        convert(HEADING + ROW, overwrite=True)


def test_the_shipped_map_turns_skab_rows_into_si_units(checkout, tmp_path, messages):
    heading = (
        'datetime;Accelerometer1RMS;Accelerometer2RMS;Current;Pressure;Temperature;'
        'Thermocouple;Voltage;Volume Flow RateRMS;anomaly;changepoint'
    )
    row = (
        '2020-03-09 10:14:33;0.0265878;0.0401113;1.3302;0.054711;79.3366;'
        '26.0199;233.062;32.0;1.0;0.0'
    )
    (tmp_path / 'skab.csv').write_text(f'{heading}\n{row}\n')
    report = bag_from_csv(
        tmp_path / 'skab.csv', load_csv_map(checkout / 'config/csv/skab.yaml'), tmp_path / 'bag'
    )
    found = {
        topic: message for topic, (_, message) in contents(tmp_path / 'bag', messages).items()
    }
    assert found['/accelerometer1'].linear_acceleration.x == pytest.approx(0.0265878 * 9.80665)
    assert found['/pressure'].fluid_pressure == pytest.approx(5471.1)
    assert found['/battery_state'].voltage == pytest.approx(233.062)
    assert math.isnan(found['/battery_state'].temperature)
    assert found['/motor/temperature'].temperature == 79.3366
    assert found['/fluid/temperature'].temperature == 26.0199
    assert found['/label/anomaly'].data == 1.0
    assert report.messages.total() == 9


SHORT_MAP = """
time: {{column: t, format: {format}, timezone: {zone}}}
columns: {{x: {{topic: /x, type: {type}, field: data}}}}
decimal: '{decimal}'
separator: ';'
"""


def short_map(format='s', zone='UTC', type='std_msgs/msg/Float64', decimal='.'):
    return SHORT_MAP.format(format=format, zone=zone, type=type, decimal=decimal)


def rows_of(path, messages):
    with open_bag(path) as bag:
        return [
            (stamp, messages.store.deserialize_cdr(raw, bag.topic(topic).type).data)
            for topic, stamp, raw in bag.messages()
        ]


@pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
def test_times_that_no_bag_can_hold_are_left_out_and_counted(storage, convert, messages):
    times = ['-5', '0', '1e999999', '1e300', '9223372037', 'nan', 'inf', '4102444800']
    path, report = convert(
        't;x\n' + ''.join(f'{t};1\n' for t in times), short_map(), storage=storage
    )
    assert rows_of(path, messages) == [(0, 1.0), (4_102_444_800 * SECOND, 1.0)]
    assert dict(report.problems) == {
        'rows whose t is not between 1970 and 2261': 3,
        'rows whose t is not s': 3,
    }


def test_a_header_cannot_hold_a_time_after_2038(convert):
    map_text = short_map(type='sensor_msgs/msg/Temperature').replace('data', 'temperature')
    _, report = convert('t;x\n2147483647;1\n2147483648;1\n', map_text)
    assert dict(report.messages) == {'/x': 1}
    assert dict(report.problems) == {
        'messages on /x later than 2038, which a header cannot hold': 1
    }


@pytest.mark.parametrize(
    ('cell', 'decimal', 'value'),
    [
        ('1,5', ',', 1.5),
        ('-1,5e1', ',', -15.0),
        ('1.234', ',', None),  # twelve hundred or so, not one and a bit
        ('1.234,5', ',', None),
        ('1_000', '.', None),
        ('١٢', '.', None),
        ('1e400', '.', None),
        ('0x10', '.', None),
        (' 2 ', '.', 2.0),
    ],
)
def test_only_what_is_surely_a_number_is_taken(cell, decimal, value, convert, messages):
    path, report = convert(f't;x\n1;{cell}\n2;7\n', short_map(decimal=decimal))
    found = rows_of(path, messages)
    assert found == ([(SECOND, value)] if value is not None else []) + [(2 * SECOND, 7.0)]
    assert report.problems.total() == (value is None)


def test_the_hour_that_comes_twice_in_autumn_runs_on(convert, messages):
    times = ['01:59:59', '02:30:00', '02:59:59', '02:00:00', '02:30:00', '03:00:00']
    table = 't;x\n' + ''.join(f'2026-10-25T{t};{i}\n' for i, t in enumerate(times))
    path, report = convert(table, short_map('iso', 'Europe/Berlin'))
    start = 1_792_886_400 * SECOND  # 02:00 summer time
    seconds = [-1, 1800, 3599, 3600, 5400, 7200]
    assert rows_of(path, messages) == [(start + s * SECOND, i) for i, s in enumerate(seconds)]
    assert not report.problems


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (('format: s', "format: '%H:%M:%S'"), r'time.format: expected iso.* holds the year'),
        (('format: s', "format: '%H:%M:%H'"), r'time.format: expected iso'),
        (('format: s', 'format: iso8601'), r"time.format: .*found 'iso8601'"),
        (("decimal: '.'", "decimal: ''"), r"decimal: expected '.' or ',', found ''"),
        (("separator: ';'", "separator: '\"'"), r'separator: expected one character'),
        (('topic: /x', 'topic: /a b'), r'columns.x.topic: expected letters.*found .*/a b'),
        (('topic: /x', 'topic: //'), r'columns.x.topic: expected letters'),
        (('column: t', 'column: t, column: x'), r"'column' stands there twice in line 2"),
        (('format: s', 'format: 2001-13-45'), r'not a readable YAML file: month must be'),
        (('column: t', 'column: &a t, timezone: *a'), r'aliases such as \*a are not allowed'),
        (('field: data', 'field: dta'), r'map.yaml: /x: dta: std_msgs/msg/Float64 has no such'),
        (('time:', '\ttime:'), r'map.yaml: not a readable YAML file: .*line 2, column 1'),
    ],
)
def test_a_map_that_cannot_be_meant_is_refused(change, reason, convert):
    text = short_map()
    assert change[0] in text
    with pytest.raises(BagError, match=reason) as caught:
        convert('t;x\n1;1\n', text.replace(*change))
    assert '\n' not in str(caught.value)


def test_a_column_that_stands_twice_is_refused(convert):
    with pytest.raises(BagError, match=r"column 'x' stands there twice; rename one"):
        convert('t;x;x\n1;1;2\n', short_map())


def test_blank_lines_before_the_heading_are_passed_over(convert, messages):
    path, _ = convert('\n\nt;x\n1;1\n', short_map())
    assert rows_of(path, messages) == [(SECOND, 1.0)]


def test_a_link_is_not_replaced(convert, tmp_path):
    (tmp_path / 'made').symlink_to(tmp_path / 'elsewhere')
    with pytest.raises(BagError, match='is a link, which is not replaced'):
        convert('t;x\n1;1\n', short_map(), overwrite=True)


def test_a_bag_that_is_the_working_folder_is_replaced(convert, tmp_path, monkeypatch, messages):
    path, _ = convert('t;x\n1;1\n', short_map())
    (tmp_path / 'table.csv').write_text('t;x\n1;2\n')
    monkeypatch.chdir(path)
    csv_map = load_csv_map(tmp_path / 'map.yaml')
    bag_from_csv(tmp_path / 'table.csv', csv_map, Path(), overwrite=True)
    assert rows_of(path, messages) == [(SECOND, 2.0)]


@pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
def test_a_full_disk_is_the_outputs_and_leaves_nothing(storage, convert, tmp_path):
    table = 't;x\n' + ''.join(f'{i};1\n' for i in range(500))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        with pytest.raises(BagError, match=r'/made: (cannot be written|File too large)'):
            convert(table, short_map(), storage=storage)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(p.name for p in tmp_path.iterdir()) == ['map.yaml', 'table.csv']
