# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `doctor` looks at of ROS: middleware, messages, domain, topics."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinking_policy.cli.finding import FAIL, NOTE, OK, RELEASES, Finding, one_line, version
from thinking_policy.cli.remedies import MESSAGES_REMEDY, ROS_REMEDY, package_remedy
from thinking_policy.situation.configuration import SituationConfig

LARGEST_DOMAIN = 232  # beyond, DDS ports leave the range of UDP
LISTEN_S = 2.0  # discovery on one machine takes well under a second, over Wi-Fi longer


def check_ros(load: Callable[[str], Any] = importlib.import_module) -> list[Finding]:
    """Return whether rclpy and its middleware can be used, by starting a node."""
    try:
        rclpy = load('rclpy')
        implementation = load('rclpy.utilities').get_rmw_implementation_identifier()
        context = load('rclpy.context').Context()
        rclpy.init(
            context=context, signal_handler_options=load('rclpy.signals').SignalHandlerOptions.NO
        )
        try:
            node = load('rclpy.node').Node(
                f'thinking_policy_doctor_{os.getpid()}',
                context=context,
                use_global_arguments=False,
            )
            node.destroy_node()
        finally:
            rclpy.try_shutdown(context=context)
    except ImportError as error:
        return [Finding('ros', FAIL, f'rclpy cannot be imported: {error}', _import_remedy())]
    except Exception as error:  # whatever the middleware raises
        return [
            Finding(
                'ros',
                FAIL,
                f'a node cannot be started: {one_line(error)}',
                'is RMW_IMPLEMENTATION one that is installed? unset it for the default',
            )
        ]
    release = os.environ.get('ROS_DISTRO') or _release_of_wheels() or 'of an unknown release'
    return [
        Finding('ros', OK, f'{release}, rclpy {version("rclpy")}'),
        Finding('middleware', OK, implementation),
    ]


def check_messages(
    config: SituationConfig | None, load: Callable[[str], Any] = importlib.import_module
) -> list[Finding]:
    """Return whether our messages are built and those that the configuration needs are there."""
    findings = []
    try:
        load('thinking_policy.msg')
        findings.append(Finding('messages', OK, 'thinking_policy/msg is built'))
    except ImportError as error:
        findings.append(
            Finding('messages', FAIL, f'thinking_policy/msg: {error}', MESSAGES_REMEDY)
        )
    types = sorted({s.type for s in config.signals if s.topic} if config else ())
    missing = [finding for type_name in types for finding in _check_type(type_name, load)]
    if types and not missing:
        findings.append(Finding('messages', OK, f'all {len(types)} types of the configuration'))
    return findings + missing


def check_domain(environment: Mapping[str, str]) -> list[Finding]:
    """Return in which ROS domain and how far nodes are looked for."""
    domain = environment.get('ROS_DOMAIN_ID') or '0'
    if not domain.isdigit() or int(domain) > LARGEST_DOMAIN:
        return [
            Finding(
                'domain',
                FAIL,
                f'ROS_DOMAIN_ID={domain}',
                f'set a number in 0...{LARGEST_DOMAIN}, the same as on the robot',
            )
        ]
    reach = environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE') or 'SUBNET'
    findings = [Finding('domain', OK, f'{domain}, discovery range {reach.upper()}')]
    if reach.upper() in ('LOCALHOST', 'OFF') or environment.get('ROS_LOCALHOST_ONLY') == '1':
        findings.append(
            Finding(
                'domain',
                NOTE,
                'nodes on other machines are not heard',
                'unset ROS_LOCALHOST_ONLY and ROS_AUTOMATIC_DISCOVERY_RANGE to hear the network',
            )
        )
    return findings


def published_topics() -> dict[str, list[str]]:
    """Return topic → types of what somebody publishes now, after listening for a while."""
    from thinking_policy.cli.listener import topics_in_graph

    return topics_in_graph(LISTEN_S)


def check_topics(
    config: SituationConfig, graph: Mapping[str, Sequence[str]], namespace: str = ''
) -> list[Finding]:
    """Return whether the configured topics are offered now, and by the type that was written.

    Args:
        config: What the robot file asks for.
        graph: Fully qualified topic → message types, as seen in the ROS graph, of topics that
            have a publisher.
        namespace: In which relative topics stand.
    """
    wanted = {_absolute(s.topic, namespace): s.type for s in config.signals if s.topic}
    offered = sorted(set(wanted) & set(graph))
    count = f'{len(offered)} of {len(wanted)} signal topics are published now'
    if not offered:
        return [
            Finding(
                'topics',
                NOTE,
                count,
                "start the robot's drivers, or compare with `ros2 topic list`",
            )
        ]
    findings = [Finding('topics', OK, count)]
    for topic in sorted(set(wanted) - set(offered)):
        same_type = [
            name
            for name, types in sorted(graph.items())
            if wanted[topic] in types and name not in wanted
        ]
        findings.append(
            Finding(
                'topics',
                NOTE,
                f'{topic}: nobody publishes it now',
                f'correct `topic`: {wanted[topic]} is on {", ".join(same_type)}'
                if same_type
                else 'start its driver, or correct `topic`',
            )
        )
    for topic in offered:
        if wanted[topic] not in graph[topic]:
            findings.append(
                Finding(
                    'topics',
                    FAIL,
                    f'{topic}: expected {wanted[topic]}, found {", ".join(graph[topic])}',
                    'correct `type`',
                )
            )
    return findings


def _check_type(type_name: str, load: Callable[[str], Any]) -> list[Finding]:
    package, _, name = type_name.replace('/msg/', '/').partition('/')
    try:
        getattr(load(f'{package}.msg'), name)
    except ImportError:
        return [
            Finding(
                'messages',
                FAIL,
                f'{type_name}: {package} is not installed',
                package_remedy(package),
            )
        ]
    except AttributeError:
        return [
            Finding(
                'messages',
                FAIL,
                f'{type_name}: {package} has no such message',
                'correct `type` in the robot file',
            )
        ]
    return []


def _absolute(topic: str, namespace: str) -> str:
    if topic.startswith('/'):
        return topic
    return '/' + '/'.join(part for part in (namespace.strip('/'), topic) if part)


def _import_remedy() -> str:
    if os.environ.get('_ROS_WHEELS_BOOTSTRAP_COMPLETE') and not any(
        Path(sys.prefix) in Path(part).parents
        for part in os.environ.get('LD_LIBRARY_PATH', '').split(os.pathsep)
    ):
        return (
            '_ROS_WHEELS_BOOTSTRAP_COMPLETE comes from another environment: unset it and try again'
        )
    return ROS_REMEDY


def _release_of_wheels() -> str:
    for release in RELEASES:
        if version(f'ros-{release}-rclpy'):
            return f'{release} (wheels)'
    return ''
