# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""(c) From the newest message to the published activation, beside a bare rclpy timer.

A probe sends Temperature at 97 Hz and hears both: the policy node's activations, and a bare node
that keeps the newest message and publishes its stamp from a timer of the same period. Measured in
the probe: arrival of the answer minus the sending of the newest message that the answer could
know. Both answers pass the same middleware and the same executor of the probe.
"""

from __future__ import annotations

import bisect
import json
import sys
import time
from pathlib import Path

import numpy as np
import rclpy
from children import Child, end_on_interrupt, policy_node, wait_until
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Temperature

from thinking_policy.msg import ThinkingActivations

TOPIC, BARE_TOPIC = '/benchmark/temperature_0', '/benchmark/bare_answer'
RATE_HZ = 97.0  # so that messages and ticks meet in every phase
BEST_EFFORT = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)


def measure_answering(
    parameters: Path, answers: int, tick_s: float
) -> dict[str, dict[str, float]]:
    """Return milliseconds p50 and p99 for the node and the bare timer.

    Args:
        parameters: Robot file whose first signal is TOPIC, as `receiving` writes it.
        answers: How many of each are measured.
        tick_s: Tick period of that file, and of the bare timer.
    """
    script = [sys.executable, str(Path(__file__).resolve())]
    with (
        policy_node(parameters),
        Child([*script, 'bare', str(tick_s)]),
        Child([*script, 'probe', str(answers), str(tick_s)], ends_itself=True) as probe,
    ):
        ages = json.loads(probe.line('ages', 60.0 + 2 * answers * tick_s))
    return {
        name: {
            'answers': len(values),
            'ms p50': float(np.percentile(values, 50)),
            'ms p99': float(np.percentile(values, 99)),
        }
        for name, values in ages.items()
    }


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the results of all tick periods as a Markdown table."""
    lines = [
        'Newest message → answer heard, ms',
        '',
        '| tick | | answers | p50 | p99 |',
        '|---|---|---|---|---|',
    ]
    for tick_s, rows in results.items():
        lines += [
            f'| {tick_s} s | {name} | {row["answers"]} | {row["ms p50"]:.2f} '
            f'| {row["ms p99"]:.2f} |'
            for name, row in rows.items()
        ]
    return '\n'.join(lines)


def bare(tick_s: float) -> None:
    """Be the bare node."""
    rclpy.init()
    node = Node('benchmark_bare')
    newest = [Temperature()]
    node.create_subscription(
        Temperature, TOPIC, lambda message: newest.__setitem__(0, message), BEST_EFFORT
    )
    publisher = node.create_publisher(Temperature, BARE_TOPIC, 10)
    node.create_timer(tick_s, lambda: publisher.publish(newest[0]))
    end_on_interrupt()
    rclpy.spin(node)


def probe(answers: int, tick_s: float) -> None:
    """Send, hear both answers and print the ages in milliseconds."""
    rclpy.init()
    node = Node('benchmark_probe')
    sender = node.create_publisher(Temperature, TOPIC, BEST_EFFORT)
    sent: list[int] = []
    ages: dict[str, list[float]] = {'policy node': [], 'bare timer': []}

    def send() -> None:
        message = Temperature(temperature=40.0)
        sent.append(time.time_ns())
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(sent[-1], 10**9)
        sender.publish(message)

    def hear(name: str, stamp: object) -> None:
        now = time.time_ns()
        known = bisect.bisect_right(sent, stamp.sec * 10**9 + stamp.nanosec)
        if known:
            ages[name].append((now - sent[known - 1]) / 1e6)

    node.create_subscription(
        ThinkingActivations,
        'thinking/activations',
        lambda message: hear('policy node', message.header.stamp),
        10,
    )
    node.create_subscription(
        Temperature, BARE_TOPIC, lambda message: hear('bare timer', message.header.stamp), 10
    )
    wait_until(lambda: sender.get_subscription_count() >= 2, 30.0)
    node.create_timer(1.0 / RATE_HZ, send)
    settled = time.monotonic() + 2.0
    while time.monotonic() < settled:
        rclpy.spin_once(node, timeout_sec=0.1)
    for values in ages.values():
        values.clear()
    end = time.monotonic() + 2 * answers * tick_s + 10.0
    while min(map(len, ages.values())) < answers and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    print('ages', json.dumps(ages), flush=True)


if __name__ == '__main__':
    if sys.argv[1] == 'bare':
        bare(float(sys.argv[2]))
    else:
        probe(int(sys.argv[2]), float(sys.argv[3]))
