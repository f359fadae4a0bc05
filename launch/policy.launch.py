# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the policy node: ros2 launch thinking_policy policy.launch.py

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
        'namespace',
        default_value='',
        description='namespace of the node and of its relative topics, such as robot1',
    ),
    DeclareLaunchArgument(
        'robot_id',
        default_value='',
        description='name of this robot in episodes and diagnostics; empty: as params_file says',
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
        description='severity from which the node logs',
    ),
)


def policy_node(context):
    """Return the node; arguments that are empty leave the parameter file's values alone."""
    given = {
        name: LaunchConfiguration(name).perform(context)
        for name in ('params_file', 'policy', 'namespace', 'robot_id', 'use_sim_time', 'log_level')
    }
    # launch_ros only warns, and the robot would think with the default signals.
    if not Path(given['params_file']).is_file():
        raise FileNotFoundError(f'params_file: {given["params_file"]}: no such file')
    overrides = {'use_sim_time': given['use_sim_time'] == 'true'}
    if given['policy']:
        overrides['policy_path'] = given['policy']
    if given['robot_id']:
        overrides['robot_id'] = given['robot_id']
    return [
        # It configures and activates itself (parameter autostart): launch has no way to do so on
        # every ROS release, and a lifecycle manager may take over instead.
        Node(
            package='thinking_policy',
            executable='policy_node',
            name='thinking_policy',
            namespace=given['namespace'],
            parameters=[given['params_file'], overrides],
            arguments=['--ros-args', '--log-level', given['log_level']],
            output='screen',
            emulate_tty=True,
        )
    ]


def generate_launch_description():
    """Return the arguments and the node."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=policy_node)])
