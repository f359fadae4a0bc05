# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `run` will start: options in, a table of processes out. Nothing is started here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from thinking_policy.cli.processes import ProcessSpec, node_command

DEFAULT_SCENARIO = 'developing_fault'
# Who set one of these has said who shall hear whom; then nothing is changed.
DISCOVERY_VARIABLES = (
    'ROS_DOMAIN_ID',
    'ROS_AUTOMATIC_DISCOVERY_RANGE',
    'ROS_LOCALHOST_ONLY',
    'ROS_STATIC_PEERS',
)


@dataclass(frozen=True)
class Plan:
    """One run. Neither `scenario` nor `bag`: the robot's own topics are heard."""

    config: Path
    scenario: str = ''
    bag: Path | None = None
    rate: float = 1.0
    loop: bool = False
    policy: Path | None = None
    namespace: str = ''
    robot_id: str = ''
    ros_args: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        """Whether the robot's own topics are heard."""
        return not self.scenario and self.bag is None


def policy_process(plan: Plan) -> ProcessSpec:
    """Return the policy node's row; `--ros-args` of the command line come last and win."""
    parameters = {}
    if plan.bag is not None:
        parameters['use_sim_time'] = 'true'
        if plan.rate == 0:  # in lockstep no message may be lost
            parameters['qos_reliability'] = 'reliable'
    if plan.policy is not None:
        parameters['policy_path'] = _text(plan.policy)
    if plan.robot_id:
        parameters['robot_id'] = _text(plan.robot_id)
    arguments = _ros_arguments(plan, parameters, plan.config)
    return ProcessSpec(
        'policy_node',
        node_command('thinking_policy.ros.policy_node', [*arguments, *plan.ros_args]),
    )


def source_process(plan: Plan) -> ProcessSpec | None:
    """Return the row of what feeds the policy, or None on a live robot."""
    if plan.bag is not None:
        parameters = {
            'bag': _text(plan.bag),
            'rate': repr(float(plan.rate)),
            'loop': str(plan.loop).lower(),
        }
        return ProcessSpec(
            'bag_player',
            node_command(
                'thinking_policy.ros.bag_player', _ros_arguments(plan, parameters, plan.config)
            ),
        )
    if plan.scenario:
        return ProcessSpec(
            'simulated_robot',
            node_command(
                'thinking_policy.ros.simulated_robot',
                _ros_arguments(plan, {'scenario': _text(plan.scenario)}, None),
            ),
        )
    return None


def environment_for(plan: Plan, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for our processes.

    A simulation or a bag stays on this machine, so that its messages are not taken for those of
    a robot on the network; unless the user has said who shall hear whom.
    """
    result = dict(environment)
    if not plan.live and not any(environment.get(name) for name in DISCOVERY_VARIABLES):
        result['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    result.setdefault('RCUTILS_COLORIZED_OUTPUT', '0')
    result.setdefault('RCUTILS_CONSOLE_OUTPUT_FORMAT', '{severity} {message}')
    return result


def _ros_arguments(plan: Plan, parameters: Mapping[str, str], config: Path | None) -> list[str]:
    arguments = ['--ros-args']
    if config is not None:
        arguments += ['--params-file', str(config)]
    namespace = plan.namespace.strip('/')
    if namespace:
        arguments += ['-r', f'__ns:=/{namespace}']
    for name, value in parameters.items():
        arguments += ['-p', f'{name}:={value}']
    return arguments


def _text(value: Path | str) -> str:
    """Return a YAML string, so that a path or id such as 7 stays text."""
    return "'" + str(value).replace("'", "''") + "'"
