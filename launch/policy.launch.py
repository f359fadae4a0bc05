# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Start the policy node, as `ros2 launch thinking_policy policy.launch.py` does."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

CONFIG = PathJoinSubstitution([FindPackageShare('thinking_policy'), 'config'])

ARGUMENTS = (
    DeclareLaunchArgument(
        'params_file',
        default_value=PathJoinSubstitution([CONFIG, 'policy.yaml']),
        description='Parameter file of this robot: its signals, events and episodes; '
        'config/robots holds examples',
    ),
    DeclareLaunchArgument(
        'policy',
        default_value='',
        description='Policy file (.onnx); empty: what the parameter file says, '
        'else the bundled one',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of the node and its topics'
    ),
    DeclareLaunchArgument(
        'robot_id',
        default_value='',
        description='Name of this robot in episodes and experiences; empty: what the '
        'parameter file says',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        description='Follow /clock, as with a simulator or a bag: true or false',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        description='What the node logs: debug, info, warn, error or fatal',
    ),
)


def policy_node(context):
    """Return the node; an argument left empty doesn't override the parameter file."""
    given = {
        'policy_path': LaunchConfiguration('policy').perform(context),
        'robot_id': LaunchConfiguration('robot_id').perform(context),
    }
    overrides = {
        name: ParameterValue(value, value_type=str) for name, value in given.items() if value
    }
    return [
        Node(
            package='thinking_policy',
            executable='policy_node',
            name='thinking_policy',
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                LaunchConfiguration('params_file'),
                {
                    'use_sim_time': ParameterValue(
                        LaunchConfiguration('use_sim_time'), value_type=bool
                    ),
                    **overrides,
                },
            ],
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            output='screen',
        )
    ]


def generate_launch_description():
    """Return what `ros2 launch` runs; the node activates itself (parameter `autostart`)."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=policy_node)])
