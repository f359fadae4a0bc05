# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `run` would start, and which file it would take."""

from pathlib import Path

import pytest

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.plan import Plan, environment_for, policy_process, source_process
from thinking_policy.cli.robot_files import find_configuration, robots
from thinking_policy.cli.run import the_bag
from thinking_policy.shipped import config_folder

CONFIG = Path('/etc/robot.yaml')


def text(spec):
    return ' '.join(spec.command)


def test_the_policy_node_gets_file_namespace_and_parameters_and_ros_args_last():
    plan = Plan(
        CONFIG,
        scenario='x',
        policy=Path('/p q.onnx'),
        namespace='/robot1/',
        robot_id='7',
        ros_args=('-p', 'minimum_hold_s:=1.0'),
    )
    command = text(policy_process(plan))
    assert '--params-file /etc/robot.yaml' in command
    assert '-r __ns:=/robot1 ' in command
    assert "-p policy_path:='/p q.onnx'" in command
    assert "-p robot_id:='7'" in command
    assert command.endswith('-p minimum_hold_s:=1.0')
    assert 'use_sim_time' not in command


def test_a_bag_means_sim_time_and_a_player():
    plan = Plan(CONFIG, bag=Path('/b'), rate=2.0, loop=True)
    assert 'use_sim_time:=true' in text(policy_process(plan))
    command = text(source_process(plan))
    assert 'thinking_policy.ros.bag_player' in command
    assert 'rate:=2.0' in command
    assert 'loop:=true' in command


def test_a_live_robot_has_no_source():
    assert source_process(Plan(CONFIG)) is None
    assert Plan(CONFIG).live


@pytest.mark.parametrize('plan', [Plan(CONFIG, scenario='x'), Plan(CONFIG, bag=Path('/b'))])
def test_simulation_and_bag_stay_on_this_machine(plan):
    assert environment_for(plan, {})['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'


@pytest.mark.parametrize('name', ['ROS_DOMAIN_ID', 'ROS_STATIC_PEERS', 'ROS_LOCALHOST_ONLY'])
def test_who_sets_discovery_is_left_alone(name):
    environment = environment_for(Plan(CONFIG, scenario='x'), {name: '1'})
    assert 'ROS_AUTOMATIC_DISCOVERY_RANGE' not in environment


def test_a_live_robot_is_heard_over_the_network():
    assert 'ROS_AUTOMATIC_DISCOVERY_RANGE' not in environment_for(Plan(CONFIG), {})


def test_a_shipped_robot_is_found_by_name_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_configuration('turtlebot3') == config_folder() / 'robots/turtlebot3.yaml'
    assert find_configuration('') == config_folder() / 'policy.yaml'
    assert 'skab' in robots()


def test_a_file_in_the_current_folder_is_taken_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path('mine.yaml').write_text('x: 1')
    assert find_configuration('mine.yaml') == tmp_path / 'mine.yaml'


def test_an_unknown_robot_is_refused_with_the_shipped_ones():
    with pytest.raises(ThinkingPolicyError, match=r'--config turtelbot.*turtlebot3'):
        find_configuration('turtelbot')


def test_the_only_bag_in_a_folder_of_folders_is_taken_and_said(tmp_path, capsys):
    (tmp_path / 'results' / 'walk').mkdir(parents=True)
    (tmp_path / 'results' / 'walk' / 'metadata.yaml').touch()
    assert the_bag(tmp_path) == tmp_path / 'results' / 'walk'
    assert 'holds one bag: results/walk' in capsys.readouterr().err
    assert the_bag(tmp_path / 'results' / 'walk') == tmp_path / 'results' / 'walk'
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other' / 'metadata.yaml').touch()
    assert the_bag(tmp_path) == tmp_path  # which one is for the user to say
