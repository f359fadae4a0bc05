# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `doctor` finds, and the remedy it names."""

import json

import pytest

from thinking_policy.cli import checks, ros_checks
from thinking_policy.cli import main as run_main
from thinking_policy.cli.finding import FAIL, NOTE, OK
from thinking_policy.situation.configuration import SignalConfig, SituationConfig

CONFIG = SituationConfig(
    signals=(
        SignalConfig('temperature', '/motor', 'sensor_msgs/msg/Temperature', 'temperature'),
        SignalConfig('vibration', 'imu', 'sensor_msgs/msg/Imu', 'linear_acceleration'),
        SignalConfig('load'),
    )
)


def missing(*names):
    """Return an importer that lacks these packages."""

    def load(name):
        if name.partition('.')[0] in names or name in names:
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
        return __import__('importlib').import_module(name)

    return load


def test_without_rclpy_ros_fails_with_both_ways_to_get_it():
    (finding,) = ros_checks.check_ros(missing('rclpy'))
    assert finding.status == FAIL
    assert 'setup.bash' in finding.remedy
    assert 'make setup' in finding.remedy


def test_ros_is_tried_by_starting_a_node():
    pytest.importorskip('rclpy')
    findings = ros_checks.check_ros()
    assert [finding.status for finding in findings] == [OK, OK]
    assert 'rmw' in findings[1].found


def test_unbuilt_messages_fail_with_the_build_command():
    finding = ros_checks.check_messages(None, missing('thinking_policy.msg'))[0]
    assert finding.status == FAIL
    assert 'colcon build' in finding.remedy


def test_a_message_package_that_the_configuration_needs_is_named(monkeypatch):
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    found = ros_checks.check_messages(CONFIG, missing('sensor_msgs'))
    failed = [finding for finding in found if finding.status == FAIL]
    assert len(failed) == 2
    assert 'sensor_msgs/msg/Imu' in failed[0].found
    assert 'sudo apt install ros-jazzy-sensor-msgs' in failed[0].remedy


def test_a_misspelt_message_is_told_from_a_missing_package():
    pytest.importorskip('sensor_msgs')
    config = SituationConfig(
        signals=(SignalConfig('a', '/a', 'sensor_msgs/msg/Temprature', 'temperature'),)
    )
    finding = ros_checks.check_messages(config)[-1]
    assert finding.found == 'sensor_msgs/msg/Temprature: sensor_msgs has no such message'


def test_a_broken_robot_file_fails_with_the_key(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(
        'thinking_policy:\n  ros__parameters:\n    tick_period: 0.5\n    signal_names: []\n'
    )
    config, (finding,) = checks.check_configuration(str(path), '')
    # a name that no dataclass knows belongs to the node; the node refuses it
    assert config is not None or finding.status == FAIL
    path.write_text(
        'thinking_policy:\n  ros__parameters:\n    signal_names: [a]\n'
        '    signals: {a: {topik: x}}\n'
    )
    config, (finding,) = checks.check_configuration(str(path), '')
    assert config is None
    assert "unknown key 'topik'" in finding.found
    assert "did you mean 'topic'" in finding.found


def test_a_signal_without_topic_is_a_note(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(
        'thinking_policy:\n  ros__parameters:\n    signal_names: [a]\n'
        '    signals: {a: {unit: m}}\n'
    )
    _, findings = checks.check_configuration(str(path), '')
    assert findings[1].status == NOTE
    assert findings[1].found.endswith('never heard: a')


def test_a_file_that_is_no_policy_fails_with_its_reason(tmp_path):
    path = tmp_path / 'policy.onnx'
    path.write_bytes(b'not a model')
    (finding,) = checks.check_policy(path, CONFIG)
    assert finding.status == FAIL
    assert str(path) in finding.found
    assert 'policy show' in finding.remedy


@pytest.mark.parametrize(('value', 'status'), [('', OK), ('7', OK), ('233', FAIL), ('x', FAIL)])
def test_the_domain_has_to_be_a_number_that_dds_can_use(value, status):
    assert ros_checks.check_domain({'ROS_DOMAIN_ID': value})[0].status == status


def test_discovery_that_stays_on_this_machine_is_a_note():
    findings = ros_checks.check_domain({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'})
    assert findings[1].status == NOTE
    assert 'not heard' in findings[1].found


def test_a_topic_of_another_type_fails():
    findings = ros_checks.check_topics(CONFIG, {'/motor': ['std_msgs/msg/Float32']})
    assert findings[-1].status == FAIL
    assert findings[-1].found == (
        '/motor: expected sensor_msgs/msg/Temperature, found std_msgs/msg/Float32'
    )


def test_a_topic_that_nobody_publishes_is_compared_by_type():
    graph = {'/motor': ['sensor_msgs/msg/Temperature'], '/imu/data': ['sensor_msgs/msg/Imu']}
    findings = ros_checks.check_topics(CONFIG, graph)
    assert findings[0].found == '1 of 2 signal topics are published now'
    assert findings[1].status == NOTE
    assert findings[1].remedy == 'correct `topic`: sensor_msgs/msg/Imu is on /imu/data'


def test_relative_topics_are_looked_for_in_the_namespace():
    graph = {'/r1/imu': ['sensor_msgs/msg/Imu'], '/motor': ['sensor_msgs/msg/Temperature']}
    assert ros_checks.check_topics(CONFIG, graph, '/r1')[0].found.startswith('2 of 2')


def test_a_robot_that_is_off_gives_one_note_and_no_failure():
    (finding,) = ros_checks.check_topics(CONFIG, {})
    assert finding.status == NOTE


def test_extras_are_never_a_failure(monkeypatch):
    monkeypatch.setattr(checks, 'version', lambda name: '')
    findings = checks.check_extras()
    assert {finding.status for finding in findings} == {NOTE}
    assert any("pip install 'thinking_policy[bags]'" in finding.remedy for finding in findings)


def test_an_extra_is_found_whatever_its_packages_are_called():
    pytest.importorskip('faiss')
    pytest.importorskip('sklearn')
    (found,) = [f for f in checks.check_extras() if f.check == 'extra experiments']
    assert found.status == OK
    assert 'faiss 1.' in found.found


def test_doctor_prints_json_lines_and_fails_where_something_failed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ros_checks, 'LISTEN_S', 0.0)
    path = tmp_path / 'policy.onnx'
    path.write_bytes(b'not a model')
    assert run_main(['doctor', '--policy', str(path), '--json']) == 1
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {'check', 'status', 'found', 'remedy'} == set(findings[0])
    assert [f['check'] for f in findings if f['status'] == 'fail'] == ['policy']


def test_every_failure_is_printed_with_its_remedy(tmp_path, capsys):
    assert run_main(['doctor', '--policy', str(tmp_path / 'none.onnx')]) == 1
    text = capsys.readouterr().out
    after = text.split('fail  policy')[1]
    assert '→ ' in after.splitlines()[1]
    assert '1 of ' in text.splitlines()[-1]
