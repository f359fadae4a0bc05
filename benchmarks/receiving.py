# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""(b) CPU per message: the whole policy node beside an empty rclpy subscriber.

Both hear the same messages at the same time from a third process. CPU is user + system time of
each process from /proc, over everything that happens between the first and the last message;
the node's ticks, inferences and publications are in it. A round counts only with all messages
received by both.
"""

from __future__ import annotations

import array
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import rclpy
from children import Child, cpu_s, end_on_interrupt, policy_node, wait_until
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState, LaserScan, Temperature

# topic → (message type, Hz)
LOADS: dict[str, dict[str, tuple[str, float]]] = {
    'six Temperature topics, 100 Hz each': {
        f'/benchmark/temperature_{index}': ('Temperature', 100.0) for index in range(6)
    },
    'Imu 200 Hz, LaserScan 10 Hz, JointState 50 Hz': {
        '/benchmark/imu': ('Imu', 200.0),
        '/benchmark/scan': ('LaserScan', 10.0),
        '/benchmark/joints': ('JointState', 50.0),
    },
}
BEST_EFFORT = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
SETTLE_S = 1.5  # from the last message to the last tick and the last diagnostics
TYPES = {'Temperature': Temperature, 'Imu': Imu, 'LaserScan': LaserScan, 'JointState': JointState}


def measure_receiving(
    folder: Path, policy: Path, load: str, seconds: float, tick_s: float
) -> dict[str, Any]:
    """Return CPU, messages sent and received, and their ratio for one load.

    Args:
        folder: For the parameter file.
        policy: Policy file.
        load: One of LOADS.
        seconds: How long messages are sent.
        tick_s: The node's tick period.
    """
    topics = LOADS[load]
    parameters = write_parameters(folder, policy, topics, tick_s)
    script = [sys.executable, str(Path(__file__).resolve())]
    with (
        Child([*script, 'subscribe', json.dumps(topics)]) as empty,
        policy_node(parameters) as node,
        Child([*script, 'publish', json.dumps(topics), str(seconds)], ends_itself=True) as sender,
    ):
        sender.line('matched', 30.0)
        time.sleep(1.0)  # start-up work is not what is measured
        before = cpu_s(empty.pid), cpu_s(node.pid)
        sender.say('go')
        sent = json.loads(sender.line('sent', seconds + 30.0))
        time.sleep(SETTLE_S)
        used = cpu_s(empty.pid) - before[0], cpu_s(node.pid) - before[1]
        empty.say('count')
        received = json.loads(empty.line('received', 10.0))
        heard = json.loads(sender.line('heard', 10.0))
    total = sum(sent.values())
    return {
        'load': load,
        'tick_s': tick_s,
        'seconds': seconds,
        'sent': total,
        'received_empty': sum(received.values()),
        'received_node': heard['received'],
        'lost_node': heard['lost'],
        'cpu_empty_percent': 100 * used[0] / (seconds + SETTLE_S),
        'cpu_node_percent': 100 * used[1] / (seconds + SETTLE_S),
        'us_per_message_empty': 1e6 * used[0] / total,
        'us_per_message_node': 1e6 * used[1] / total,
        'ratio': used[1] / used[0],
    }


def table(results: list[dict[str, Any]]) -> str:
    """Return the results of all loads as a Markdown table."""
    lines = [
        'CPU per message, whole node beside an empty subscriber',
        '',
        '| load | tick | sent | received: empty, node | CPU: empty, node '
        '| µs a message: empty, node | ratio |',
        '|---|---|---|---|---|---|---|',
    ]
    for row in results:
        lines.append(
            f'| {row["load"]} | {row["tick_s"]} s | {row["sent"]} '
            f'| {row["received_empty"]}, {row["received_node"]} '
            f'| {row["cpu_empty_percent"]:.1f} %, {row["cpu_node_percent"]:.1f} % '
            f'| {row["us_per_message_empty"]:.0f}, {row["us_per_message_node"]:.0f} '
            f'| {row["ratio"]:.3f} |'
        )
    return '\n'.join(lines)


def write_parameters(
    folder: Path, policy: Path, topics: dict[str, tuple[str, float]], tick_s: float
) -> Path:
    """Write a robot file that maps the load onto the signals of the bundled policy."""
    names = ('temperature', 'current', 'vibration', 'distance', 'visibility', 'motion', 'load')
    fields: dict[str, tuple[str, str, str]] = {}
    if '/benchmark/imu' in topics:
        fields = {
            'vibration': (
                '/benchmark/imu',
                'Imu',
                'field: linear_acceleration, within_message: norm, over_time: std',
            ),
            'distance': (
                '/benchmark/scan',
                'LaserScan',
                'field: ranges, within_message: range_min',
            ),
            'visibility': (
                '/benchmark/scan',
                'LaserScan',
                'field: ranges, within_message: invalid_fraction',
            ),
            'motion': ('/benchmark/joints', 'JointState', 'field: velocity, within_message: max'),
            'load': ('/benchmark/joints', 'JointState', 'field: effort, within_message: rms'),
        }
    else:
        fields = {
            name: (topic, 'Temperature', 'field: temperature, over_time: mean')
            for name, topic in zip(names, topics, strict=False)
        }
    lines = [
        'thinking_policy:',
        '  ros__parameters:',
        f'    tick_period_s: {tick_s}',
        f'    policy_path: {policy.absolute()}',
        f'    signal_names: [{", ".join(names)}]',
        '    signals:',
    ]
    for name in names:
        topic, kind, rest = fields.get(name, ('', '', ''))
        setting = f'topic: {topic}, type: sensor_msgs/msg/{kind}, {rest}' if topic else "topic: ''"
        lines.append(f'      {name}: {{{setting}, nominal_low: 0.0, nominal_high: 100.0}}')
    path = folder / 'benchmark.yaml'
    path.write_text('\n'.join(lines) + '\n')
    return path


def subscribe(topics: dict[str, tuple[str, float]]) -> None:
    """Be the empty subscriber: the default executor, one empty callback per message."""
    rclpy.init()
    node = Node('benchmark_empty')
    counts = dict.fromkeys(topics, 0)

    def count(topic: str) -> Any:
        def callback(_: Any) -> None:
            counts[topic] += 1

        return callback

    for topic, (kind, _) in topics.items():
        node.create_subscription(TYPES[kind], topic, count(topic), BEST_EFFORT)
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def answer() -> None:
        for _ in sys.stdin:
            print('received', json.dumps(counts), flush=True)

    threading.Thread(target=answer, daemon=True).start()
    end_on_interrupt()
    executor.spin()


def publish(topics: dict[str, tuple[str, float]], seconds: float) -> None:
    """Be the sender: fixed rates, then say what was sent and what the node says it received."""
    rclpy.init()
    node = Node('benchmark_sender')
    publishers = {
        topic: node.create_publisher(TYPES[kind], topic, BEST_EFFORT)
        for topic, (kind, _) in topics.items()
    }
    heard: dict[str, tuple[int, int]] = {}
    node.create_subscription(
        DiagnosticArray, '/diagnostics', lambda message: _read_diagnostics(message, heard), 10
    )
    wait_until(lambda: all(p.get_subscription_count() >= 2 for p in publishers.values()), 30.0)
    print('matched', flush=True)
    sys.stdin.readline()
    sent = dict.fromkeys(topics, 0)
    start = time.perf_counter()
    due = dict.fromkeys(topics, start)
    while (now := min(due.values())) < start + seconds:
        time.sleep(max(0.0, now - time.perf_counter()))
        for topic, (kind, rate) in topics.items():
            if due[topic] <= now:
                publishers[topic].publish(_message(kind, node))
                sent[topic] += 1
                due[topic] += 1.0 / rate
    print('sent', json.dumps(sent), flush=True)
    end = time.monotonic() + SETTLE_S
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    received, lost = (sum(pair[index] for pair in heard.values()) for index in (0, 1))
    print('heard', json.dumps({'received': received, 'lost': lost}), flush=True)


def _read_diagnostics(message: Any, heard: dict[str, tuple[int, int]]) -> None:
    for status in message.status:
        values = {pair.key: pair.value for pair in status.values}
        if 'received' in values:  # two signals may share a topic
            heard[values['topic']] = int(values['received']), int(values['lost'])


_made: dict[str, Any] = {}


def _message(kind: str, node: Node) -> Any:
    message = _made.get(kind)
    if message is None:
        message = _made[kind] = TYPES[kind]()
        if kind == 'Temperature':
            message.temperature = 40.0
        elif kind == 'Imu':
            message.linear_acceleration.z = 9.81
        elif kind == 'LaserScan':
            message.range_min, message.range_max = 0.1, 10.0
            message.ranges = array.array('f', [2.5] * 360)
        else:
            message.name = ['left', 'right']
            message.velocity, message.effort = [0.5, 0.6], [1.0, 1.1]
    message.header.stamp = node.get_clock().now().to_msg()
    return message


if __name__ == '__main__':
    loads = {topic: tuple(value) for topic, value in json.loads(sys.argv[2]).items()}
    if sys.argv[1] == 'subscribe':
        subscribe(loads)
    else:
        publish(loads, float(sys.argv[3]))
