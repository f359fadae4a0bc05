# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The planner example against real topics."""

import signal
import subprocess
import sys
import threading

import pytest

rclpy = pytest.importorskip('rclpy')
messages = pytest.importorskip('thinking_policy.msg')

from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402


def activations(*active):
    return messages.ThinkingActivations(
        activations=[
            messages.ThinkingActivation(id=id, probability=0.9, active=id in active)
            for id in ('trend', 'hazard')
        ]
    )


def test_the_planner_prints_the_directive_of_what_became_active(checkout):
    context = rclpy.context.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('robot', context=context)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    taxonomy = node.create_publisher(messages.ThinkingTaxonomy, 'thinking/taxonomy', latched)
    taxonomy.publish(  # before the planner is there: it is latched
        messages.ThinkingTaxonomy(
            id=['trend', 'hazard'],
            title=['', ''],
            directive=['Look back.', 'Stop.'],
            threshold=[0.5, 0.5],
        )
    )
    publisher = node.create_publisher(messages.ThinkingActivations, 'thinking/activations', 10)
    planner = subprocess.Popen(
        [sys.executable, str(checkout / 'examples' / 'planner.py')],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd='/',
    )
    heard = threading.Event()

    def go_on(*active):
        while not heard.wait(0.1):
            publisher.publish(activations(*active))

    try:
        for active, line in (
            (('trend',), 'trend: Look back.\n'),
            (('hazard',), 'hazard: Stop.\n'),
        ):
            heard.clear()
            talking = threading.Thread(target=go_on, args=active)
            talking.start()
            assert planner.stdout.readline() == line
            heard.set()
            talking.join()
        planner.send_signal(signal.SIGINT)
        _, error = planner.communicate(timeout=10)
        assert planner.returncode == 0, error
        assert 'Traceback' not in error
    finally:
        heard.set()
        planner.kill()
        node.destroy_node()
        rclpy.shutdown(context=context)
