# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A policy node as others see it: its topics, services and diagnostics."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from node_processes import NodeProcess
from observer import RELIABLE, Observer
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Temperature
from std_srvs.srv import Trigger

from thinking_policy.msg import (
    Situation,
    SituationEvent,
    ThinkingActivations,
    ThinkingTaxonomy,
)

LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
TICK_S = 0.1


def signal(topic: str = 'temperature', **settings: Any) -> dict[str, Any]:
    """Return the settings of a signal: a temperature of nominally 0 to 100, stale after 0.5 s."""
    return {
        'topic': topic,
        'type': 'sensor_msgs/msg/Temperature',
        'field': 'temperature',
        'nominal_low': 0.0,
        'nominal_high': 100.0,
        'stale_s': 0.5,
        **settings,
    }


def temperature(value: float, stamp_ns: int = 0) -> Temperature:
    """Return a message for such a signal."""
    message = Temperature(temperature=value)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
    return message


def stamp_ns(message: Any) -> int:
    """Return a message's header stamp in nanoseconds."""
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


class Robot:
    """One policy node in a namespace of its own."""

    def __init__(self, observer: Observer, namespace: str, process: NodeProcess) -> None:
        """Begin to listen to it."""
        self.observer, self.namespace, self.process = observer, namespace, process
        self.node = f'{namespace}/thinking_policy'
        self.activations = observer.hear(ThinkingActivations, f'{namespace}/thinking/activations')
        self.situations = observer.hear(Situation, f'{namespace}/thinking/situation')
        self.events = observer.hear(SituationEvent, f'{namespace}/thinking/events')
        self.taxonomies = observer.hear(
            ThinkingTaxonomy, f'{namespace}/thinking/taxonomy', LATCHED
        )
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        observer.node.create_subscription(
            DiagnosticArray, '/diagnostics', self._hear_diagnostics, 100
        )

    @property
    def output(self) -> str:
        """What the process has printed."""
        return self.process.output

    def topic(self, name: str) -> str:
        """Return a topic's name within the robot's namespace."""
        return f'{self.namespace}/{name}'

    def sensor(self, kind: Any, name: str, profile: Any = RELIABLE) -> Publisher:
        """Return a publisher that the node is matched with, and knows it."""
        topic = self.topic(name)
        publisher = self.observer.speak(kind, topic, profile)
        self.observer.wait_until_heard(publisher)
        self.wait_for(
            lambda: any(
                values.get('topic') == topic and values['publishers'] != '0'
                for _, _, values in map(self.diagnosis, list(self.diagnostics))
            ),
            f'the node to find the publisher of {topic}',
        )
        return publisher

    def wait_for(self, condition: Any, what: str, timeout_s: float = 10.0) -> Any:
        """Wait as the observer does, unless the node has ended."""

        def holds() -> Any:
            result = condition()
            assert result or self.process.running, f'the node ended before: {what}\n{self.output}'
            return result

        return self.observer.wait_for(holds, what, timeout_s)

    def wait_until_active(self) -> None:
        """Wait until it announces itself."""
        self.wait_for(lambda: self.taxonomies, 'thinking/taxonomy')

    def next_activations(self, count: int = 1) -> list[ThinkingActivations]:
        """Return the messages that come from now on."""
        before = len(self.activations)
        self.wait_for(
            lambda: len(self.activations) >= before + count, f'{count} thinking/activations'
        )
        return self.activations[before:]

    def signal_states(self) -> dict[str, int]:
        """Return the state of each signal, as last published."""
        return (
            {status.name: status.state for status in self.activations[-1].signals}
            if self.activations
            else {}
        )

    def wait_for_state(self, name: str, state: int) -> None:
        """Wait until a signal is OK, STALE, INVALID or NEVER."""
        self.wait_for(lambda: self.signal_states().get(name) == state, f'{name} in state {state}')

    def diagnosis(self, subject: str) -> tuple[int, str, dict[str, str]]:
        """Return level, message and values of a status; level -1 where there is none yet."""
        status = self.diagnostics.get(subject)
        if status is None:
            return -1, '', {}
        return (
            int.from_bytes(status.level, 'little'),
            status.message,
            {pair.key: pair.value for pair in status.values},
        )

    def state(self) -> str:
        """Return the lifecycle state."""
        answer = self.observer.call(GetState, f'{self.node}/get_state', GetState.Request())
        return str(answer.current_state.label)

    def change_state(self, transition: int) -> bool:
        """Ask for a lifecycle transition and return whether it was made."""
        request = ChangeState.Request(transition=Transition(id=transition))
        answer = self.observer.call(ChangeState, f'{self.node}/change_state', request)
        return bool(answer.success)

    def set_parameter(self, name: str, value: Any) -> SetParametersResult:
        """Set one parameter and return the node's answer."""
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        answer = self.observer.call(SetParameters, f'{self.node}/set_parameters', request)
        return answer.results[0]

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter."""
        request = GetParameters.Request(names=[name])
        answer = self.observer.call(GetParameters, f'{self.node}/get_parameters', request)
        return parameter_value_to_python(answer.values[0])

    def reload(self) -> Trigger.Response:
        """Let it load the policy anew."""
        return self.observer.call(Trigger, f'{self.node}/reload_policy', Trigger.Request())

    def _hear_diagnostics(self, message: DiagnosticArray) -> None:
        prefix = f'thinking_policy: {self.namespace} '.replace('  ', ' ')
        for status in message.status:
            if status.name.startswith(prefix):
                self.diagnostics[status.name.removeprefix(prefix)] = status
