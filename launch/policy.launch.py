# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Starts policy node and experience node: ros2 launch thinking_policy policy.launch.py

Show the arguments with: ros2 launch thinking_policy policy.launch.py --show-args
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

CONFIG = Path(__file__).resolve().parent.parent / 'config'

ARGUMENTS = (
    DeclareLaunchArgument(
        'params_file',
        default_value=str(CONFIG / 'policy.yaml'),
        description="ROS parameter file: this robot's signals and the node's settings; "
        'robots/*.yaml beside the default are for known robots',
    ),
    DeclareLaunchArgument(
        'policy',
        default_value='',
        description='policy file (.onnx); empty: as params_file says, else the bundled one',
    ),
    DeclareLaunchArgument(
        'experience',
        default_value='true',
        choices=['true', 'false'],
        description='whether experiences are recorded and kept, by the node thinking_experience',
    ),
    DeclareLaunchArgument(
        'experience_file',
        default_value=str(CONFIG / 'experience.yaml'),
        description="ROS parameter file of thinking_experience: what is recorded, the file's "
        'size, the server; params_file may hold such a section too, which counts more',
    ),
    DeclareLaunchArgument(
        'namespace',
        default_value='',
        description='namespace of the nodes and of their relative topics, such as robot1',
    ),
    DeclareLaunchArgument(
        'robot_id',
        default_value='',
        description='name of this robot in episodes, records and diagnostics; empty: as the '
        'parameter files say',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='take the time from /clock: with a simulator or a bag',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='severity from which the nodes log',
    ),
)


def nodes(context):
    """Return the nodes; arguments that are empty leave the parameter files' values alone."""
    given = {a.name: LaunchConfiguration(a.name).perform(context) for a in ARGUMENTS}
    shared = {'use_sim_time': given['use_sim_time'] == 'true'}
    if given['robot_id']:
        shared['robot_id'] = given['robot_id']
    policy = {'policy_path': given['policy']} if given['policy'] else {}
    found = [
        _node(
            'policy_node', 'thinking_policy', [_file(given, 'params_file')], given, shared | policy
        )
    ]
    if given['experience'] == 'true':
        files = [_file(given, 'experience_file'), given['params_file']]
        found.append(_node('experience_node', 'thinking_experience', files, given, shared))
    return found


def _file(given, name):
    # launch_ros only warns, and the robot would think with the default signals.
    if not Path(given[name]).is_file():
        raise FileNotFoundError(f'{name}: {given[name]}: no such file')
    return given[name]


def _node(executable, name, files, given, overrides):
    # It configures and activates itself (parameter autostart): launch has no way to do so on
    # every ROS release, and a lifecycle manager may take over instead.
    return Node(
        package='thinking_policy',
        executable=executable,
        name=name,
        namespace=given['namespace'],
        parameters=[*files, overrides],
        arguments=['--ros-args', '--log-level', given['log_level']],
        output='screen',
        emulate_tty=True,
    )


def generate_launch_description():
    """Return the arguments and the nodes."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=nodes)])
